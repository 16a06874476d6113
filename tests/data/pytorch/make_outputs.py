#!/usr/bin/env python3
"""Makes the files of this folder again: attention as PyTorch computes it on a CPU.

  python3 -m venv VENV && VENV/bin/pip install torch numpy
  VENV/bin/python tests/data/pytorch/make_outputs.py [gradients]

Other versions of PyTorch, other processors and other thread counts round in other places: the bits may differ.
"""
import math
import pathlib
import sys

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[2] / "app" / "python"))
from attoscope.tensors import save_safetensors  # noqa: E402

# name: element type, heads of Q, heads of K and V, n, d, mask, scale (None: 1/sqrt(d)), spread of the scores
CASES = {
    "bf16_causal": (torch.bfloat16, 2, 2, 128, 64, "causal", None, 1.0),
    "bf16_full": (torch.bfloat16, 1, 1, 256, 32, "none", None, 1.0),
    "bf16_window": (torch.bfloat16, 1, 1, 200, 64, "window:48", None, 1.0),
    "bf16_grouped": (torch.bfloat16, 4, 2, 128, 32, "causal", None, 1.0),
    "bf16_large_scores": (torch.bfloat16, 1, 1, 256, 64, "causal", 0.25, 3.0),
    "fp16_causal": (torch.float16, 1, 1, 200, 64, "causal", None, 1.0),
    "fp16_full": (torch.float16, 2, 2, 128, 32, "none", None, 2.0),
    "fp32_causal": (torch.float32, 1, 1, 128, 64, "causal", None, 1.0),
    "fp32_full": (torch.float32, 1, 1, 160, 32, "none", None, 2.0),
}
GRADIENT_CASES = {name: CASES[name] for name in ("bf16_causal", "bf16_grouped", "fp16_full", "fp32_causal")}
GRADIENT_CASES["bf16_shared"] = (torch.bfloat16, 4, 1, 256, 16, "none", None, 1.0)


def mask_of(text, n):
    """The keys that a query sees, as booleans; None where it sees all."""
    kind, _, width = text.partition(":")
    if kind == "none":
        return None
    below = torch.ones(n, n, dtype=torch.bool).tril()
    return below if kind == "causal" else below & ~below.tril(-int(width))


def eager(q, k, v, mask, scale):
    """Three lines as a model writes them: S, P and O are tensors of the inputs' type."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = q @ k.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def fused(backend, q, k, v, text, mask, scale):
    """scaled_dot_product_attention by one backend; raises where the backend does not take the case."""
    arguments = {"is_causal": True} if text == "causal" else {"attn_mask": mask}
    if k.shape[1] != q.shape[1]:
        arguments["enable_gqa"] = True
    with sdpa_kernel([backend]):
        return functional.scaled_dot_product_attention(q, k, v, scale=scale, **arguments)


def make(number, name, element, heads, key_heads, n, d, text, scale, spread):
    generator = torch.Generator().manual_seed(1000 + number)
    q, k, v = (torch.randn(1, count, n, d, generator=generator) for count in (heads, key_heads, key_heads))
    q, k, v = (q * spread).to(element), k.to(element), v.to(element)
    mask, factor = mask_of(text, n), 1 / math.sqrt(d) if scale is None else scale
    outputs = {
        "o": fused(SDPBackend.FLASH_ATTENTION, q, k, v, text, mask, scale),
        "o_math": fused(SDPBackend.MATH, q, k, v, text, mask, scale),
        "o_eager": eager(q, k, v, mask, factor),
    }
    exact = eager(q.double(), k.double(), v.double(), mask, factor)
    errors = {key: float((value.double() - exact).abs().max()) for key, value in outputs.items()}
    tensors = {"q": q[0], "k": k[0], "v": v[0], **{key: value[0] for key, value in outputs.items()}}
    save_safetensors(FOLDER / f"{name}.safetensors", tensors,
                     {"mask": text, "scale": "auto" if scale is None else str(scale), "made_by": f"PyTorch {torch.__version__}, CPU"})
    print(f"{name:18} " + "  ".join(f"{key} {error:.3g}" for key, error in errors.items()))


def make_gradients(number, name, element, heads, key_heads, n, d, text, scale, spread):
    """O of the fused kernel and dQ, dK, dV of three ways to compute attention, by autograd."""
    generator = torch.Generator().manual_seed(2000 + number)
    q, k, v, d_o = (torch.randn(1, count, n, d, generator=generator) for count in (heads, key_heads, key_heads, heads))
    q, k, v, d_o = (q * spread).to(element), k.to(element), v.to(element), d_o.to(element)
    mask, factor = mask_of(text, n), 1 / math.sqrt(d) if scale is None else scale
    ways = {
        "": lambda *x: fused(SDPBackend.FLASH_ATTENTION, *x, text, mask, scale),
        "_math": lambda *x: fused(SDPBackend.MATH, *x, text, mask, scale),
        "_eager": lambda *x: eager(*x, mask, factor),
    }
    tensors = {"q": q[0], "k": k[0], "v": v[0], "do": d_o[0]}
    errors = {}
    exact = gradients(lambda *x: eager(*x, mask, factor), d_o.double(), *(x.double() for x in (q, k, v)))
    for way, function in ways.items():
        found = gradients(function, d_o, q, k, v)
        for key in found:
            tensors[key + way] = found[key][0]
            errors[key + way] = float((found[key].double() - exact[key]).abs().max())
    save_safetensors(FOLDER / f"{name}_gradients.safetensors", tensors,
                     {"mask": text, "scale": "auto" if scale is None else str(scale), "made_by": f"PyTorch {torch.__version__}, CPU"})
    print(f"{name:18} " + "  ".join(f"{key} {error:.2g}" for key, error in errors.items()))


def gradients(function, d_o, *inputs):
    """O, dQ, dK and dV."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    o = function(*inputs)
    return dict(zip(("o", "dq", "dk", "dv"), (o.detach(), *torch.autograd.grad(o, inputs, d_o))))


def main():
    torch.set_num_threads(1)
    if sys.argv[1:] == ["gradients"]:
        for number, (name, case) in enumerate(GRADIENT_CASES.items()):
            make_gradients(number, name, *case)
        return
    print("largest distance to the same in float64")
    for number, (name, case) in enumerate(CASES.items()):
        make(number, name, *case)


if __name__ == "__main__":
    main()
