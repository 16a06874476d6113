"""A model of the layout Llama in a .gguf, in plain torch: exactly, in float64, and in bf16 as the modules of Hugging Face run it."""
import pathlib
import struct

import numpy
import torch

TEXT = 8
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
BLOCKS = {0: (1, 4), 1: (1, 2), 3: (32, 20), 8: (32, 34)}  # F32, F16, Q4_1, Q8_0: numbers and bytes of a block


class Gguf:
    """keys, their types, and tensors: name: (shape, kind, bytes), rows first."""

    def __init__(self, path):
        self.raw, self.at = pathlib.Path(path).read_bytes(), 8
        count, key_count = self.scalar(10), self.scalar(10)
        self.keys, self.types, places = {}, {}, {}
        for _ in range(key_count):
            name = self.value(TEXT)
            kind = self.scalar(4)
            if kind == 9:
                kind = (9, self.scalar(4))
            self.types[name], self.keys[name] = kind, self.value(kind)
        for _ in range(count):
            name = self.value(TEXT)
            shape = [self.scalar(10) for _ in range(self.scalar(4))]
            places[name] = (tuple(reversed(shape)), self.scalar(4), self.scalar(10))
        begin = -(-self.at // 32) * 32
        self.tensors = {}
        for name, (shape, kind, offset) in places.items():
            numbers, size = BLOCKS[kind]
            length = int(numpy.prod(shape)) // numbers * size
            self.tensors[name] = (shape, kind, self.raw[begin + offset:begin + offset + length])

    def scalar(self, kind):
        value, = struct.unpack_from("<" + SCALARS[kind], self.raw, self.at)
        self.at += struct.calcsize("<" + SCALARS[kind])
        return value

    def value(self, kind):
        if kind == TEXT:
            length = self.scalar(10)
            self.at += length
            return self.raw[self.at - length:self.at].decode()
        if isinstance(kind, tuple):
            return [self.value(kind[1]) for _ in range(self.scalar(10))]
        return self.scalar(kind)

    def weights(self, name):
        """A tensor in fp32: a product, then a sum."""
        shape, kind, raw = self.tensors[name]
        if kind in (0, 1):
            x = numpy.frombuffer(raw, "<f4" if kind == 0 else "<f2").astype("<f4")
        else:
            blocks = numpy.frombuffer(raw, numpy.uint8).reshape(-1, BLOCKS[kind][1])
            scale = blocks[:, :2].copy().view("<f2").astype("<f4")
            if kind == 8:
                x = blocks[:, 2:].view(numpy.int8).astype("<f4") * scale
            else:
                quarters = numpy.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1).astype("<f4")
                x = quarters * scale + blocks[:, 2:4].copy().view("<f2").astype("<f4")
        return torch.from_numpy(x.reshape(shape).copy())


class Sizes:
    def __init__(self, file):
        keys = file.keys
        self.layers, self.heads, self.kv_heads = keys["llama.block_count"], keys["llama.attention.head_count"], keys["llama.attention.head_count_kv"]
        self.d = keys["llama.embedding_length"] // self.heads
        self.epsilon, self.theta = keys["llama.attention.layer_norm_rms_epsilon"], keys["llama.rope.freq_base"]


def exact(file, tokens):
    """(logits, [the embedding and the state after each layer]), everything in float64."""
    s = Sizes(file)
    w = lambda name: file.weights(name + ".weight").double()  # noqa: E731
    angles = torch.outer(torch.arange(len(tokens)).double(), s.theta ** (-torch.arange(0, s.d, 2).double() / s.d))
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    below = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()

    def norm(x, name):
        return x / (x.square().mean(-1, keepdim=True) + s.epsilon).sqrt() * w(name)

    def turned(x):
        p, q = x[..., 0::2], x[..., 1::2]
        return torch.stack([p * cos - q * sin, q * cos + p * sin], -1).flatten(-2)

    x = w("token_embd")[tokens]
    states = [x]
    for layer in range(s.layers):
        name = f"blk.{layer}."
        y = norm(x, name + "attn_norm")
        q, k, v = ((y @ w(f"{name}attn_{part}").T).unflatten(-1, (-1, s.d)) for part in "qkv")
        k, v = (t.repeat_interleave(s.heads // s.kv_heads, 1) for t in (turned(k), v))
        scores = torch.einsum("ihd,jhd->hij", turned(q), k) / s.d ** 0.5
        p = torch.softmax(scores.masked_fill(~below, float("-inf")), -1)
        x = x + torch.einsum("hij,jhd->ihd", p, v).flatten(1) @ w(name + "attn_output").T
        y = norm(x, name + "ffn_norm")
        gate = y @ w(name + "ffn_gate").T
        x = x + (gate / (1 + torch.exp(-gate)) * (y @ w(name + "ffn_up").T)) @ w(name + "ffn_down").T
        states.append(x)
    return norm(x, "output_norm") @ w("token_embd").T, states


def bf16(file, tokens):
    """Logits of the model in bf16 with eager attention, as they are and unrounded: one torch operation for each of the modules' operations."""
    s = Sizes(file)
    bf = torch.bfloat16
    w = lambda name: file.weights(name + ".weight").to(bf)  # noqa: E731
    frequencies = 1 / s.theta ** (torch.arange(0, s.d, 2).float() / s.d)
    angles = torch.outer(torch.arange(len(tokens)).float(), frequencies)
    cos, sin = (t.repeat_interleave(2, -1).to(bf)[:, None] for t in (angles.cos(), angles.sin()))
    hidden = torch.full((len(tokens), len(tokens)), torch.finfo(bf).min, dtype=bf).triu(1)

    def norm(x, name):
        wide = x.float()
        return w(name) * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + s.epsilon)).to(bf)

    def turned(x):
        return x * cos + torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2) * sin

    x = w("token_embd")[tokens]
    for layer in range(s.layers):
        name = f"blk.{layer}."
        y = norm(x, name + "attn_norm")
        q, k, v = ((y @ w(f"{name}attn_{part}").T).unflatten(-1, (-1, s.d)) for part in "qkv")
        k, v = (t.repeat_interleave(s.heads // s.kv_heads, 1).transpose(0, 1) for t in (turned(k), v))
        scores = turned(q).transpose(0, 1) @ k.transpose(1, 2) * s.d ** -0.5 + hidden
        out = torch.softmax(scores, -1, dtype=torch.float32).to(bf) @ v
        x = x + out.transpose(0, 1).flatten(1) @ w(name + "attn_output").T
        y = norm(x, name + "ffn_norm")
        x = x + (torch.nn.functional.silu(y @ w(name + "ffn_gate").T) * (y @ w(name + "ffn_up").T)) @ w(name + "ffn_down").T
    last = norm(x, "output_norm")
    return last @ w("token_embd").T, last.float() @ w("token_embd").float().T


def mean_kl(reference, other):
    """Mean over the tokens of KL(reference || other), nats."""
    p, q = (torch.log_softmax(x.double(), -1) for x in (reference, other))
    return (p.exp() * (p - q)).sum(-1).mean().item()
