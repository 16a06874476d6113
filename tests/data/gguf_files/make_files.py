#!/usr/bin/env python3
"""Makes the files of this folder again with the package gguf: a .gguf of every type, and what that package reads from it.

  VENV/bin/python tests/data/gguf_files/make_files.py
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

FOLDER = pathlib.Path(__file__).resolve().parent
SIZES = {Type.Q4_0: (32, 18, [0]), Type.Q4_1: (32, 20, [0, 2]), Type.Q8_0: (32, 34, [0]), Type.Q4_K: (256, 144, [0, 2]),
         Type.Q6_K: (256, 210, [208]), Type.Q5_K: (256, 176, [0, 2])}  # numbers and bytes of a block, places of its halves


def blocks(rng, kind, rows, columns):
    """Any bytes are blocks once their scales are numbers."""
    numbers, size, halves = SIZES[kind]
    data = rng.integers(0, 256, (rows, columns // numbers, size), dtype=np.uint8)
    for at in halves:
        data[:, :, at:at + 2] = rng.normal(0, 0.1, data.shape[:2]).astype(np.float16)[:, :, None].view(np.uint8)
    return data.reshape(rows, -1)


def main():
    rng = np.random.default_rng(5)
    writer = gguf.GGUFWriter(FOLDER / "types.gguf", "llama")
    writer.add_context_length(2048)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list(["a", "b\n", "ß"])
    writer.add_bool("test.yes", True)
    expected = []
    for kind in [Type.F32, Type.F16]:
        x = rng.normal(size=(3, 512)).astype(np.float32 if kind == Type.F32 else np.float16)
        writer.add_tensor(kind.name, x)
        expected.append(x.astype(np.float32))
    short = (rng.normal(size=(3, 512)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    writer.add_tensor("BF16", short.view(np.uint8), raw_dtype=Type.BF16)
    expected.append((short.astype(np.uint32) << 16).view(np.float32))
    for kind in SIZES:
        data = blocks(rng, kind, 3, 512)
        writer.add_tensor(kind.name, data, raw_dtype=kind)
        if kind != Type.Q5_K:
            expected.append(gguf.quants.dequantize(data, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.save(FOLDER / "expected.npy", np.stack(expected).astype(np.float32))


main()
