"""Reads tensors of any library by their methods, not their class; writes .safetensors files.

>>> tensor_of([[1.0, 2.0], [3.0, 4.0]], "q").shape
(2, 2)
"""
from __future__ import annotations

import json
import math
import os
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .errors import BadTensor, CouldNotRun, in_one_frame

#: Element types: name in .safetensors files and bytes of an element, keyed by the name in NumPy, ml_dtypes and torch.
ELEMENT_TYPES = {
    "float64": ("F64", 8),
    "float32": ("F32", 4),
    "float16": ("F16", 2),
    "bfloat16": ("BF16", 2),
    "float8_e4m3fn": ("F8_E4M3", 1),
    "float8_e5m2": ("F8_E5M2", 1),
    "int8": ("I8", 1),
    "uint8": ("U8", 1),
}
_BUFFER_FORMATS = {"d": "float64", "f": "float32", "e": "float16"}
_EXPECTED = "float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8 or uint8"


class Tensor(NamedTuple):
    """A tensor's numbers, little-endian and row by row."""

    type: str  #: name in .safetensors, such as "BF16"
    shape: Tuple[int, ...]
    data: bytes


def tensor_of(value: Any, name: str) -> Tensor:
    """The numbers of a torch tensor (of any device), an array of NumPy, CuPy, JAX, ml_dtypes or the like, a buffer, or nested lists.

    `name`: its name in the sentence of a BadTensor.
    """
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        return _of_torch(value, name)
    if isinstance(value, (list, tuple)):
        return _of_lists(value, name)
    if hasattr(value, "__array__"):
        return _of_array(value, name)
    if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):
        return _of_array(value.get(), name)
    return _of_buffer(value, name)


def _known(type_name: str, name: str) -> Tuple[str, int]:
    found = ELEMENT_TYPES.get(type_name)
    if type_name in ("void8", "void16"):
        raise BadTensor(f"{name} holds {type_name}, expected float32 or a file of save_safetensors, since numpy.save does not keep the type"
                        " of an array of ml_dtypes (JAX)")
    if found is None:
        raise BadTensor(f"{name} holds {type_name}, expected {_EXPECTED}")
    return found


def _of_torch(value: Any, name: str) -> Tensor:
    import ctypes

    type_name = str(value.dtype).rpartition(".")[2]
    element, size = _known(type_name, name)
    try:
        host = value.detach()
        host = (host.resolve_neg() if hasattr(host, "resolve_neg") else host).to("cpu").contiguous()
        shape = tuple(int(length) for length in host.shape)
        data = ctypes.string_at(host.data_ptr(), math.prod(shape) * size) if math.prod(shape) else b""
    except Exception as error:  # a sparse, nested or meta tensor, a device that is lost or out of memory
        raise BadTensor(f"{name} cannot be copied from {value.device}: {_first_line(error)}") from error
    return Tensor(element, shape, data)


def _of_array(value: Any, name: str) -> Tensor:
    try:
        array = value if hasattr(value, "tobytes") and hasattr(value, "byteswap") else value.__array__()
    except Exception as error:  # CuPy raises here; a device may be lost
        if not hasattr(value, "get"):
            raise BadTensor(f"{name} cannot be copied: {_first_line(error)}") from error
        array = value.get()
    element, _ = _known(array.dtype.name, name)
    swapped = array.dtype.byteorder == (">" if sys.byteorder == "little" else "=")
    return Tensor(element, tuple(int(length) for length in array.shape), (array.byteswap() if swapped else array).tobytes())


def _of_buffer(value: Any, name: str) -> Tensor:
    try:
        view = memoryview(value)
    except TypeError:
        raise BadTensor(f"{name} is of type {type(value).__name__}, expected a tensor, an array, nested lists or a file's name") from None
    type_name = _BUFFER_FORMATS.get(view.format.lstrip("@=<"))
    if type_name is None:
        raise BadTensor(f"{name} is a buffer of format {view.format!r}, expected {_EXPECTED}")
    return Tensor(ELEMENT_TYPES[type_name][0], tuple(view.shape or ()), view.tobytes())


def _of_lists(value: Any, name: str) -> Tensor:
    import array

    shape = tuple(_lengths(value))
    numbers = array.array("d")
    try:
        _gather(value, shape, numbers)
    except (TypeError, ValueError):
        raise BadTensor(f"{name} is no regular nest of lists of numbers: its first entries have shape {list(shape)}") from None
    if sys.byteorder == "big":
        numbers.byteswap()
    return Tensor("F64", shape, numbers.tobytes())


def _lengths(value: Any) -> Iterator[int]:
    while isinstance(value, (list, tuple)):
        yield len(value)
        if not value:
            return
        value = value[0]


def _gather(value: Any, shape: Tuple[int, ...], numbers: Any, number: Callable[[Any], Any] = float) -> None:
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise ValueError
    if len(shape) == 1:
        numbers.extend(map(number, value))
        return
    for row in value:
        _gather(row, shape[1:], numbers, number)


def integers_of(value: Any, name: str) -> Tensor:
    """Whole numbers of a tensor, an array or nested lists, as int64.

    >>> integers_of([[0, 1], [2, -1]], "block_table").shape
    (2, 2)
    """
    import array
    import operator

    value = value.detach() if hasattr(value, "detach") else value
    value = value.tolist() if hasattr(value, "tolist") else value
    shape, numbers = tuple(_lengths(value)), array.array("q")
    try:
        _gather(value, shape, numbers, operator.index)
    except (IndexError, OverflowError, TypeError, ValueError):
        raise BadTensor(f"{name} holds no whole numbers, expected a tensor of int32 or int64") from None
    if sys.byteorder == "big":
        numbers.byteswap()
    return Tensor("I64", shape, numbers.tobytes())


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def check_attention(tensors: Mapping[str, Tensor], heads_last: bool = False) -> None:
    """Raises BadTensor if these (some of q, k, v, o, do) cannot belong to one attention; `heads_last`: heads come after tokens.

    O and dO may have heads before or after tokens, independent of the others.
    """
    for name, tensor in tensors.items():
        if not 2 <= len(tensor.shape) <= 4 or 0 in tensor.shape:
            raise BadTensor(f"{name} has shape {list(tensor.shape)}, expected [n, d], [heads, n, d] or [batch, heads, n, d], none of them 0")
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    names, head_axis = list(shapes), -2 if heads_last else -3
    for name in names[1:]:
        if len(shapes[names[0]]) != len(shapes[name]):
            raise BadTensor(f"{names[0]} has shape {list(shapes[names[0]])} and {name} {list(shapes[name])}, expected the same number of axes")
    columns, rows = slice(-1, None), slice(0, -1)
    for one, other, part, what in (("q", "k", columns, "the same d"), ("k", "v", rows, "as many heads and tokens"),
                                   ("q", "o", rows, "as many heads and tokens"), ("v", "o", columns, "as many columns"),
                                   ("q", "do", rows, "as many heads and tokens"), ("v", "do", columns, "as many columns")):
        if one not in shapes or other not in shapes or shapes[one][part] == shapes[other][part]:
            continue
        if other not in ("o", "do") or part == columns or swapped(shapes["q"])[part] != shapes[other][part]:
            raise BadTensor(f"{one} has shape {list(shapes[one])} and {other} {list(shapes[other])}, expected {what}")
    if {"q", "k"} <= set(names) and len(shapes["q"]) > 2:
        heads, keys = shapes["q"][head_axis], shapes["k"][head_axis]
        if shapes["q"][:-3] != shapes["k"][:-3]:
            raise BadTensor(f"q has shape {list(shapes['q'])} and k {list(shapes['k'])}, expected the same batch")
        if heads % keys:
            fits_swapped = swapped(shapes["q"])[head_axis] % swapped(shapes["k"])[head_axis] == 0
            hint = "" if not fits_swapped else ', or layout="hnd"' if heads_last else ', or layout="nhd"'
            raise BadTensor(f"q has {heads} heads and k {keys}, expected a divisor of {heads}{hint}")


def swapped(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """The shape with heads and tokens swapped."""
    return shape if len(shape) < 3 else (*shape[:-3], shape[-2], shape[-3], shape[-1])


def safetensors_header(entries: Mapping[str, Tuple[str, Tuple[int, ...], int]], metadata: Optional[Mapping[str, str]] = None) -> bytes:
    """The header of a .safetensors file with these entries (type, shape, bytes) in this order."""
    header: Dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    begin = 0
    for name, (element, shape, size) in entries.items():
        header[name] = {"dtype": element, "shape": list(shape), "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


@in_one_frame
def save_safetensors(file: "os.PathLike[str] | str", tensors: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None) -> None:
    """Writes tensors of any library into a .safetensors file, completely or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_safetensors(folder + "/a.safetensors", {"q": [[1.0, 2.0]]}, {"mask": "causal"})
    ...     os.path.getsize(folder + "/a.safetensors") > 16
    True
    """
    found = {name: tensor_of(value, name) for name, value in tensors.items()}
    metadata = {**(metadata or {}), **of_arrays(value for name, value in tensors.items() if name in ("q", "k", "v"))}
    entries = {name: (tensor.type, tensor.shape, len(tensor.data)) for name, tensor in found.items()}
    write_whole(file, [safetensors_header(entries, metadata), *(tensor.data for tensor in found.values())])


def of_arrays(inputs: Iterable[Any]) -> Dict[str, str]:
    """Metadata that keeps the program from taking the type of Q, K or V for the format of the kernel, where it cannot tell that."""
    return {"numbers": "arrays"} if any(_lacks_bf16(value) for value in inputs) else {}


def _lacks_bf16(value: Any) -> bool:
    """True for lists, buffers and arrays of libraries without bf16: their type does not tell the format of a kernel."""
    return isinstance(value, (list, tuple, memoryview)) and not isinstance(value, Tensor) or type(value).__module__.partition(".")[0] in ("numpy", "cupy", "array")


def write_whole(file: "os.PathLike[str] | str", parts: "List[bytes] | Iterator[bytes]") -> None:
    """Writes the parts to a temporary file and renames it: no reader sees half a file, and none is left on failure."""
    path = os.fspath(file)
    partial = f"{path}.{os.getpid()}.part"
    try:
        with open(partial, "wb") as out:
            for part in parts:
                out.write(part)
        os.replace(partial, path)
    except OSError as error:
        remove(partial)
        raise CouldNotRun(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        remove(partial)
        raise


def remove(path: str) -> None:
    """Deletes a file if it exists."""
    try:
        os.unlink(path)
    except OSError:
        pass
