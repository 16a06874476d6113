"""Converts a kernel's settings from the names of torch and NumPy to the program's."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from .errors import BadOption, BadTensor, NoRule
from .tensors import Tensor

#: The program's formats, keyed by the names in torch, NumPy and ml_dtypes.
_FORMATS = {"float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16",
            "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "tfloat32": "tf32"}
#: Options that define what a kernel computes: all of `view`, and some of `judge`.
PROBLEM = ("mask", "scale", "softcap", "alibi", "sink", "format", "layout")
#: Options that may be one number for each head, and the names of such numbers beside q, k and v in a file.
OF_HEADS = {"scale": "scale", "softcap": "softcap", "alibi": "alibi_slopes", "sink": "sinks"}


def in_words(options: Mapping[str, Any], tensors: Mapping[str, Tensor], packed: bool = False) -> Dict[str, Any]:
    """Options of `judge` and `view` in the program's words; numbers for each head stay lists. A mask tensor becomes the name of
    its rule, or a tensor for a file if it matches none, or if the tensors are `packed`: the mask is then that of each sequence.

    >>> in_words({"format": "bfloat16", "mask": "Causal", "layout": "B N H D", "scale": 0.5, "sink": [1, 2]}, {})
    {'format': 'bf16', 'mask': 'causal', 'layout': 'bnhd', 'scale': 0.5, 'sink': [1.0, 2.0]}
    """
    for name, value in options.items():
        if value is True:
            raise BadOption(f"{name} is True, expected a value")
    found = dict(options)
    if isinstance(found.get("layout"), str):
        found["layout"] = found["layout"].replace(" ", "").lower()
    found.update({name: _format(found[name]) for name in ("format",) if name in found})
    found.update({name: _number(found[name], name) for name in OF_HEADS if name in found})
    if "mask" in found:
        found["mask"] = _mask(found["mask"], tensors, heads_last(found.get("layout")), packed)
    return found


def heads_last(layout: Optional[str]) -> bool:
    """True if heads come after tokens."""
    return layout in ("nhd", "bnhd")


def _format(value: Any) -> Any:
    """Converts torch.bfloat16, "bfloat16" or "BF16" to "bf16"."""
    if value is None:
        return None
    text = value if isinstance(value, str) else str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)
    text = text.rpartition("torch.")[2].lower()
    return _FORMATS.get(text, text)


def _number(value: Any, name: str) -> Any:
    """A number, or a list with one for each head."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    numbers = numbers_of(value, name)
    if not numbers:
        raise BadOption(f"{name} holds no number, expected one, or one for each head")
    return numbers[0] if len(numbers) == 1 else numbers


def numbers_of(value: Any, name: str) -> List[float]:
    """All numbers of a tensor or nested lists. Raises BadOption."""
    value = value.detach() if hasattr(value, "detach") else value
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in numbers_of(part, name)]
    try:
        return [float(value)]
    except (TypeError, ValueError):
        raise BadOption(f"{name} holds {value!r}, expected numbers") from None


def _mask(value: Any, tensors: Mapping[str, Tensor], tokens_first: bool, packed: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip().lower()
    from .masks import mask_tensor, mask_text

    axis = -3 if tokens_first else -2
    lengths = [tensors[name].shape[axis] if name in tensors and len(tensors[name].shape) > 2 else
               tensors[name].shape[-2] if name in tensors else None for name in ("q", "k")]
    try:
        return mask_tensor(value) if packed else mask_text(value, *lengths)
    except NoRule:
        return mask_tensor(value)
    except BadTensor as error:
        raise BadTensor(str(error).replace("its mask", "mask", 1)) from None
