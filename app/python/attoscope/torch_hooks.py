"""Hooks the attention functions of torch while a capture runs. The first line of each docstring names the hooked function."""
from __future__ import annotations

import functools
import inspect
import math
import sys
import threading
from typing import Any, Callable, Dict, List, Tuple

from .capturing import Capture
from .errors import BadTensor
from .hooks import Undo, dense, replaced, replaced_everywhere, top_left
from .problems import Problem, problem_of

_MOST_SCORES = 1 << 26  #: largest number of scores on which a score_mod is tried


def scaled_dot_product(capture: Capture) -> Undo:
    """scaled_dot_product_attention, where torch is loaded."""
    functional = sys.modules.get("torch.nn.functional")
    original = getattr(functional, "scaled_dot_product_attention", None)
    if original is None:
        return []

    def described(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                  scale: Any = None, enable_gqa: bool = False) -> Tuple[str, Tuple[Any, Any, Any], Callable[[], Problem]]:
        layer = capture.current_layer("scaled_dot_product_attention")
        causal = top_left(is_causal, query.shape[-2], key.shape[-2])
        return layer, (query, key, value), lambda: problem_of(attn_mask, causal, scale, None, dropout_p)

    @functools.wraps(original)
    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result)

    return replaced_everywhere(functional, "scaled_dot_product_attention", hooked)


def flex(capture: Capture) -> Undo:
    """flex_attention, where torch.nn.attention.flex_attention is loaded."""
    home = sys.modules.get("torch.nn.attention.flex_attention")
    original = getattr(home, "flex_attention", None)
    if original is None:
        return []

    def described(query: Any, key: Any, value: Any, score_mod: Any = None, block_mask: Any = None, scale: Any = None,
                  *_: Any, **__: Any) -> Tuple[str, Tuple[Any, Any, Any], Callable[[], Problem]]:
        def problem() -> Problem:
            mask = None if block_mask is None else dense(block_mask, query.shape[-2], key.shape[-2])
            found = problem_of(mask, None, scale)
            return found if score_mod is None else _modified(found, score_mod, query, key)

        return capture.current_layer("flex_attention"), (query, key, value), problem

    @functools.wraps(original)
    def hooked(*arguments: Any, **keywords: Any) -> Any:
        return capture.record(original, arguments, keywords, described, lambda result: result[0] if isinstance(result, tuple) else result)

    return replaced_everywhere(home, "flex_attention", hooked)


def _modified(problem: Problem, score_mod: Callable[..., Any], query: Any, key: Any) -> Problem:
    """Adds the effect of a score_mod, found by trying a few scores: none, a soft cap, ALiBi slopes, or an added mask."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    shape = (query.shape[0], query.shape[1], query.shape[-2], key.shape[-2])
    if math.prod(shape) > _MOST_SCORES:
        raise BadTensor(f"its score_mod is not tried on {math.prod(shape)} scores")
    places = [torch.arange(length, device=query.device).reshape([-1 if i == axis else 1 for i in range(4)]) for axis, length in enumerate(shape)]

    def of(score: float) -> Any:
        scores = torch.full(shape, score, dtype=torch.float64, device=query.device)
        return torch.as_tensor(score_mod(scores, *places)).double().expand(shape)

    try:
        zero, others = of(0.0), [(score, of(score)) for score in (1.0, -3.0, 1e6, -1e6)]
    except Exception as error:
        raise BadTensor(f"its score_mod cannot be tried: {error}") from error
    seen = zero > -math.inf

    def is_(function: Callable[[float], float]) -> bool:
        """True if every score becomes function(score) plus the value of score 0."""
        return all(torch.allclose(found[seen] - function(score), zero[seen], rtol=1e-5, atol=1e-5) for score, found in others)

    if is_(lambda score: score):
        return _with_bias(problem, zero, seen)
    cap = float((others[2][1] - zero)[seen].max())
    if cap > 0 and bool((zero[seen] == 0).all()) and is_(lambda score: cap * math.tanh(score / cap)):
        return _with_bias(problem._replace(softcap=cap), zero, seen)
    raise BadTensor("its score_mod has no counterpart here")


def _with_bias(problem: Problem, bias: Any, seen: Any) -> Problem:
    """The problem with an added bias: ALiBi slopes, or a mask tensor with minus infinity for hidden keys."""
    n, n_k = bias.shape[-2:]
    hidden = ~seen if problem.mask is None else ~(seen & problem.mask)
    if bool((bias[seen] == 0).all()):
        return problem if not bool(hidden.any()) else problem._replace(mask=~hidden)
    behind = (bias.new_tensor(range(n)).reshape(-1, 1) + (n_k - n) - bias.new_tensor(range(n_k))).abs()
    slopes = (-bias / behind.clamp(min=1)).masked_fill(hidden | (behind == 0), -math.inf).amax((0, 2, 3))
    lines = -slopes.reshape(1, -1, 1, 1) * behind
    if bool(((bias - lines).abs() <= 1e-5 * behind)[~hidden].all()):
        mask = ~hidden if bool(hidden.any()) else None
        return problem._replace(mask=mask, alibi=tuple(float(slope) for slope in slopes.tolist()))
    return problem._replace(mask=bias.float().masked_fill(hidden, -math.inf))


def multi_head(capture: Capture) -> Undo:
    """nn.MultiheadAttention, where torch is loaded: the products that it makes itself where it is asked for its weights."""
    functional, torch = sys.modules.get("torch.nn.functional"), sys.modules.get("torch")
    original = getattr(functional, "multi_head_attention_forward", None)
    mha = getattr(getattr(torch, "backends", None), "mha", None)
    if original is None or mha is None:
        return []
    signature, running = inspect.signature(original), threading.local()

    def product(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def made(*arguments: Any, **keywords: Any) -> Any:
            result = function(*arguments, **keywords)
            if getattr(running, "products", None) is not None:
                running.products.append((arguments, result))
            return result

        return made

    @functools.wraps(original)
    def hooked(*arguments: Any, **keywords: Any) -> Any:
        given = signature.bind(*arguments, **keywords)
        given.apply_defaults()
        if capture.is_inside() or not given.arguments["need_weights"]:
            return original(*arguments, **keywords)  # it calls scaled_dot_product_attention, which is recorded
        running.products = []
        undo = [back for name in ("bmm", "baddbmm") for back in replaced(torch, name, product(getattr(torch, name)))]
        try:
            result = original(*arguments, **keywords)
        finally:
            for back in undo:
                back()
            products, running.products = running.products, None
        if len(products) == 2:
            _keep_products(capture, products, given.arguments)
        return result

    undo = replaced_everywhere(functional, "multi_head_attention_forward", hooked)
    was_fused = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    return [*undo, lambda: mha.set_fastpath_enabled(was_fused)]


def _keep_products(capture: Capture, made: List[Tuple[Tuple[Any, ...], Any]], given: Dict[str, Any]) -> None:
    """Keeps the products of scaled Q and K, and of weights and V. The scale is 1, since Q is scaled already."""
    (scores, _), (weighted, o) = made
    heads = int(given["num_heads"])

    def by_head(x: Any) -> Any:
        return x.reshape(-1, heads, *x.shape[-2:])

    mask = scores[0] if len(scores) == 3 else None
    if mask is not None and len(mask.shape) == 3 and mask.shape[0] > 1:
        mask = by_head(mask)
    dropout = float(given["dropout_p"]) if given["training"] else 0.0
    inputs = by_head(scores[-2]), by_head(scores[-1].transpose(-2, -1)), by_head(weighted[1])
    capture.keep(capture.current_layer("MultiheadAttention"), inputs, by_head(o), lambda: problem_of(mask, None, 1.0, None, dropout))
