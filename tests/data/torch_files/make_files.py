#!/usr/bin/env python3
"""Makes the files of this folder again: what torch.save writes. Numbers follow rules that tests/tensors/torch_file_test.cpp knows.

  VENV/bin/python tests/data/torch_files/make_files.py
"""
import collections
import pathlib

import torch

FOLDER = pathlib.Path(__file__).resolve().parent
B, N, H, D = 2, 6, 3, 4


class Config:
    """An object that no other program knows."""

    def __init__(self):
        self.heads = H


Config.__module__ = "my_model"


def numbers(first, *shape):
    """first, first + 1, ..., over 8."""
    count = 1
    for size in shape:
        count *= size
    return ((torch.arange(count, dtype=torch.float32) + first) / 8).reshape(shape)


def call():
    """q and k as views (batch, heads, n, d) of what lies as (batch, n, heads, d); k and v share a storage."""
    q = numbers(0, B, N, H, D).to(torch.bfloat16)
    kv = numbers(100, 2, B, N, H, D).to(torch.float16)
    return {
        "inputs": {"q": q.transpose(1, 2), "k": kv[0].transpose(1, 2), "v": kv[1].transpose(1, 2)},
        "outputs": [numbers(7, B, H, N, D), 3, "text"],
        "scale": 0.5, "mask": None, "meta": Config(), "shape": torch.Size([B, H, N, D]), "device": torch.device("cpu"),
        5: torch.arange(4, dtype=torch.int64),
    }


def types():
    """A tensor of every type."""
    small = torch.tensor([[0.0, 1.0, -1.5, 0.25]])
    named = {name: small.to(getattr(torch, name)) for name in (
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "int16", "int32", "int64")}
    named |= {name: small.abs().to(getattr(torch, name)) for name in ("uint8", "bool")}
    named |= {name: torch.tensor([[0, 1, 2, 3]]).to(getattr(torch, name)) for name in ("uint16", "uint32", "uint64")}
    named["expanded"] = torch.tensor([[2.0], [3.0]]).expand(2, 3)
    named["stepped"] = numbers(0, 4, 6)[1::2, ::3]
    named["turned"] = numbers(0, 2, 3).T
    named["empty"] = torch.zeros(0, 4)
    return named


def main():
    module = type("my_model", (), {"Config": Config})
    import sys
    sys.modules["my_model"] = module
    torch.save(call(), FOLDER / "call.pt")
    torch.save(call(), FOLDER / "old.pth", _use_new_zipfile_serialization=False)
    torch.save(types(), FOLDER / "types.pt")
    torch.save(numbers(1, N, D), FOLDER / "bare.pt")
    torch.save(numbers(1, N, D), FOLDER / "protocol_5.bin", pickle_protocol=5)
    layer = torch.nn.Linear(2, 3)
    with torch.no_grad():
        layer.weight.copy_(numbers(0, 3, 2))
        layer.bias.copy_(numbers(9, 3))
    torch.save(layer.state_dict(), FOLDER / "state.pth")
    torch.save(collections.OrderedDict(weight=torch.nn.Parameter(numbers(0, 3, 2))), FOLDER / "parameter.pt")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), FOLDER / "script.pt")


if __name__ == "__main__":
    main()
