#!/usr/bin/env python3
"""Makes decode.safetensors of the tensors in smollm2_135m.safetensors: the last token's queries against a cache in e4m3.

    assets/examples/make_decode.py [--out assets/examples/decode.safetensors]

The same input gives the same bytes. README.md says what is in it."""
import argparse
import math
import pathlib
import struct

from make_grouped import HERE, D, bf16, captured, write_safetensors

KEYS = 1000  # no multiple of a tile
SCALE = 1 / 8


def e4m3_numbers():
    """The 127 numbers from 0 on, in the order of their bytes: 4 bits of exponent (bias 7), 3 of mantissa; 0x7f is NaN."""
    return [math.ldexp((byte >> 3 > 0) + (byte & 7) / 8, max(byte >> 3, 1) - 7) for byte in range(0x7f)]


NUMBERS = e4m3_numbers()


def e4m3(x):
    """The byte of x, rounded to nearest even; beyond 448 it is 448."""
    size, low, high = abs(x), 0, len(NUMBERS) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if NUMBERS[middle] <= size else (low, middle)
    below, above = size - NUMBERS[low], NUMBERS[high] - size
    byte = low if below < above or (below == above and low % 2 == 0) else high
    return byte | (0x80 if math.copysign(1, x) < 0 else 0)


def fp32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Cache:
    """K or V of one head in e4m3, with one fp32 scale: its largest magnitude over 448."""

    def __init__(self, rows):
        self.scale = fp32(max(abs(x) for row in rows for x in row) / 448)
        self.bytes = [[e4m3(x / self.scale) for x in row] for row in rows]

    def row(self, j):
        return [NUMBERS[b & 0x7f] * (-1 if b & 0x80 else 1) * self.scale for b in self.bytes[j]]


def widened(two_bytes):
    return struct.unpack("<f", b"\0\0" + two_bytes)[0]


def attention(q, k, v):
    """Softmax attention of one query in double."""
    scores = [SCALE * math.fsum(a * b for a, b in zip(q, k.row(j))) for j in range(KEYS)]
    m = max(scores)
    p = [math.exp(s - m) for s in scores]
    l = math.fsum(p)
    values = [v.row(j) for j in range(KEYS)]
    return [math.fsum(p[j] * values[j][c] for j in range(KEYS)) / l for c in range(D)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "decode.safetensors")
    out = parser.parse_args().out
    tensors = captured(HERE / "smollm2_135m.safetensors", 1024)
    heads = range(len(tensors["q"]))
    q = [[bf16(x) for x in tensors["q"][h][KEYS - 1]] for h in heads]
    k, v = ([Cache(tensors[name][h][:KEYS]) for h in heads] for name in "kv")
    o = [[bf16(x) for x in attention([widened(x) for x in q[h]], k[h], v[h])] for h in heads]
    cached = lambda all_heads: bytes(b for cache in all_heads for row in cache.bytes for b in row)
    scales = lambda all_heads: struct.pack(f"<{len(heads)}f", *(cache.scale for cache in all_heads))
    parts = {"q": ("BF16", [len(heads), 1, D], b"".join(x for row in q for x in row)),
             "k": ("F8_E4M3", [len(heads), KEYS, D], cached(k)), "k_scale": ("F32", [len(heads)], scales(k)),
             "v": ("F8_E4M3", [len(heads), KEYS, D], cached(v)), "v_scale": ("F32", [len(heads)], scales(v)),
             "o": ("BF16", [len(heads), 1, D], b"".join(x for row in o for x in row))}
    write_safetensors(out, parts)


if __name__ == "__main__":
    main()
