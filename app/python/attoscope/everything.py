"""Captures all outputs of a model's modules, under the modules' names, in one .safetensors file."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from .errors import BadTensor, CouldNotRun
from .tensors import Tensor, integers_of, safetensors_header, tensor_of, write_whole

#: Names of module inputs that are no module's output, keyed by the last part of the module's name.
_INPUTS = {"o_proj": "attn_out", "post_attention_layernorm": "residual", "down_proj": "act"}


class Everything:
    """Outputs of modules in the order of execution; outputs of a second call of the model are named call1.NAME."""

    def __init__(self, file: str, skipped: List[str]) -> None:
        self._file, self._skipped = file, skipped
        self._kept: Dict[str, Tensor] = {}
        self._call = -1
        self._last: Any = None

    def hook(self, model: Any) -> List[Callable[[], None]]:
        """Registers hooks with every module; returns the functions that remove them."""
        if not hasattr(model, "named_modules"):
            raise BadTensor("everything=True needs a torch model, whose modules are named")
        undo: List[Callable[[], None]] = []
        for name, module in model.named_modules():
            before = module.register_forward_pre_hook(lambda _, inputs, name=name: self._enter(name, inputs))
            after = module.register_forward_hook(lambda _, inputs, output, name=name: self._leave(name, output))
            undo += [before.remove, after.remove]
        return undo

    def heads(self, layer: str, tensors: Dict[str, Tensor]) -> None:
        """Keeps the inputs Q and K of attention."""
        for role in "qk":
            self._keep(f"{layer}.{role}_rope", tensors[role])

    def _enter(self, name: str, inputs: Tuple[Any, ...]) -> None:
        if not name:
            self._call += 1
        if not inputs:
            return
        first, last = inputs[0], name.rpartition(".")[2]
        if last in _INPUTS:
            parent = name.rpartition(".")[0]
            self._keep(f"{parent}.{_INPUTS[last]}" if last != "post_attention_layernorm" or len(inputs) == 1 else f"{name}.input", first)
        elif hasattr(first, "is_floating_point") and not first.is_floating_point() and self._named("tokens") not in self._kept:
            self._add(self._named("tokens"), lambda: integers_of(first, "tokens"))

    def _leave(self, name: str, output: Any) -> None:
        if isinstance(output, tuple):
            tensors = [x for x in output if hasattr(x, "is_floating_point")]
            for i, x in enumerate(tensors):
                self._keep(f"{name}.{i}" if len(tensors) > 1 else name, x)
        elif hasattr(output, "is_floating_point"):
            self._keep(name or "logits", output)

    def _keep(self, name: str, value: Any) -> None:
        if value is self._last or (not isinstance(value, Tensor) and not value.is_floating_point()):
            return  # a module that returns the output of a module inside it
        self._last = value
        self._add(self._named(name), lambda: tensor_of(value, name))

    def _named(self, name: str) -> str:
        return name if self._call < 1 else f"call{self._call}.{name}"

    def _add(self, name: str, tensor: Callable[[], Tensor]) -> None:
        try:
            self._kept[name] = tensor()
        except BadTensor as error:
            self._skipped.append(f"{name}: {error}")

    def write(self) -> None:
        if not self._kept:
            raise CouldNotRun("nothing was captured: no module of the model ran")
        entries = {name: (tensor.type, tensor.shape, len(tensor.data)) for name, tensor in self._kept.items()}
        write_whole(self._file, [safetensors_header(entries), *(tensor.data for tensor in self._kept.values())])
