"""A mask given as a tensor, as the text that names it."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

from .errors import BadTensor

_MINUS_MUCH = -1e4  #: what stands for minus infinity in masks that are added, at most (the lowest fp16 is -65504)


def mask_text(mask: Any, n: int, n_k: Optional[int] = None) -> str:
    """"none", "causal", "window:W" or "padding:W" for a mask [..., n, n_k]: booleans (True: seen), or numbers that are added (0 or very low).

    The last query stands at the last key; where the first stands at the first instead, ":top-left" is behind the name.

    >>> mask_text(None, 4)
    'none'
    >>> mask_text([[True, True, False], [True, True, True]], 2, 3)
    'causal'
    >>> mask_text([[True, False, False], [True, True, False]], 2, 3)
    'causal:top-left'
    >>> mask_text([[True, False, False], [True, True, False], [False, True, True]], 3)
    'window:2'
    >>> mask_text([[0.0, -1e9], [0.0, 0.0]], 2)
    'causal'
    """
    if mask is None:
        return "none"
    slices = _slices(mask.tolist() if hasattr(mask, "tolist") else mask)
    if any(one != slices[0] for one in slices[1:]):
        raise BadTensor("its mask differs from head to head, or from one sequence of the batch to the next")
    rows = [[_seen(value) for value in row] for row in slices[0]]
    if len(rows) == 1:
        rows = rows * n
    keys = n if n_k is None else n_k
    if len(rows) != n or any(len(row) != keys for row in rows):
        raise BadTensor(f"its mask is {len(rows)} x {len(rows[0])}, expected {n} x {keys}")
    text = _named(rows)
    if text is None:
        raise BadTensor("its mask is neither causal nor a window nor a padding on the left")
    return text


def _slices(mask: Any) -> List[Any]:
    """The matrices of a mask with any number of axes before the last two."""
    if not mask or not isinstance(mask[0], list):
        raise BadTensor("its mask is no matrix")
    if not isinstance(mask[0][0], list):
        return [mask]
    return [matrix for part in mask for matrix in _slices(part)]


def _seen(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value == 0:
        return True
    if value <= _MINUS_MUCH:
        return False
    raise BadTensor(f"its mask adds {value} to a score, expected 0 or minus infinity")


def _named(rows: Sequence[Sequence[bool]]) -> Optional[str]:
    if all(all(row) for row in rows):
        return "none"
    n, keys = len(rows), len(rows[0])
    for ending, offset in (("", keys - n), (":top-left", 0)):
        found = _named_from(rows, offset)
        if found is not None:
            return found + (ending if offset != keys - n else "")
    return None


def _named_from(rows: Sequence[Sequence[bool]], offset: int) -> Optional[str]:
    """The mask where query 0 stands at the key of this number."""
    keys = range(len(rows[0]))
    seen = list(rows[-1])
    window = sum(seen)
    padding = seen.index(True) if window else 0
    for text, first in (("causal", lambda at: 0), (f"window:{window}", lambda at: max(0, at + 1 - window)),
                        (f"padding:{padding}", lambda at: padding)):
        if all(list(row) == [first(i + offset) <= key <= i + offset for key in keys] for i, row in enumerate(rows)):
            return text
    return None
