"""What passes through a model's attention, by layer and head, in .safetensors files."""
from __future__ import annotations

import functools
import os
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from .errors import BadOption, BadTensor, CouldNotRun
from .judging import judge
from .masks import mask_text
from .tensors import Tensor, check_attention, safetensors_header, tensor_of, write_whole
from .verdict import Verdict

_ROLES = ("q", "k", "v", "o")


class Call(NamedTuple):
    """One call of attention that was captured."""

    layer: str  #: the module's name in the model, else the function's
    file: str
    first_head: int  #: of this call, in the file
    heads: int


class Problem(NamedTuple):
    """What an attention computes besides its tensors."""

    mask: str = "none"
    scale: Optional[float] = None
    softcap: Optional[float] = None


class _Group:
    """Calls of the same shapes and options: they become one file. Numbers wait in files that have no name."""

    def __init__(self, file: str, tensors: Dict[str, Tensor], problem: Problem) -> None:
        self.file, self.problem = file, problem
        self.types = {role: tensor.type for role, tensor in tensors.items()}
        self.shapes = {role: _shape_of_heads(tensor.shape) for role, tensor in tensors.items()}
        self.layers: List[str] = []
        self.spools = {role: tempfile.TemporaryFile(prefix="attoscope-") for role in _ROLES}

    def add(self, layer: str, tensors: Dict[str, Tensor]) -> Call:
        heads = self.shapes["q"][0]
        call = Call(layer, self.file, heads * len(self.layers), heads)
        for role, tensor in tensors.items():
            self.spools[role].write(tensor.data)
        self.layers.append(layer)
        return call

    def write(self) -> None:
        entries = {}
        for role, spool in self.spools.items():
            shape = (self.shapes[role][0] * len(self.layers), *self.shapes[role][1:])
            entries[role] = (self.types[role], shape, spool.tell())
        heads = ",".join(f"layer{layer}.head{head}" for layer in range(len(self.layers)) for head in range(self.shapes["q"][0]))
        metadata = {"mask": self.problem.mask, "layers": ",".join(self.layers), "heads": heads}
        metadata.update({key: repr(value) for key, value in self.problem._asdict().items() if isinstance(value, float)})
        write_whole(self.file, self._parts(safetensors_header(entries, metadata)))

    def _parts(self, header: bytes) -> Any:
        yield header
        for spool in self.spools.values():
            spool.seek(0)
            yield from iter(functools.partial(spool.read, 1 << 22), b"")

    def close(self) -> None:
        for spool in self.spools.values():
            spool.close()


def _shape_of_heads(shape: Tuple[int, ...]) -> Tuple[int, int, int]:
    heads = 1
    for length in shape[:-2]:
        heads *= length
    return (heads, shape[-2], shape[-1])


class Capture:
    """What `capture` is: a context manager, and afterwards what was captured."""

    def __init__(self, model: Any, file: "os.PathLike[str] | str", also: Iterable[Tuple[Any, str]] = ()) -> None:
        self.calls: List[Call] = []  #: what is in the files, in the order of the calls
        self.files: List[str] = []  #: one for each kind of call: shapes, types, mask, scale
        self.skipped: List[str] = []  #: a sentence for each call that could not be kept
        self._model, self._file, self._also = model, os.fspath(file), list(also)
        self._groups: Dict[Any, _Group] = {}
        self._undo: List[Callable[[], None]] = []
        self._inside = threading.local()  # .busy while an attention is being recorded, .names of the modules that run
        self._lock = threading.Lock()
        self._last_mask: Tuple[Any, str] = (None, "none")

    def __enter__(self) -> "Capture":
        from . import hooks

        if self._undo:
            raise BadOption("this capture is running already")
        try:
            self._undo += hooks.module_names(self._model, self._names)
            self._undo += hooks.torch_attention(self)
            self._undo += hooks.transformers_attention(self)
            for owner, name in self._also:
                self._undo += hooks.function(self, owner, name)
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._restore()
        try:
            if kind is None:
                self._write()
        finally:
            for group in self._groups.values():
                group.close()
            self._groups.clear()

    def _restore(self) -> None:
        self._last_mask = (None, "none")
        while self._undo:
            self._undo.pop()()

    def _write(self) -> None:
        for group in self._groups.values():
            group.write()
            self.files.append(group.file)
        if not self.calls:
            said = self.skipped[0] if self.skipped else "no attention ran that is hooked: scaled_dot_product_attention, AttentionInterface"
            raise CouldNotRun(f"nothing was captured: {said}")

    def _names(self) -> List[str]:
        """The modules that are running on this thread, outermost first."""
        if not hasattr(self._inside, "names"):
            self._inside.names = []
        names: List[str] = self._inside.names
        return names

    def record(self, function: Callable[..., Any], arguments: Tuple[Any, ...], keywords: Dict[str, Any],
               described: Callable[..., Tuple[str, Tuple[Any, Any, Any], Callable[[], Problem]]], output: Callable[[Any], Any]) -> Any:
        """Calls the function and keeps what went in and came out; a call inside a call is not kept again."""
        if getattr(self._inside, "busy", False):
            return function(*arguments, **keywords)
        self._inside.busy = True
        try:
            layer, inputs, problem = described(*arguments, **keywords)
            before = self._copies(layer, dict(zip("qkv", inputs)))
            result = function(*arguments, **keywords)
            if before:
                self._keep(layer, before, output(result), problem)
            return result
        finally:
            self._inside.busy = False

    def mask_text(self, mask: Any, n: int, n_k: int) -> str:
        """The name of a mask; that of the last one is kept, since all layers share it."""
        if isinstance(mask, str):
            return mask
        if mask is None or self._last_mask[0] is not mask:
            self._last_mask = (mask, mask_text(mask, n, n_k))
        return self._last_mask[1]

    def current_layer(self, otherwise: str) -> str:
        """The innermost module that runs."""
        names = self._names()
        return names[-1] if names else otherwise

    def _copies(self, layer: str, tensors: Dict[str, Any]) -> Optional[Dict[str, Tensor]]:
        try:
            found = {role: tensor_of(value, role) for role, value in tensors.items()}
            check_attention(found)
        except BadTensor as error:
            self.skipped.append(f"{layer}: {error}")
            return None
        return found

    def _keep(self, layer: str, tensors: Dict[str, Tensor], o: Any, problem: Callable[[], Problem]) -> None:
        try:
            tensors = {**tensors, "o": tensor_of(o, "o")}
            check_attention(tensors)
            found = problem()
        except BadTensor as error:
            self.skipped.append(f"{layer}: {error}")
            return
        key = (tuple((tensor.type, tensor.shape) for tensor in tensors.values()), found)
        try:
            with self._lock:
                if key not in self._groups:
                    self._groups[key] = _Group(self._name_of(len(self._groups)), tensors, found)
                self.calls.append(self._groups[key].add(layer.replace(",", " "), tensors))
        except OSError as error:
            raise CouldNotRun(f"what passes cannot be kept: {error.strerror or error}") from error

    def _name_of(self, number: int) -> str:
        stem, extension = os.path.splitext(self._file)
        return self._file if number == 0 else f"{stem}-{number + 1}{extension}"

    def judge(self, **options: Any) -> List[Verdict]:
        """A verdict on each file, with the mask and the scale that were captured; `options` are those of `attoscope.judge`."""
        return [judge(*(f"{file}:{role}" for role in ("o", "q", "k", "v")), **{**self.problem(file), **options}) for file in self.files]

    def problem(self, file: str) -> Dict[str, Any]:
        """The mask, scale and softcap of a file's calls, as keyword arguments of `judge`."""
        import json

        try:
            with open(file, "rb") as found:
                metadata = json.loads(found.read(int.from_bytes(found.read(8), "little")))["__metadata__"]
        except (OSError, ValueError, KeyError) as error:
            raise CouldNotRun(f"{file} cannot be read: {error}") from error
        numbers = {key: float(metadata[key]) for key in ("scale", "softcap") if key in metadata}
        return {"mask": metadata["mask"], **numbers}


def capture(model: Any, file: "os.PathLike[str] | str", *, also: Iterable[Tuple[Any, str]] = ()) -> Capture:
    """Writes what passes through a model's attention to `file` (.safetensors), by layer and head.

        with attoscope.capture(model, "attention.safetensors") as captured:
            model(**inputs)
        print(captured.judge()[0])

    Inside, torch.nn.functional.scaled_dot_product_attention and the attention functions of transformers (AttentionInterface) are
    hooked, where these libraries are loaded; `also` names functions of your own, (owner, "name"), that take q, k, v first and
    return o, and whose keywords mask, is_causal and scale are understood. `model` may be None: then layers have no names.

    The files hold q, k, v and o of shape [layers * heads, n, d]; calls of other shapes, types or masks go into further files
    (attention-2.safetensors, ...). A call that has no counterpart here, such as one with dropout or one token against a cache, is
    left out and named in `skipped`.
    """
    return Capture(model, file, also)


def problem_of(text: str, causal: Optional[str], scale: Any = None, softcap: Any = None, dropout: float = 0.0) -> Problem:
    """Raises BadTensor where there is no such problem here; `text` names the mask, `causal` the one that an argument asks for beside it."""
    if dropout:
        raise BadTensor(f"it drops out {dropout} of its weights")
    if causal is not None:
        if text not in ("none", causal):
            raise BadTensor(f"it is {causal} and masked by {text} at once")
        text = causal
    return Problem(text, None if scale is None else float(scale), None if softcap is None else float(softcap))


def loaded(name: str) -> Any:
    """A module, where something else has loaded it."""
    return sys.modules.get(name)


__all__ = ("Call", "Capture", "Problem", "capture")
