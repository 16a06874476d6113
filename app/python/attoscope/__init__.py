"""Attoscope from Python: is an attention kernel's output rounded, or wrong?

    import attoscope
    attoscope.assert_attention_close(o, q, k, v, mask="causal")

Tensors are torch's (of any device), arrays of NumPy, CuPy, JAX or ml_dtypes, buffers, nested lists, or names of .npy and
.safetensors files. The program `attoscope` that this package was installed with computes everything.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

__version__ = "0.1.0"

#: The public names by their modules; a module is loaded when one of its names is first used.
_HOMES = {
    "capturing": ("Capture", "capture"),
    "errors": ("AttoscopeError", "BadOption", "BadTensor", "CouldNotRun", "DeadLink", "OtherVersion", "ProgramMissing"),
    "experiments": ("run", "sweep"),
    "judging": ("assert_attention_close", "check", "judge"),
    "tensors": ("save_safetensors",),
    "verdict": ("Verdict",),
    "window": ("view",),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)

if TYPE_CHECKING:
    from .capturing import Capture as Capture
    from .capturing import capture as capture
    from .errors import AttoscopeError as AttoscopeError
    from .errors import BadOption as BadOption
    from .errors import BadTensor as BadTensor
    from .errors import CouldNotRun as CouldNotRun
    from .errors import DeadLink as DeadLink
    from .errors import OtherVersion as OtherVersion
    from .errors import ProgramMissing as ProgramMissing
    from .experiments import run as run
    from .experiments import sweep as sweep
    from .judging import assert_attention_close as assert_attention_close
    from .judging import check as check
    from .judging import judge as judge
    from .tensors import save_safetensors as save_safetensors
    from .verdict import Verdict as Verdict
    from .window import view as view


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'attoscope' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
