"""Functions that replace others while a capture runs. Each hook returns the functions that undo it."""
from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from .capturing import Capture
from .errors import BadOption, BadTensor
from .problems import Problem, problem_of
from .words import numbers_of

Undo = List[Callable[[], None]]


def replaced(owner: Any, name: str, value: Any) -> Undo:
    """Sets an attribute; undoing restores the former value, or removes the attribute if the owner had none."""
    own = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, value)
    return [lambda: setattr(owner, name, before) if own else delattr(owner, name)]


def replaced_everywhere(home: Any, name: str, value: Any) -> Undo:
    """As `replaced`, also in modules that have imported the function by name, except modules of its own library."""
    before = getattr(home, name)
    undo = replaced(home, name, value)
    for module in list(sys.modules.values()):
        owner = str(getattr(module, "__name__", ""))
        if owner.partition(".")[0] == "torch" or owner.startswith("transformers.integrations"):
            continue  # their functions may be compiled: not replaced
        for known, found in list(getattr(module, "__dict__", {}).items()):
            if found is before:
                undo += replaced(module, known, value)
    return undo


def module_names(model: Any, names: Callable[[], List[str]], ran: Dict[str, str]) -> Undo:
    """Tracks the running modules of a torch model in `names`; `ran` gets the class of each module that has run."""
    if not hasattr(model, "named_modules"):
        return []
    undo: Undo = []

    def enter(name: str, kind: str) -> None:
        ran[name or "the model"] = kind
        if not name:
            names().clear()  # an earlier run may have failed half-way
        else:
            names().append(name)

    def leave(name: str) -> None:
        if name in names():
            del names()[names().index(name):]

    for name, module in model.named_modules():
        if hasattr(module, "register_forward_pre_hook"):
            kind = type(module).__name__
            before = module.register_forward_pre_hook(lambda *_, name=name, kind=kind: enter(name, kind))
            after = module.register_forward_hook(lambda *_, name=name: leave(name))
            undo += [before.remove, after.remove]
    return undo


def transformers_attention(capture: Capture) -> Undo:
    """AttentionInterface of transformers, where it is loaded: every function that it hands out, and the eager functions of models."""
    interface = getattr(sys.modules.get("transformers.modeling_utils"), "AttentionInterface", None)
    if interface is None:
        return []
    undo: Undo = []
    for name in ("__getitem__", "get_interface"):  # the second one (later versions) also returns a model's own eager function
        original = getattr(interface, name, None)
        if original is not None:
            undo += replaced(interface, name, _handing_out(capture, original))
    for module in list(sys.modules.values()):  # models of 4.x call their own eager function without the interface
        own = getattr(module, "__dict__", {}).get("eager_attention_forward")
        if callable(own) and str(getattr(module, "__name__", "")).startswith("transformers"):
            undo += replaced(module, "eager_attention_forward", _interface_function(capture, "eager", own))
    return undo


def _handing_out(capture: Capture, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hand_out(interface: Any, key: Any, *arguments: Any, **keywords: Any) -> Any:
        found = original(interface, key, *arguments, **keywords)
        return found if not callable(found) or hasattr(found, "hooked_by_attoscope") else _interface_function(capture, str(key), found)

    return hand_out


def _interface_function(capture: Capture, key: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def described(module: Any, query: Any, k: Any, v: Any, attention_mask: Any = None, **options: Any) -> Any:
        layer = capture.current_layer(f"layer {getattr(module, 'layer_idx', '?')}")
        lengths = int(query.shape[2]), int(k.shape[2])
        return layer, (query, k, v), lambda: _interface_problem(key, module, lengths, attention_mask, options)

    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result[0].transpose(1, 2))

    hooked.hooked_by_attoscope = True  # type: ignore[attr-defined]
    return functools.wraps(original)(hooked)


def top_left(is_causal: bool, n: int, n_k: int) -> Optional[str]:
    """The causal mask of scaled_dot_product_attention: query 0 is aligned with key 0."""
    return None if not is_causal else "causal" if n == n_k else "causal:top-left"


def _interface_problem(key: str, module: Any, lengths: Tuple[int, int], mask: Any, options: Dict[str, Any]) -> Problem:
    """The problem of a call of an AttentionInterface function with `lengths` queries and keys, from their common arguments."""
    for name in ("position_bias", "head_mask"):
        if options.get(name) is not None:
            raise BadTensor(f"it has {name}, which has no counterpart here")
    n, n_k = lengths
    causal = options.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    if key == "eager":
        mask, causal = _eager_mask(module, lengths, mask)
    elif hasattr(mask, "mask_mod"):
        mask, causal = dense(mask, n, n_k), False
    elif mask is not None and len(mask.shape) == 2:  # of flash kernels: marks tokens that are not padding
        mask = None if bool(mask.all()) else mask.bool()[:, None, None, :]
    elif mask is not None:
        causal = False
    width = options.get("sliding_window")
    if causal and width and width < n_k:
        if mask is not None:
            raise BadTensor(f"it has a window of {int(width)} and a batch of sequences of different lengths")
        causal, mask = False, f"window:{int(width)}"
    if key == "sdpa":  # there a single query sees all keys
        named = top_left(bool(causal) and n > 1, n, n_k)
    else:  # the last query is aligned with the last key
        named = "causal" if causal else None
    problem = problem_of(mask, named, options.get("scaling"), options.get("softcap"), options.get("dropout") or 0.0)
    if options.get("s_aux") is None:
        return problem
    return problem._replace(sink=tuple(numbers_of(options["s_aux"], "s_aux")))


def _eager_mask(module: Any, lengths: Tuple[int, int], mask: Any) -> Tuple[Any, bool]:
    """The mask tensor of an eager function, which is complete except in GPT-2, and True if it is causal without a tensor."""
    n, n_k = lengths
    own = getattr(module, "bias", None)  # of GPT-2, which hides later keys by it
    if len(getattr(own, "shape", ())) != 4 or getattr(module, "is_cross_attention", False):
        return mask, False
    if mask is None:
        return None, True
    return mask[..., :n_k].masked_fill(~own[:, :, n_k - n:n_k, :n_k].bool(), float("-inf")), False


def dense(mask: Any, n: int, n_k: int) -> Any:
    """A block mask of flex_attention as a tensor of booleans."""
    from torch.nn.attention.flex_attention import create_mask  # type: ignore[import-not-found,unused-ignore]

    try:
        batch, heads = mask.shape[:2]
        return create_mask(mask.mask_mod, batch, heads, n, n_k, mask.kv_num_blocks.device)
    except Exception as error:
        raise BadTensor(f"its block mask cannot be written out: {error}") from error


def function(capture: Capture, owner: Any, name: str) -> Undo:
    """A user's function f(q, k, v, ...) -> o of a module, a class or an object."""
    original = getattr(owner, name, None)
    if not callable(original):
        raise BadOption(f"also names {name!r}, which is no function of {owner!r}")
    static = isinstance(owner, type) and isinstance(vars(owner).get(name), staticmethod)
    method = isinstance(owner, type) and not static

    def described(*arguments: Any, **keywords: Any) -> Any:
        layer = capture.current_layer(str(getattr(arguments[0], "name", name)) if method else name)
        given = dict(zip("qkv", arguments[1:] if method else arguments), **keywords)
        missing = [role for role in "qkv" if role not in given]
        if missing:
            raise BadOption(f"{name} was called without {missing[0]}: expected q, k and v first")
        causal = "causal" if given.get("is_causal", given.get("causal", False)) else None
        return layer, (given["q"], given["k"], given["v"]), lambda: problem_of(given.get("mask"), causal, given.get("scale"))

    @functools.wraps(original)
    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result)

    return replaced(owner, name, staticmethod(hooked) if static else hooked)
