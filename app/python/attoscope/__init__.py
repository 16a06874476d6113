"""Attoscope from Python: is an attention kernel's output rounded, or wrong?

    import attoscope
    attoscope.assert_attention_close(o, q, k, v, mask="causal")

Tensors are torch's (of any device), arrays of NumPy, CuPy, JAX or ml_dtypes, buffers, nested lists, or names of .npy and
.safetensors files. The program `attoscope` that this package was installed with computes everything.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

__version__ = "0.1.0"

__all__ = [
    "AttoscopeError",
    "BadOption",
    "BadTensor",
    "Capture",
    "CouldNotRun",
    "DeadLink",
    "OtherVersion",
    "ProgramMissing",
    "Verdict",
    "assert_attention_close",
    "capture",
    "check",
    "judge",
    "run",
    "save_safetensors",
    "sweep",
    "view",
]

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

#: Where each public name is; a module is loaded when one of its names is first used.
_HOMES = {
    "Capture": "capturing",
    "capture": "capturing",
    "run": "experiments",
    "save_safetensors": "tensors",
    "sweep": "experiments",
    "Verdict": "verdict",
    "assert_attention_close": "judging",
    "check": "judging",
    "judge": "judging",
    "view": "window",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attoscope' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + _HOMES.get(name, "errors"), __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
