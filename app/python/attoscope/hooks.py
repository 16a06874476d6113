"""Functions put in the place of others while a capture runs. Each hook returns what takes it back."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional, Tuple

from .capturing import Capture, Problem, loaded, problem_of
from .errors import BadOption, BadTensor

Undo = List[Callable[[], None]]


def _replaced(owner: Any, name: str, value: Any) -> Undo:
    """Sets an attribute; what it was before (or that there was none of its own) comes back."""
    own = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, value)
    return [lambda: setattr(owner, name, before) if own else delattr(owner, name)]


def module_names(model: Any, names: Callable[[], List[str]]) -> Undo:
    """Lets every module of a torch model say when it runs."""
    if not hasattr(model, "named_modules"):
        return []
    undo: Undo = []

    def enter(name: str) -> None:
        if not name:
            names().clear()  # an earlier run may have failed half-way
        else:
            names().append(name)

    def leave(name: str) -> None:
        if name in names():
            del names()[names().index(name):]

    for name, module in model.named_modules():
        if hasattr(module, "register_forward_pre_hook"):
            before = module.register_forward_pre_hook(lambda *_, name=name: enter(name))
            after = module.register_forward_hook(lambda *_, name=name: leave(name))
            undo += [before.remove, after.remove]
    return undo


def torch_attention(capture: Capture) -> Undo:
    """scaled_dot_product_attention, where torch is loaded."""
    functional = loaded("torch.nn.functional")
    original = getattr(functional, "scaled_dot_product_attention", None)
    if original is None:
        return []

    def described(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                  scale: Any = None, enable_gqa: bool = False) -> Tuple[str, Tuple[Any, Any, Any], Callable[[], Problem]]:
        layer = capture.current_layer("scaled_dot_product_attention")
        return layer, (query, key, value), lambda: problem_of(
            capture.mask_text(attn_mask, query.shape[-2], key.shape[-2]), _top_left(is_causal, query.shape[-2], key.shape[-2]), scale,
            None, dropout_p)

    @functools.wraps(original)
    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result)

    return _replaced(functional, "scaled_dot_product_attention", hooked)


def transformers_attention(capture: Capture) -> Undo:
    """Every function that transformers' AttentionInterface hands out, where transformers is loaded."""
    interface = getattr(loaded("transformers.modeling_utils"), "AttentionInterface", None)
    if interface is None:
        return []
    undo: Undo = []
    for name in ("__getitem__", "get_interface"):  # the second, in later versions, also hands out a model's own eager function
        original = getattr(interface, name, None)
        if original is not None:
            undo += _replaced(interface, name, _handing_out(capture, original))
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
        return layer, (query, k, v), lambda: _interface_problem(capture, key, module, lengths, attention_mask, options)

    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result[0].transpose(1, 2))

    hooked.hooked_by_attoscope = True  # type: ignore[attr-defined]
    return functools.wraps(original)(hooked)


def _top_left(is_causal: bool, n: int, n_k: int) -> Optional[str]:
    """The causal mask of scaled_dot_product_attention: query 0 stands at key 0."""
    return None if not is_causal else "causal" if n == n_k else "causal:top-left"


def _interface_problem(capture: Capture, key: str, module: Any, lengths: Tuple[int, int], mask: Any, options: Dict[str, Any]) -> Problem:
    """What a function of AttentionInterface computes on so many queries and keys, by the arguments that they share."""
    for name in ("s_aux", "position_bias", "head_mask"):
        if options.get(name) is not None:
            raise BadTensor(f"it has {name}, which has no counterpart here")
    (n, n_k), text = lengths, mask
    causal = options.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    if key == "eager":
        causal = False  # its mask says it all
    elif mask is not None and len(mask.shape) == 2:  # of flash kernels: which tokens are there
        if not bool(mask.all()):
            raise BadTensor("its batch holds sequences of different lengths")
        text = None
    elif mask is not None:
        causal = False
    width = options.get("sliding_window")
    if causal and width and width < n_k:
        causal, text = False, f"window:{int(width)}"
    if key == "sdpa":  # one query sees all keys there
        named = _top_left(bool(causal) and n > 1, n, n_k)
    else:  # the last query stands at the last key
        named = "causal" if causal else None
    return problem_of(capture.mask_text(text, n, n_k), named, options.get("scaling"), options.get("softcap"), options.get("dropout") or 0.0)


def function(capture: Capture, owner: Any, name: str) -> Undo:
    """A function of the user's own: f(q, k, v, ...) -> o, of a module, a class or an object."""
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
        return layer, (given["q"], given["k"], given["v"]), lambda: problem_of(
            capture.mask_text(given.get("mask"), _length(given["q"]), _length(given["k"])), causal, given.get("scale"))

    @functools.wraps(original)
    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result)

    return _replaced(owner, name, staticmethod(hooked) if static else hooked)


def _length(q: Any) -> int:
    shape: Tuple[int, ...] = tuple(getattr(q, "shape", ())) or (len(q),)
    return int(shape[-2] if len(shape) > 1 else shape[0])
