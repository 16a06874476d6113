"""`attoscope open` from Python: tensors in the running window."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional

from .errors import BadOption, CouldNotRun, DeadLink
from .program import run_program
from .tensors import Tensor, check_attention, save_safetensors, tensor_of, write_whole

_FORMATS = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16", "F8_E4M3": "e4m3", "F8_E5M2": "e5m2"}


def view(
    q: Any,
    k: Any,
    v: Any,
    o: Any = None,
    *,
    mask: Optional[str] = None,
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    alibi: Optional[float] = None,
    sink: Optional[float] = None,
    format: Optional[str] = None,
    head: int = 0,
    name: str = "view",
) -> str:
    """Shows these tensors in the running window, or starts one, and returns at once; with `o`, the window shows the verdict on it.

    The options are those of `judge`. The tensors go into a file of this name in the user's runtime directory ($XDG_RUNTIME_DIR, else
    the cache directory), whose path is returned: the next view of the same name takes its place, and the window shows the newest.

    Raises BadTensor, BadOption, ProgramMissing, OtherVersion, CouldNotRun, or DeadLink where no window takes them.
    """
    tensors = {key: tensor_of(value, key) for key, value in {"q": q, "k": k, "v": v, "o": o}.items() if value is not None}
    check_attention(tensors)
    if not name or os.sep in name or name.startswith("."):
        raise BadOption(f"name is {name!r}, expected that of a file, without a folder")
    place = os.path.join(_folder(), name)
    file, session = place + ".safetensors", place + ".json"
    save_safetensors(file, tensors)
    problem = {"mask": _mask(mask), "scale": scale or 0.0, "softcap": softcap or 0.0, "alibi": alibi or 0.0, "sink": sink}
    text = json.dumps(_session(tensors, file, problem, format, head), indent=1)
    write_whole(session, [text.encode()])
    run_program(["open", session], failure=DeadLink)
    return file


def _folder() -> str:
    """Where the file of a view lies: it outlives this process, since the window reads it."""
    runtime, cache = os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime):
        folder = os.path.join(runtime, "attoscope")
    else:
        folder = os.path.join(cache if os.path.isabs(cache) else os.path.expanduser("~/.cache"), "attoscope")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise CouldNotRun(f"{folder} cannot be made: {error.strerror or error}") from error
    return folder


def _mask(text: Optional[str]) -> Dict[str, Any]:
    """As a session has it.

    >>> _mask("window:64")
    {'kind': 'window', 'window': 64}
    """
    kind, _, width = (text or "none").partition(":")
    wide = kind in ("window", "padding")
    if kind not in ("none", "causal", "window", "padding") or wide != bool(width) or (wide and not width.isdigit()):
        raise BadOption(f"mask is {text!r}, expected 'none', 'causal', 'window:W' or 'padding:W'")
    return {"kind": kind, "window": int(width)} if wide else {"kind": kind}


def _session(tensors: Dict[str, Tensor], file: str, problem: Dict[str, Any], format: Optional[str], head: int) -> Dict[str, Any]:
    n, d = tensors["q"].shape[-2:]
    stored = tensors["o" if "o" in tensors else "q"].type
    experiment: Dict[str, Any] = {
        "problem": {"input": {"kind": "tensors", "file": file, "index": head}, "n": n, "d": d, **problem},
        "format": format or _FORMATS[stored],
    }
    if "o" in tensors:
        experiment.update(a={"algorithm": "loaded"}, b={"algorithm": "three_pass", "policy": "base_eager"})
        experiment["loaded"] = {"file": file, "index": head}
    return {"schema": "attoscope.session/1", "experiment": experiment}


__all__ = ("view",)
