"""Finds the rule of a mask tensor, and the tokens of a padded sequence."""
from __future__ import annotations

import math
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .errors import BadTensor, NoRule
from .tensors import Tensor, tensor_of

_MINUS_MUCH = -1e4  #: values up to this count as minus infinity in added masks (the lowest fp16 is -65504)


class MaskRows(NamedTuple):
    """The keys that the queries of one matrix see: their number for each query, the first and the last."""

    keys: int
    counts: List[int]
    firsts: List[int]
    lasts: List[int]
    finite: bool = False  #: hidden keys have numbers such as finfo.min: a query that sees no key gets a mean of V

    def are_from(self, i: int, first: int, last: int) -> bool:
        """True if query i sees exactly the keys from `first` to `last`."""
        first, last = max(first, 0), min(last, self.keys - 1)
        if last < first:
            return self.counts[i] == 0
        return (self.counts[i], self.firsts[i], self.lasts[i]) == (last - first + 1, first, last)

    def for_queries(self, n: int) -> "MaskRows":
        """The rows of n queries; a single row is used for all of them."""
        return self if len(self.counts) != 1 else self._replace(counts=self.counts * n, firsts=self.firsts * n, lasts=self.lasts * n)

    def cut(self, queries: slice, keys: slice) -> "MaskRows":
        """Only these queries and keys, with key numbers from 0."""
        moved = [[at - keys.start for at in part[queries]] for part in (self.firsts, self.lasts)]
        return MaskRows(keys.stop - keys.start, self.counts[queries], *moved, self.finite)


class Part(NamedTuple):
    """The tokens of one sequence of a padded batch, and the mask among them."""

    queries: slice
    keys: slice
    mask: str


def mask_text(mask: Any, n: Optional[int] = None, n_k: Optional[int] = None) -> str:
    """"none", "causal", "window:W" or "padding:W" for a mask [..., n, n_k]: booleans or a tensor of integers (True or 1: seen), or numbers
    that are added (0 or very low).

    The last query is aligned with the last key; ":top-left" after the name: the first query with the first key. Raises NoRule for other
    masks, also if a query sees no key and finite numbers hide them: its output is then a mean of V, which no rule gives.

    >>> mask_text(None, 4)
    'none'
    >>> mask_text([[True, True, False], [True, True, True]])
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
    matrices = mask_rows(mask)[1]
    if any(one != matrices[0] for one in matrices[1:]):
        raise NoRule("its mask differs from head to head, or from one sequence of the batch to the next, expected one for all: judge each by itself")
    text = name_of(_checked(matrices[0], n, n if n_k is None else n_k))
    if text is None:
        raise NoRule("its mask is neither causal nor a window nor a padding on the left")
    return text


def mask_rows(mask: Any) -> Tuple[Tuple[int, ...], List[MaskRows]]:
    """The axes before the last two of a mask, and the rows of its matrices in their order."""
    try:
        return _rows_of(mask)
    except (IndexError, TypeError):
        raise BadTensor("its mask is no tensor [..., n, n_k] of booleans or numbers") from None


def _rows_of(mask: Any) -> Tuple[Tuple[int, ...], List[MaskRows]]:
    if hasattr(mask, "data_ptr"):  # torch's, on its device
        return _rows_of_tensor(mask.detach())
    if hasattr(mask, "__array__") or hasattr(mask, "__cuda_array_interface__"):
        import numpy  # type: ignore[import-not-found,unused-ignore]

        return _rows_of_tensor(numpy.asarray(mask.get() if hasattr(mask, "get") else mask))
    matrices = list(_matrices(mask.tolist() if hasattr(mask, "tolist") else mask))
    rows = [_rows_of_lists(matrix) for matrix in matrices]
    finite = any(-math.inf < value <= _MINUS_MUCH for matrix in matrices for row in matrix for value in row)
    return (len(matrices),), [one._replace(finite=finite) for one in rows]


def _rows_of_tensor(mask: Any) -> Tuple[Tuple[int, ...], List[MaskRows]]:
    """The rows of a tensor of torch or NumPy, by its own arithmetic."""
    if len(mask.shape) < 2 or 0 in mask.shape:
        raise BadTensor("its mask is no matrix")
    seen = _kept(mask)
    finite = False
    if seen is None:
        seen, hidden = mask == 0, mask <= _MINUS_MUCH
        wrong = ~(seen | hidden)
        if bool(wrong.any()):
            raise NoRule(f"its mask adds {float(mask[wrong][0]):g} to a score, expected 0 or minus infinity")
        finite = bool((hidden & (mask > -math.inf)).any())
    n, keys = int(mask.shape[-2]), int(mask.shape[-1])
    seen = _quicker(seen)
    counts = seen.sum(-1).reshape(-1).tolist()
    firsts = [first if count else keys for first, count in zip(_first_seen(seen), counts)]
    lasts = [keys - 1 - behind if count else -1 for behind, count in zip(_first_seen(_mirrored(seen)), counts)]
    rows = [MaskRows(keys, counts[i:i + n], firsts[i:i + n], lasts[i:i + n], finite) for i in range(0, len(counts), n)]
    return tuple(int(length) for length in mask.shape[:-2]), rows


def _kept(mask: Any) -> Any:
    """The keys that a tensor of booleans or integers keeps, as in a file; None for other numbers, which are added to scores."""
    if "int" not in str(mask.dtype):
        return mask if str(mask.dtype).endswith("bool") else None
    wrong = (mask != 0) & (mask != 1)
    if bool(wrong.any()):
        raise BadTensor(f"its mask of integers holds {int(mask[wrong][0])}, expected 0 or 1 (1: seen), or numbers of a floating-point type to add")
    return mask == 1


def _quicker(seen: Any) -> Any:
    """Converts torch's booleans to NumPy's, whose argmax stops at the first True; unchanged without NumPy."""
    try:
        return seen.cpu().numpy() if hasattr(seen, "cpu") else seen
    except (ImportError, RuntimeError, TypeError):
        return seen


def _first_seen(seen: Any) -> List[int]:
    """The first seen key of each row; argmax returns the first of equal values."""
    found: List[int] = (seen.byte() if hasattr(seen, "byte") else seen).argmax(-1).reshape(-1).tolist()
    return found


def _mirrored(rows: Any) -> Any:
    return rows.flip(-1) if hasattr(rows, "flip") else rows[..., ::-1]


def _matrices(mask: Any) -> Iterator[Any]:
    """The matrices of nested lists with any number of axes before the last two."""
    if not mask or not isinstance(mask[0], (list, tuple)) or not mask[0]:
        raise BadTensor("its mask is no matrix")
    if not isinstance(mask[0][0], (list, tuple)):
        yield mask
        return
    for part in mask:
        yield from _matrices(part)


def _rows_of_lists(matrix: Sequence[Sequence[Any]]) -> MaskRows:
    keys, seen = len(matrix[0]), [[_seen(value) for value in row] for row in matrix]
    if any(len(row) != keys for row in seen):
        raise BadTensor("its mask has rows of different lengths")
    return MaskRows(keys, [sum(row) for row in seen], [row.index(True) if True in row else keys for row in seen],
                    [keys - 1 - row[::-1].index(True) if True in row else -1 for row in seen])


def _seen(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value == 0:
        return True
    if value <= _MINUS_MUCH:
        return False
    raise NoRule(f"its mask adds {value} to a score, expected 0 or minus infinity")


def _checked(rows: MaskRows, n: Optional[int], n_k: Optional[int]) -> MaskRows:
    """The rows for n queries (None: any number) and n_k keys. Raises BadTensor if the mask has other sizes."""
    found = rows if n is None else rows.for_queries(n)
    if (n is not None and len(found.counts) != n) or (n_k is not None and found.keys != n_k):
        raise BadTensor(f"its mask is {len(found.counts)} x {found.keys}, expected {n} x {n_k}")
    return found


def name_of(rows: MaskRows) -> Optional[str]:
    """The text of `mask_text`; None if the mask matches no rule."""
    if min(rows.counts) == rows.keys:
        return "none"
    if rows.finite and min(rows.counts) == 0:
        return None
    if max(rows.counts) == 0:
        return f"padding:{rows.keys}"
    n, keys = len(rows.counts), rows.keys
    for ending, offset in (("", keys - n), (":top-left", 0)):
        found = _name_from(rows, offset)
        if found is not None:
            return found + (ending if offset != keys - n else "")
    return None


def _name_from(rows: MaskRows, offset: int) -> Optional[str]:
    """The rule of the mask if query 0 is aligned with key `offset`; else None."""
    window = rows.counts[-1]
    padding = rows.firsts[-1] if window else 0
    for text, first in (("causal", lambda at: 0), (f"window:{window}", lambda at: at + 1 - window), (f"padding:{padding}", lambda at: padding)):
        if all(rows.are_from(i, first(i + offset), i + offset) for i in range(len(rows.counts))):
            return text
    return None


def part_of(rows: MaskRows) -> Optional[Part]:
    """The tokens of a sequence with padding before or after them; None for other masks.

    Queries at padding may see no key, every key, or the sequence: their outputs do not matter.

    >>> part_of(mask_rows([[False, False, False], [False, True, False], [False, True, True]])[1][0])
    Part(queries=slice(1, 3, None), keys=slice(1, 3, None), mask='causal')
    """
    n = len(rows.counts)
    first, last = rows.firsts[-1], rows.lasts[-1]
    if rows.counts[-1] and all(rows.are_from(i, first, last) for i in range(n)):
        return Part(slice(0, n), slice(first, last + 1), "none")
    offset = rows.keys - n
    alive = [i for i in range(n) if rows.counts[i] and rows.lasts[i] == i + offset and
             rows.are_from(i, rows.firsts[i], rows.lasts[i])]
    if not alive:
        return None
    queries = slice(alive[0], alive[-1] + 1)
    keys = slice(min(rows.firsts[i] for i in alive), alive[-1] + offset + 1)
    if len(alive) != queries.stop - queries.start or queries.start != max(0, keys.start - offset):
        return None
    before = all(rows.counts[i] in (0, rows.keys) for i in range(queries.start))
    behind = all(rows.counts[i] == 0 or rows.lasts[i] < keys.stop for i in range(queries.stop, n))
    text = name_of(rows.cut(queries, keys))
    return Part(queries, keys, text) if before and behind and text is not None else None


def keys_and_causal(rows: MaskRows, n: int, causal: bool) -> MaskRows:
    """The mask of n queries; a single row (keys without padding) is used for all. `causal`: queries see no later keys."""
    rows, offset = rows.for_queries(n), rows.keys - n
    if not causal:
        return rows
    if any(not rows.are_from(i, rows.firsts[i], rows.lasts[i]) for i in range(n)):
        raise NoRule("its padding lies between tokens")
    lasts = [min(last, i + offset) for i, last in enumerate(rows.lasts)]
    return rows._replace(counts=[max(0, last - first + 1) for first, last in zip(rows.firsts, lasts)], lasts=lasts)


def mask_tensor(mask: Any) -> Tensor:
    """A mask for a file: booleans and integers become U8, 1 for seen; other numbers are added to scores.

    >>> mask_tensor([[True, False]])
    Tensor(type='U8', shape=(1, 2), data=b'\\x01\\x00')
    """
    if hasattr(mask, "dtype"):
        seen = _kept(mask)
        return tensor_of(mask if seen is None else seen.byte() if hasattr(seen, "byte") else seen.astype("uint8"), "mask")
    found = tensor_of(mask, "mask")
    value = mask
    while isinstance(value, (list, tuple)):
        value = value[0]
    if not isinstance(value, bool):
        return found
    return Tensor("U8", found.shape, bytes(int(x) for x in memoryview(found.data).cast("d")))
