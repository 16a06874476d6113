"""The settings of a captured call of attention, and its parts with one mask each."""
from __future__ import annotations

import math
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .errors import BadTensor, NoRule
from .masks import MaskRows, Part, keys_and_causal, mask_rows, mask_tensor, name_of, part_of
from .tensors import Tensor


class Problem(NamedTuple):
    """The settings as given by the call."""

    mask: Any = None  #: a name, or a tensor [..., n, n_k]
    causal: Optional[str] = None  #: the mask of an argument such as is_causal, in addition
    scale: Optional[float] = None
    softcap: Optional[float] = None
    alibi: Tuple[float, ...] = ()  #: slopes of the heads
    sink: Tuple[float, ...] = ()  #: logits of the heads


class Named(NamedTuple):
    """The settings as `judge` takes them; calls with equal settings (except values of lists) share a file."""

    mask: str  #: a rule, in addition to the tensor
    scale: Optional[float]
    softcap: Optional[float]
    alibi: Tuple[float, ...]
    sink: Tuple[float, ...]
    tensor: Optional[Tensor] = None  #: the mask if it matches no rule

    def key(self) -> Tuple[Any, ...]:
        return (self.mask, self.scale, self.softcap, bool(self.alibi), bool(self.sink), self.tensor)


def problem_of(mask: Any, causal: Optional[str], scale: Any = None, softcap: Any = None, dropout: float = 0.0) -> Problem:
    """The problem of a call. Raises BadTensor if it is not supported."""
    if dropout:
        raise BadTensor(f"it drops out {dropout} of its weights")
    return Problem(mask, causal, None if scale is None else float(scale), None if softcap is None else float(softcap))


def parts_of(tensors: Dict[str, Tensor], problem: Problem) -> Iterator[Tuple[Optional[int], Dict[str, Tensor], Named]]:
    """Yields the call's tensors with the rule of their mask; if sequences have different masks or padding, one sequence after
    the other without its padding: (number of the sequence or None, tensors, problem). A mask that matches no rule is in the
    problem."""
    named = Named("none", *problem[2:])

    def unnamed() -> Named:
        return named._replace(mask=problem.causal or "none", tensor=_by_head(mask_tensor(problem.mask), tensors["q"].shape, n_k))

    if problem.mask is None or isinstance(problem.mask, str):
        yield None, tensors, named._replace(mask=_together(problem.mask or "none", problem.causal))
        return
    n, n_k = tensors["q"].shape[-2], tensors["k"].shape[-2]
    try:
        axes, matrices = _matrices(problem, n, n_k)
    except NoRule:
        yield None, tensors, unnamed()
        return
    text = name_of(matrices[0]) if all(one == matrices[0] for one in matrices) else None
    if text is not None:
        yield None, tensors, named._replace(mask=text)
        return
    parts = _parts(axes, matrices, tensors["q"].shape)
    if parts is None:
        yield None, tensors, unnamed()
        return
    for number, part in enumerate(parts):
        yield number, _cut(tensors, number, part), named._replace(mask=part.mask)


def _by_head(mask: Tensor, q: Tuple[int, ...], n_k: int) -> Tensor:
    """The mask as [n, n_k] for all heads, or [batch * heads, n, n_k].

    >>> _by_head(Tensor("U8", (2, 1, 1, 2), bytes([1, 0, 1, 1])), (2, 1, 2, 4), 2)
    Tensor(type='U8', shape=(2, 2, 2), data=b'\\x01\\x00\\x01\\x00\\x01\\x01\\x01\\x01')
    """
    wanted = (*((1, 1) + tuple(q[:-1]))[-3:], n_k)
    axes = ((1, 1, 1) + tuple(mask.shape))[-4:]
    if len(mask.shape) > 4 or axes[3] != n_k or any(have not in (1, want) for have, want in zip(axes, wanted)):
        raise BadTensor(f"its mask has shape {list(mask.shape)}, expected {list(wanted)}, or 1 in place of the first three")
    size = len(mask.data) // (axes[0] * axes[1])
    matrices = [mask.data[i * size:(i + 1) * size] * (wanted[2] // axes[2]) for i in range(axes[0] * axes[1])]
    if len(matrices) == 1:
        return Tensor(mask.type, wanted[2:], matrices[0])
    of_heads = [matrices[min(batch, axes[0] - 1) * axes[1] + min(head, axes[1] - 1)] for batch in range(wanted[0]) for head in range(wanted[1])]
    return Tensor(mask.type, (len(of_heads), *wanted[2:]), b"".join(of_heads))


def _matrices(problem: Problem, n: int, n_k: int) -> Tuple[Tuple[int, ...], List[MaskRows]]:
    axes, matrices = mask_rows(problem.mask)
    of_keys = len(matrices[0].counts) == 1 and n > 1
    if of_keys or problem.causal is None:
        matrices = [keys_and_causal(one, n, problem.causal is not None) for one in matrices]
    else:
        matrices = [one.for_queries(n) for one in matrices]
        if any(name_of(one) not in ("none", problem.causal) for one in matrices):
            raise NoRule(f"its mask matches no rule together with {problem.causal}")
        matrices = [keys_and_causal(one, n, True) for one in matrices]
    if len(matrices[0].counts) != n or matrices[0].keys != n_k:
        raise BadTensor(f"its mask is {len(matrices[0].counts)} x {matrices[0].keys}, expected {n} x {n_k}")
    return axes, matrices


def _together(text: str, causal: Optional[str]) -> str:
    if causal is None:
        return text
    if text not in ("none", causal):
        raise BadTensor(f"it is {causal} and masked by {text} at once")
    return causal


def _parts(axes: Tuple[int, ...], matrices: List[MaskRows], shape: Tuple[int, ...]) -> Optional[List[Part]]:
    """A part for each sequence of the batch; None if a mask matches no rule, or differs between heads."""
    batch = math.prod(shape[:-3])
    of_one = math.prod(axes[1:]) if len(axes) > 1 else len(matrices) if batch == 1 or len(matrices) != batch else 1
    groups = [matrices[i:i + of_one] for i in range(0, len(matrices), of_one)]
    if len(groups) not in (1, batch) or any(one != group[0] for group in groups for one in group):
        return None
    parts = [part_of(group[0]) for group in groups]
    found = [part for part in parts if part is not None]
    return found * (batch // len(groups)) if len(found) == len(parts) else None


def _cut(tensors: Dict[str, Tensor], number: int, part: Part) -> Dict[str, Tensor]:
    """Sequence `number` without its padding: [heads, n, d]."""
    found = {}
    for role, t in tensors.items():
        rows = part.keys if role in ("k", "v") else part.queries
        heads, n, d = (1, *t.shape)[-3:]
        row = len(t.data) // math.prod(t.shape[:-1])
        of_head = [(number * heads + head) * n * row for head in range(heads)]
        data = b"".join(t.data[first + rows.start * row:first + rows.stop * row] for first in of_head)
        found[role] = Tensor(t.type, (heads, rows.stop - rows.start, d), data)
    return found
