"""`attoscope open` from Python: shows tensors in the running window."""
from __future__ import annotations

import math
import os
from typing import Any, Optional

from .errors import BadOption, BadTensor, CouldNotRun, DeadLink, in_one_frame
from .program import options_of, run_program
from .tensors import Tensor, check_attention, of_arrays, save_safetensors, tensor_of
from .words import OF_HEADS, PROBLEM, heads_last, in_words

_FORMATS = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16", "F8_E4M3": "e4m3", "F8_E5M2": "e5m2"}
_OUTPUTS = {"o", "do"}
_COMPUTED = {"dq": "q", "dk": "k", "dv": "v"}


@in_one_frame
def view(
    q: Any,
    k: Any,
    v: Any,
    o: Any = None,
    *,
    do: Any = None,
    dq: Any = None,
    dk: Any = None,
    dv: Any = None,
    lse: Any = None,
    mask: Any = None,
    scale: Any = None,
    softcap: Any = None,
    alibi: Any = None,
    sink: Any = None,
    format: Any = None,
    head: int = 0,
    layout: Optional[str] = None,
    name: str = "view",
) -> str:
    """Shows these tensors in the running window, or starts one, and returns at once; with `o`, the window shows the verdict on it.
    With `do`, the gradient of the output, it shows the backward pass, and `o` is loaded, but not compared; with any of `dq`, `dk`
    and `dv` (your kernel's gradients; `dk` and `dv` with the heads of `q`), it shows and judges them. `lse` is your kernel's
    log-sum-exp, [batch, heads, n], which is judged with `o`.

    The options are those of `judge`. The tensors go into a file of this name in the user's runtime directory ($XDG_RUNTIME_DIR, else
    the cache directory), whose path is returned: the next view of the same name replaces it, and the window shows the newest.

    Raises BadTensor, BadOption, ProgramMissing, OtherVersion, CouldNotRun, or DeadLink if no window receives them.
    """
    given = locals()
    tensors = {key: tensor_of(given[key], key) for key in ("q", "k", "v", "o", "do", *_COMPUTED) if key in "qkv" or given[key] is not None}
    words = in_words({key: given[key] for key in PROBLEM}, tensors)
    if isinstance(words["mask"], Tensor):
        raise BadOption("mask is a tensor that no rule describes, which view does not take: give judge a file for save, and show its verdict")
    check_attention(tensors, heads_last(words["layout"]))
    if heads_last(words["layout"]):
        tensors = {key: _heads_first(t) if key not in _OUTPUTS or t.shape[:-1] == tensors["q"].shape[:-1] else t for key, t in tensors.items()}
    for key in _OUTPUTS & set(tensors):
        if tensors[key].shape[:-1] != tensors["q"].shape[:-1]:
            tensors[key] = _heads_first(tensors[key])
    tensors.update({key: _for_every_head(tensors[key], tensors["q"]) for key in "kv"})
    for key, like in _COMPUTED.items():
        if key in tensors and tensors[key].shape[:-1] != tensors[like].shape[:-1]:
            tensors[key] = _heads_first(tensors[key])
        if key in tensors and tensors[key].shape != tensors[like].shape:
            raise BadTensor(f"{key} has shape {list(tensors[key].shape)}, expected {list(tensors[like].shape)}: that of {like} with every head of q")
    if not name or os.sep in name or name.startswith("."):
        raise BadOption(f"name is {name!r}, expected that of a file, without a folder")
    file = os.path.join(_folder(), name) + ".safetensors"
    beside = {OF_HEADS[key]: words[key] for key in OF_HEADS if isinstance(words[key], list)}
    if lse is not None:
        beside["lse"] = lse
    save_safetensors(file, {**tensors, **beside}, of_arrays((q, k, v)))
    # The window finds D by an output, as judge does.
    defaults = {"mask": "none", "scale": "auto", "softcap": 0, "alibi": 0, "sink": "none",
                "format": _FORMATS.get(tensors["q"].type, "bf16") if o is None else None}
    words.update({key: words[key][head % len(words[key])] for key in OF_HEADS if isinstance(words[key], list)})
    problem = {key: otherwise if words[key] is None else words[key] for key, otherwise in defaults.items()}
    run_program(["open", f"{file}[h n d]:{head}", *options_of(problem)], failure=DeadLink)  # unsaid, the sizes would decide the order
    return file


def _for_every_head(t: Tensor, q: Tensor) -> Tensor:
    """Repeats each head of K or V for every head of Q that shares it: the window shows one head of Q, K and V at a time.

    >>> _for_every_head(Tensor("F8_E5M2", (2, 1, 1), b"ab"), Tensor("F8_E5M2", (4, 1, 1), b"wxyz"))
    Tensor(type='F8_E5M2', shape=(4, 1, 1), data=b'aabb')
    """
    if len(t.shape) < 3:
        return t
    heads, sharing = math.prod(t.shape[:-2]), q.shape[-3] // t.shape[-3]
    size = len(t.data) // heads
    return Tensor(t.type, (*t.shape[:-3], q.shape[-3], *t.shape[-2:]), b"".join(t.data[i * size:(i + 1) * size] * sharing for i in range(heads)))


def _heads_first(t: Tensor) -> Tensor:
    """Transposes [n, heads, d] to [heads, n, d], for each sequence of a batch.

    >>> _heads_first(Tensor("F8_E5M2", (2, 3, 1), b"abcdef"))
    Tensor(type='F8_E5M2', shape=(3, 2, 1), data=b'adbecf')
    """
    if len(t.shape) < 3:
        return t
    n, heads, d = t.shape[-3:]
    rows = math.prod(t.shape[:-1])
    size = len(t.data) // rows
    order = (batch + i * heads + head for batch in range(0, rows, n * heads) for head in range(heads) for i in range(n))
    data = b"".join(t.data[row * size:(row + 1) * size] for row in order)
    return Tensor(t.type, (*t.shape[:-3], heads, n, d), data)


def _folder() -> str:
    """Folder of a view's file, which must outlive this process, since the window reads it."""
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
