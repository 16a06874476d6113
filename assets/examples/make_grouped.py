#!/usr/bin/env python3
"""Makes grouped.safetensors of the tensors in smollm2_135m.safetensors: two layers of four heads of Q over two of K and V.

    assets/examples/make_grouped.py [--out assets/examples/grouped.safetensors]

The same input gives the same bytes. README.md says what is in it."""
import argparse
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
TOKENS, D = 512, 64
LAYERS = {"model.layers.0": (0, 1), "model.layers.1": (2, 3)}  # which captured heads K and V are


def captured(path, tokens=TOKENS):
    """{tensor: its heads, each a list of the first rows}"""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, tensors = json.loads(data[8:8 + length]), {}
    for name in "qkv":
        heads, rows, d = header[name]["shape"]
        first = 8 + length + header[name]["data_offsets"][0]
        numbers = struct.unpack(f"<{heads * rows * d}f", data[first:first + 4 * heads * rows * d])
        tensors[name] = [[numbers[(h * rows + i) * d:(h * rows + i + 1) * d] for i in range(tokens)] for h in range(heads)]
    return tensors


def bf16(x):
    """The two bytes of x, rounded to nearest even."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.pack("<H", (bits + 0x7fff + (bits >> 16 & 1)) >> 16)


def turned(row):
    """The same numbers, each half in the place of the other: another question to the same keys."""
    return row[D // 2:] + row[:D // 2]


def tokens_first(heads):
    return b"".join(bf16(x) for i in range(TOKENS) for head in heads for x in head[i])


def layer(tensors, first, second):
    """Q of each captured head and the same turned; K and V as they are."""
    q = [rows for head in (first, second) for rows in (tensors["q"][head], [turned(row) for row in tensors["q"][head]])]
    return {"q_proj": q, **{name + "_proj": [tensors[name][first], tensors[name][second]] for name in "kv"}}


def write_safetensors(out, tensors):
    """{name: (type, shape, bytes)} as a file, one after the other."""
    header, data = {}, b""
    for name, (dtype, shape, numbers) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    out.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "grouped.safetensors")
    out = parser.parse_args().out
    tensors = captured(HERE / "smollm2_135m.safetensors")
    write_safetensors(out, {f"{name}.self_attn.{part}": ("BF16", [TOKENS, len(of_heads), D], tokens_first(of_heads))
                            for name, heads in LAYERS.items() for part, of_heads in layer(tensors, *heads).items()})


if __name__ == "__main__":
    main()
