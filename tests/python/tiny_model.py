"""Random tiny models as files, and the same models in Python floats."""
import json
import math
import pathlib
import random
import struct

from support import write_safetensors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTH, INNER, LAYERS, HEADS, KV_HEADS, VOCABULARY = 24, 40, 3, 4, 2, 48
KINDS = ("llama", "qwen2", "qwen3", "gguf")


class TinyModel:
    """A model of one architecture: weights by Hugging Face's names, fp32 numbers as lists of rows."""

    def __init__(self, kind, seed, **config):
        self.kind, self.source = kind, random.Random(seed)
        self.head_dim = 8 if kind == "qwen3" else WIDTH // HEADS
        self.config = {"model_type": "llama" if kind == "gguf" else kind, "hidden_size": WIDTH, "intermediate_size": INNER,
                       "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
                       "vocab_size": VOCABULARY, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "max_position_embeddings": 64,
                       "tie_word_embeddings": kind in ("qwen2", "gguf"), "head_dim": self.head_dim, **config}
        self.tensors = self.made()
        self.metadata = []  # more keys of a .gguf

    def matrix(self, rows, cols, size):
        return [[f32(self.source.gauss(0, size)) for _ in range(cols)] for _ in range(rows)]

    def near_one(self, count):
        return [f32(1 + self.source.gauss(0, 0.2)) for _ in range(count)]

    def made(self):
        q, kv, d = HEADS * self.head_dim, KV_HEADS * self.head_dim, self.head_dim
        words = self.config["vocab_size"]
        tensors = {"model.embed_tokens.weight": self.matrix(words, WIDTH, 1), "model.norm.weight": self.near_one(WIDTH)}
        if not self.config["tie_word_embeddings"]:
            tensors["lm_head.weight"] = self.matrix(words, WIDTH, 0.5)
        for i in range(LAYERS):
            name = f"model.layers.{i}."
            for part, rows, cols in (("self_attn.q_proj", q, WIDTH), ("self_attn.k_proj", kv, WIDTH), ("self_attn.v_proj", kv, WIDTH),
                                     ("self_attn.o_proj", WIDTH, q), ("mlp.gate_proj", INNER, WIDTH), ("mlp.up_proj", INNER, WIDTH),
                                     ("mlp.down_proj", WIDTH, INNER)):
                tensors[name + part + ".weight"] = self.matrix(rows, cols, 1.5 / math.sqrt(cols))
            for part in ("input_layernorm", "post_attention_layernorm"):
                tensors[name + part + ".weight"] = self.near_one(WIDTH)
            if self.kind == "qwen2":
                for part, count in (("q", q), ("k", kv), ("v", kv)):
                    tensors[f"{name}self_attn.{part}_proj.bias"] = self.matrix(1, count, 0.5)[0]
            if self.kind == "qwen3":
                for part in "qk":
                    tensors[f"{name}self_attn.{part}_norm.weight"] = self.near_one(d)
        return tensors

    def write(self, folder, shards=1):
        """The checkpoint's path: a folder with config.json, or a .gguf."""
        folder = pathlib.Path(folder)
        if self.kind == "gguf":
            return self.write_gguf(folder / "tiny.gguf")
        (folder / "config.json").write_text(json.dumps(self.config))
        names = list(self.tensors)
        if shards == 1:
            write_safetensors(folder / "model.safetensors", {name: in_fp32(x) for name, x in self.tensors.items()})
            return str(folder)
        place = {name: f"model-{i % shards + 1}-of-{shards}.safetensors" for i, name in enumerate(names)}
        for file in set(place.values()):
            write_safetensors(folder / file, {name: in_fp32(x) for name, x in self.tensors.items() if place[name] == file})
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": place}))
        return str(folder)

    def write_gguf(self, path, tokenizer=None):
        """`tokenizer`: a tokenizer.json; its lists go into the metadata."""
        keys = [("general.architecture", "llama"), ("llama.embedding_length", WIDTH), ("llama.block_count", LAYERS),
                ("llama.feed_forward_length", INNER), ("llama.attention.head_count", HEADS), ("llama.attention.head_count_kv", KV_HEADS),
                ("llama.attention.layer_norm_rms_epsilon", 1e-5), ("llama.rope.freq_base", 1e4), *self.metadata]
        head, data = b"", b""
        if tokenizer:
            added = {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
            names = sorted({**tokenizer["model"]["vocab"], **added}.items(), key=lambda item: item[1])
            merges = [m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]]
            keys += [("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", "smollm"), ("tokenizer.ggml.tokens", [n for n, _ in names]),
                     ("tokenizer.ggml.merges", merges), ("tokenizer.ggml.token_type", [3 if n in added else 1 for n, _ in names])]
        for key, value in keys:
            head += gguf_text(key)
            if isinstance(value, list):
                texts = isinstance(value[0], str)
                head += struct.pack("<IIQ", 9, 8 if texts else 5, len(value))
                head += b"".join(gguf_text(v) if texts else struct.pack("<i", v) for v in value)
                continue
            head += (struct.pack("<I", 8) + gguf_text(value) if isinstance(value, str) else
                     struct.pack("<II", 4, value) if isinstance(value, int) else struct.pack("<If", 6, value))
        for name, x in self.tensors.items():
            rows = x if isinstance(x[0], list) else [x]
            shape = [len(rows[0])] + ([len(x)] if isinstance(x[0], list) else [])
            head += gguf_text(gguf_name(name)) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
            data += struct.pack(f"<{len(rows) * shape[0]}f", *(v for row in rows for v in row))
            data += b"\0" * (-len(data) % 32)
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(keys)) + head
        path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
        return str(path)

    # --- the same models in Python floats ---

    def frequencies(self):
        """(of each pair, the factor of cos and sin), under the config's scaling"""
        scaling, theta, d = self.config.get("rope_scaling") or {}, self.config["rope_theta"], self.head_dim
        kind, factor, original = scaling.get("rope_type"), scaling.get("factor"), scaling.get("original_max_position_embeddings")
        if kind == "dynamic":
            length = max(self.length, self.config["max_position_embeddings"])
            theta *= (factor * length / self.config["max_position_embeddings"] - factor + 1) ** (d / (d - 2))
        plain = [theta ** (-2 * i / d) for i in range(d // 2)]
        if kind == "linear":
            return [f / factor for f in plain], 1
        if kind == "llama3":
            return [self.llama3(f, scaling, factor, original) for f in plain], 1
        if kind == "yarn":
            low, high = (d * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta)) for turns in (32, 1))
            low, high = max(math.floor(low), 0), min(math.ceil(high), d - 1)
            ramp = [min(max((i - low) / (high - low), 0), 1) for i in range(d // 2)]
            return [f / factor * r + f * (1 - r) for f, r in zip(plain, ramp)], 0.1 * math.log(factor) + 1
        if kind == "longrope":
            by = scaling["long_factor" if self.length > original else "short_factor"]
            ratio = self.config["max_position_embeddings"] / original
            return [f / x for f, x in zip(plain, by)], math.sqrt(1 + math.log(ratio) / math.log(original))
        return plain, 1

    @staticmethod
    def llama3(f, scaling, factor, original):
        low, high, length = scaling["low_freq_factor"], scaling["high_freq_factor"], 2 * math.pi / f
        if length < original / high:
            return f
        if length > original / low:
            return f / factor
        smooth = (original / length - low) / (high - low)
        return (1 - smooth) * f / factor + smooth * f

    def turned(self, head, position):
        """A head's columns after the rotary embedding."""
        frequencies, factor = self.frequencies()
        half, y = self.head_dim // 2, list(head)
        for i, frequency in enumerate(frequencies):
            p, q = (2 * i, 2 * i + 1) if self.kind == "gguf" else (i, i + half)
            cos, sin = math.cos(position * frequency) * factor, math.sin(position * frequency) * factor
            y[p], y[q] = head[p] * cos - head[q] * sin, head[q] * cos + head[p] * sin
        return y

    def norm(self, x, weight):
        epsilon = f32(1e-5) if self.kind == "gguf" else self.config["rms_norm_eps"]
        rms = math.sqrt(sum(v * v for v in x) / len(x) + epsilon)
        return [v / rms * w for v, w in zip(x, weight)]

    def heads_of(self, name, part, rows, count):
        """[head][token][column] of a projection, with bias, norm and rotary embedding."""
        bias, norm = (self.tensors.get(f"{name}self_attn.{part}_{what}") for what in ("proj.bias", "norm.weight"))
        projected = [times(self.tensors[f"{name}self_attn.{part}_proj.weight"], row, bias) for row in rows]
        heads = [[row[h * self.head_dim:(h + 1) * self.head_dim] for row in projected] for h in range(count)]
        if norm:
            heads = [[self.norm(x, norm) for x in head] for head in heads]
        return heads if part == "v" else [[self.turned(x, i) for i, x in enumerate(head)] for head in heads]

    def run(self, tokens):
        """(logits, [the embedding and the state after each layer])"""
        self.length = len(tokens)
        x = [list(self.tensors["model.embed_tokens.weight"][t]) for t in tokens]
        states = [[list(row) for row in x]]
        for layer in range(LAYERS):
            name = f"model.layers.{layer}."
            y = [self.norm(row, self.tensors[name + "input_layernorm.weight"]) for row in x]
            q, k, v = self.heads_of(name, "q", y, HEADS), self.heads_of(name, "k", y, KV_HEADS), self.heads_of(name, "v", y, KV_HEADS)
            out = [attention(q[h], k[h * KV_HEADS // HEADS], v[h * KV_HEADS // HEADS]) for h in range(HEADS)]
            for i, row in enumerate(x):
                add(row, times(self.tensors[name + "self_attn.o_proj.weight"], [c for head in out for c in head[i]]))
                z = self.norm(row, self.tensors[name + "post_attention_layernorm.weight"])
                gate, up = (times(self.tensors[f"{name}mlp.{part}_proj.weight"], z) for part in ("gate", "up"))
                add(row, times(self.tensors[name + "mlp.down_proj.weight"], [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]))
            states.append([list(row) for row in x])
        head = self.tensors.get("lm_head.weight", self.tensors["model.embed_tokens.weight"])
        return [times(head, self.norm(row, self.tensors["model.norm.weight"])) for row in x], states


def attention(q, k, v):
    """Causal attention of one head."""
    rows = []
    for i, row in enumerate(q):
        scores = [sum(a * b for a, b in zip(row, k[j])) / math.sqrt(len(row)) for j in range(i + 1)]
        weights = [math.exp(s - max(scores)) for s in scores]
        rows.append([sum(w * v[j][c] for j, w in enumerate(weights)) / sum(weights) for c in range(len(row))])
    return rows


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def times(matrix, x, bias=None):
    y = [sum(a * b for a, b in zip(row, x)) for row in matrix]
    return y if bias is None else [a + b for a, b in zip(y, bias)]


def add(row, more):
    for i, v in enumerate(more):
        row[i] += v


def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_name(name):
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.layers": "blk",
             "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attn_output",
             "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "mlp.gate_proj": "ffn_gate",
             "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    for long, short in names.items():
        name = name.replace(long, short)
    return name


def in_fp32(x):
    """(type, shape, bytes) of a list, or of a list of rows."""
    rows = x if isinstance(x[0], list) else [x]
    shape = [len(x), len(x[0])] if isinstance(x[0], list) else [len(x)]
    return "F32", shape, struct.pack(f"<{len(rows) * len(rows[0])}f", *(v for row in rows for v in row))


def write_tokens(path, tokens):
    head = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(tokens)},), }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(tokens)}i", *tokens))
    return str(path)


def read_npy(path):
    """(shape, numbers) of float32 or float64"""
    raw = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<H", raw[8:10])
    header = eval(raw[10:10 + length])  # noqa: S307: a dictionary that the program wrote
    body, letter = raw[10 + length:], {"<f4": "f", "<f8": "d"}[header["descr"]]
    return header["shape"], struct.unpack(f"<{len(body) // (4 if letter == 'f' else 8)}{letter}", body)
