"""A mask given as a tensor, as the text that names it."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

from .errors import BadTensor

_MINUS_MUCH = -1e4  #: what stands for minus infinity in masks that are added, at most (the lowest fp16 is -65504)


def mask_text(mask: Any, n: int) -> str:
    """"none", "causal", "window:W" or "padding:W" for a mask [..., n, n]: booleans (True: seen), or numbers that are added (0 or very low).

    >>> mask_text(None, 4)
    'none'
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
    if len(rows) != n or any(len(row) != n for row in rows):
        raise BadTensor(f"its mask is {len(rows)} x {len(rows[0])}, expected {n} x {n}")
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
    n = len(rows)
    if all(all(row) for row in rows):
        return "none"
    window = sum(rows[-1])
    padding = n - window
    for text, first in (("causal", lambda row: 0), (f"window:{window}", lambda row: max(0, row + 1 - window)),
                        (f"padding:{padding}", lambda row: padding)):
        if all(list(row) == [first(i) <= key <= i for key in range(n)] for i, row in enumerate(rows)):
            return text
    return None
