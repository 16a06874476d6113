"""Captures the tensors of a model's attention, by layer and head, in .safetensors files."""
from __future__ import annotations

import math
import os
import struct
import tempfile
import threading
from typing import IO, Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from .errors import BadOption, BadTensor, CouldNotRun, in_one_frame
from .everything import Everything
from .judging import judge
from .problems import Named, Problem, parts_of
from .tensors import Tensor, check_attention, of_arrays, safetensors_header, tensor_of, write_whole
from .verdict import Verdict
from .words import OF_HEADS

_ROLES = ("q", "k", "v", "o")


class Call(NamedTuple):
    """One call of attention that was captured."""

    layer: str  #: the module's name in the model, else the function's
    file: str
    first_head: int  #: first head of this call in the file
    heads: int
    sequence: Optional[int] = None  #: number in a batch whose sequences are kept one by one, since their masks differ


class _Group:
    """Calls of the same shapes and options, which become one file. `spool` buffers the tensors of all groups."""

    def __init__(self, file: str, tensors: Dict[str, Tensor], problem: Named, origin: Dict[str, str], spool: IO[bytes]) -> None:
        self.file, self.problem, self.origin, self.spool = file, problem, origin, spool
        self.types = {role: tensor.type for role, tensor in tensors.items()}
        self.shapes = {role: _shape_of_heads(tensor.shape) for role, tensor in tensors.items()}
        self.layers: List[str] = []
        self.of_heads: Dict[str, List[float]] = {"alibi": [], "sink": []}
        self.sizes = {role: len(tensor.data) for role, tensor in tensors.items()}
        self.places: Dict[str, List[int]] = {role: [] for role in _ROLES}

    def add(self, layer: str, tensors: Dict[str, Tensor], problem: Named, sequence: Optional[int]) -> Call:
        heads = self.shapes["q"][0]
        call = Call(layer, self.file, heads * len(self.layers), heads, sequence)
        for role, tensor in tensors.items():
            self.places[role].append(self.spool.tell())
            self.spool.write(tensor.data)
        for name, numbers in (("alibi", problem.alibi), ("sink", problem.sink)):
            self.of_heads[name] += [numbers[head % len(numbers)] for head in range(heads)] if numbers else []
        self.layers.append(layer)
        return call

    def write(self) -> None:
        entries: Dict[str, Tuple[str, Tuple[int, ...], int]] = {}
        for role in _ROLES:
            shape = (self.shapes[role][0] * len(self.layers), *self.shapes[role][1:])
            entries[role] = (self.types[role], shape, self.sizes[role] * len(self.layers))
        for name, data in self._numbers().items():
            entries[name] = ("F64", (len(data) // 8,), len(data))
        if self.problem.tensor is not None:
            entries["mask"] = self._mask_entry(self.problem.tensor)
        heads = ",".join(f"layer{layer}.head{head}" for layer in range(len(self.layers)) for head in range(self.shapes["q"][0]))
        metadata = {"mask": self.problem.mask, "layers": ",".join(self.layers), "heads": heads, **self.origin}
        metadata.update({key: repr(value) for key, value in self.problem._asdict().items() if isinstance(value, float)})
        metadata.update({key: ",".join(map(repr, numbers)) for key, numbers in self.of_heads.items() if numbers})
        write_whole(self.file, self._parts(safetensors_header(entries, metadata)))

    def _numbers(self) -> Dict[str, bytes]:
        """Numbers for each head, under the names that the program looks for beside q, k and v."""
        heads = self.shapes["q"][0] * len(self.layers)
        scale, softcap = self.problem.scale, self.problem.softcap
        numbers = {"scale": [] if scale is None else [scale] * heads, "softcap": [softcap] * heads if softcap else [], **self.of_heads}
        return {OF_HEADS[name]: struct.pack(f"<{len(of_heads)}d", *of_heads) for name, of_heads in numbers.items() if of_heads}

    def _mask_entry(self, mask: Tensor) -> Tuple[str, Tuple[int, ...], int]:
        """Entry of a mask [n, n_k], or of one matrix for each head of all layers."""
        if len(mask.shape) == 2:
            return mask.type, mask.shape, len(mask.data)
        return mask.type, (mask.shape[0] * len(self.layers), *mask.shape[1:]), len(mask.data) * len(self.layers)

    def _parts(self, header: bytes) -> Any:
        yield header
        for role in _ROLES:
            for place in self.places[role]:
                self.spool.seek(place)
                yield self.spool.read(self.sizes[role])
        yield from self._numbers().values()
        if self.problem.tensor is not None:
            yield from [self.problem.tensor.data] * (1 if len(self.problem.tensor.shape) == 2 else len(self.layers))


def _shape_of_heads(shape: Tuple[int, ...]) -> Tuple[int, int, int]:
    return (math.prod(shape[:-2]), shape[-2], shape[-1])


class Capture:
    """The value of `capture`: a context manager, and afterwards the captured tensors."""

    def __init__(self, model: Any, file: "os.PathLike[str] | str", also: Iterable[Tuple[Any, str]] = (), everything: bool = False) -> None:
        self.calls: List[Call] = []  #: captured calls, in order
        self.files: List[str] = []  #: one for each kind of call: shapes, types, mask, scale
        self.skipped: List[str] = []  #: a sentence for each call that could not be kept
        self.notes: List[str] = []  #: a sentence for each file whose mask matches no rule
        self._model, self._file, self._also = model, os.fspath(file), list(also)
        self._groups: Dict[Any, _Group] = {}
        self._undo: List[Callable[[], None]] = []
        self._inside = threading.local()  # .busy: an attention is being recorded; .names: running modules
        self._lock = threading.Lock()
        self._hooked: List[str] = []  # attention functions that exist
        self._ran: Dict[str, str] = {}  # classes of the modules that ran, keyed by name
        self._of_everything = everything

    @in_one_frame
    def __enter__(self) -> "Capture":
        from . import hooks, torch_hooks

        if self._undo:
            raise BadOption("this capture is running already")
        del self.calls[:], self.files[:], self.skipped[:], self.notes[:], self._hooked[:]  # of an earlier run
        self._ran.clear()
        self._everything = Everything(self._file, self.skipped)
        try:
            self._undo += hooks.module_names(self._model, self._names, self._ran)
            for install in (torch_hooks.scaled_dot_product, torch_hooks.flex, torch_hooks.multi_head, hooks.transformers_attention):
                self._install(install(self), install.__doc__)
            for owner, name in self._also:
                self._install(hooks.function(self, owner, name), f"{name}, where")
            if self._of_everything:
                self._undo += self._everything.hook(self._model)
        except BaseException:
            self._restore()
            raise
        return self

    def _install(self, undo: List[Callable[[], None]], text: Optional[str]) -> None:
        """Adds a hook, and the name of the hooked function if it was found."""
        self._undo += undo
        if undo:
            self._hooked.append(str(text).partition(", where")[0])

    @in_one_frame
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._restore()
        try:
            if kind is None:
                self._write()
        finally:
            if self._groups:
                self._spool.close()
            self._groups.clear()

    def _restore(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _write(self) -> None:
        if self._of_everything:
            self._everything.write()
            self.files.append(self._file)
            return
        for group in self._groups.values():
            group.write()
            self.files.append(group.file)
            if group.problem.tensor is not None:
                self.notes.append(f"{group.file}: the mask of {group.layers[0]} has no name here: it is kept as the tensor mask beside q, k, v and o")
        if not self.calls:
            raise CouldNotRun(f"nothing was captured: {self.skipped[0] if self.skipped else self._seen()}")

    def _seen(self) -> str:
        """Names the modules that ran without attention, and suggests `also`."""
        hooked = ", ".join(self._hooked) or "neither torch's nor transformers', which are not loaded,"
        usual = sorted(self._ran, key=lambda name: "att" not in (name + self._ran[name]).lower())
        named = ", ".join(f"{name} ({self._ran[name]})" for name in usual[:3])
        more = f" and {len(usual) - 3} more" if len(usual) > 3 else ""
        ran = f"while {named}{more} ran" if usual else "no module of it ran" if self._model is not None else "no model was given"
        return f'of the attention functions that are hooked ({hooked}) none ran, {ran}; also=[(owner, "name")] hooks a function of your own'

    def _names(self) -> List[str]:
        """The modules that are running on this thread, outermost first."""
        if not hasattr(self._inside, "names"):
            self._inside.names = []
        names: List[str] = self._inside.names
        return names

    def record(self, function: Callable[..., Any], arguments: Tuple[Any, ...], keywords: Dict[str, Any],
               described: Callable[..., Tuple[str, Tuple[Any, Any, Any], Callable[[], Problem]]], output: Callable[[Any], Any]) -> Any:
        """Calls the function and keeps its inputs and output; does not keep calls inside a kept call."""
        if getattr(self._inside, "busy", False):
            return function(*arguments, **keywords)
        try:
            layer, inputs, problem = described(*arguments, **keywords)
        except TypeError as error:
            self.skipped.append(f"{getattr(function, '__name__', function)} was called with unknown arguments: {error}")
            return function(*arguments, **keywords)
        self._inside.busy = True
        try:
            before = self._copies(layer, dict(zip("qkv", inputs)))
            result = function(*arguments, **keywords)
            if before and self._of_everything:
                self._everything.heads(layer, before)
            elif before:
                self._keep(layer, before, output(result), problem, of_arrays(inputs))
            return result
        finally:
            self._inside.busy = False

    def keep(self, layer: str, inputs: Tuple[Any, Any, Any], o: Any, problem: Callable[[], Problem]) -> None:
        """Keeps a finished call whose inputs are unchanged."""
        before = self._copies(layer, dict(zip("qkv", inputs)))
        if before:
            self._keep(layer, before, o, problem, of_arrays(inputs))

    def is_inside(self) -> bool:
        """True while a call is being recorded on this thread."""
        return bool(getattr(self._inside, "busy", False))

    def current_layer(self, otherwise: str) -> str:
        """The innermost running module."""
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

    def _keep(self, layer: str, tensors: Dict[str, Tensor], o: Any, problem: Callable[[], Problem], origin: Dict[str, str]) -> None:
        try:
            tensors = {**tensors, "o": tensor_of(o, "o")}
            check_attention(tensors)
            parts = list(parts_of(tensors, problem()))
        except BadTensor as error:
            self.skipped.append(f"{layer}: {error}")
            return
        try:
            with self._lock:
                for sequence, part, named in parts:
                    self._add(layer.replace(",", " "), part, named, sequence, origin)
        except OSError as error:
            raise CouldNotRun(f"captured tensors cannot be kept: {error.strerror or error}") from error

    def _add(self, layer: str, tensors: Dict[str, Tensor], problem: Named, sequence: Optional[int], origin: Dict[str, str]) -> None:
        key = (tuple((tensor.type, tensor.shape) for tensor in tensors.values()), problem.key(), bool(origin))
        if not self._groups:
            self._spool = tempfile.TemporaryFile(prefix="attoscope-")
        if key not in self._groups:
            self._groups[key] = _Group(self._name_of(len(self._groups)), tensors, problem, origin, self._spool)
        self.calls.append(self._groups[key].add(layer, tensors, problem, sequence))

    def _name_of(self, number: int) -> str:
        stem, extension = os.path.splitext(self._file)
        return self._file if number == 0 else f"{stem}-{number + 1}{extension}"

    @in_one_frame
    def judge(self, **options: Any) -> List[Verdict]:
        """A verdict on each file, with the captured mask and scale; `options` are those of `attoscope.judge`.

        A `mask` replaces the captured one, also if that is a tensor.
        """
        if self._of_everything:
            raise BadOption("a capture of everything is not judged: attoscope model CHECKPOINT --against FILE compares it")
        if not self.files:
            raise CouldNotRun("nothing was captured")
        replaced = {"mask_file": None} if "mask" in options else {}
        return [judge(*(f"{file}:{role}" for role in ("o", "q", "k", "v")), **{"layout": "hnd", **self.problem(file), **replaced, **options})
                for file in self.files]

    @in_one_frame
    def problem(self, file: str) -> Dict[str, Any]:
        """The mask, scale, softcap, slopes and sinks of a file's calls, as keyword arguments of `judge`; with mask_file if the mask
        matches no rule."""
        import json

        try:
            with open(file, "rb") as found:
                header = json.loads(found.read(int.from_bytes(found.read(8), "little")))
                metadata = header["__metadata__"]
        except (OSError, ValueError, KeyError) as error:
            raise CouldNotRun(f"{file} cannot be read: {error}") from error
        numbers = {key: [float(x) for x in metadata[key].split(",")] for key in ("scale", "softcap", "alibi", "sink") if key in metadata}
        tensor = {"mask_file": f"{file}:mask"} if "mask" in header else {}
        return {"mask": metadata["mask"], **tensor, **{key: list_ if len(set(list_)) > 1 else list_[0] for key, list_ in numbers.items()}}


@in_one_frame
def capture(model: Any, file: "os.PathLike[str] | str", *, also: Iterable[Tuple[Any, str]] = (), everything: bool = False) -> Capture:
    """Writes the tensors of a model's attention to `file` (.safetensors), by layer and head.

        with attoscope.capture(model, "attention.safetensors") as captured:
            model(**inputs)
        print(captured.judge()[0])

    Hooked inside are scaled_dot_product_attention, flex_attention and nn.MultiheadAttention of torch, and the attention functions of
    transformers (those of AttentionInterface and the eager ones of its models), if these libraries are loaded, also in modules that have
    imported them by name; `also` names functions of your own, (owner, "name"), that take q, k, v first and return o, and may have
    keywords mask, is_causal and scale.
    `model` may be None: then layers have no names. While capturing, nn.MultiheadAttention does not use its fused path.

    The files hold q, k, v and o of shape [layers * heads, n, d]; calls of other shapes, types or masks go into further files
    (attention-2.safetensors, ...), and so does each decoded token. If the sequences of a batch have different masks, each is
    kept by itself, without its padding. A mask that matches no rule is kept as the tensor mask beside them. An unsupported
    call, such as one with dropout, is left out and listed in `skipped`.

    `everything`: the file holds the outputs of all modules instead, under their names (embedding, norms, projections, layers, logits), also the
    inputs of o_proj (attn_out), post_attention_layernorm (residual) and down_proj (act), Q and K of the functions above (q_rope, k_rope), and
    the tokens. `attoscope model CHECKPOINT --against FILE` reads it. Everything is held in memory until the end.
    """
    return Capture(model, file, also, everything)
