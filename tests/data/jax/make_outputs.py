#!/usr/bin/env python3
"""Makes the file of this folder again: attention and its gradients as a JAX model computes them on a CPU.

  python3 -m venv VENV && VENV/bin/pip install jax
  VENV/bin/python tests/data/jax/make_outputs.py

Other versions of JAX and other processors round in other places: the bits may differ.
"""
import math
import pathlib
import sys

import jax
import jax.numpy as jnp

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[2] / "app" / "python"))
from attoscope.tensors import save_safetensors  # noqa: E402


@jax.jit
def eager(q, k, v):
    """Attention of [heads, n, d] as a model writes it: every step is an array of the inputs' type."""
    n, d = q.shape[-2:]
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.asarray(math.sqrt(d), q.dtype)
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, jnp.finfo(q.dtype).min)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1), v)


def main():
    keys = jax.random.split(jax.random.key(3000), 4)
    q, k, v, d_o = (jax.random.normal(key, (2, 128, 32)).astype(jnp.bfloat16) for key in keys)
    o, backward = jax.vjp(eager, q, k, v)
    dq, dk, dv = backward(d_o)
    save_safetensors(FOLDER / "bf16_causal.safetensors",
                     {"q": q, "k": k, "v": v, "o": o, "do": d_o, "dq": dq, "dk": dk, "dv": dv},
                     {"mask": "causal", "made_by": f"JAX {jax.__version__}, CPU"})


if __name__ == "__main__":
    main()
