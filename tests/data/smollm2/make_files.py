#!/usr/bin/env python3
"""Makes the files of this folder and of assets/texts again, from the file that app/fetch-model brings.

  python3 -m venv VENV && VENV/bin/pip install torch numpy tokenizers
  VENV/bin/python tests/data/smollm2/make_files.py "$(app/fetch-model)" CHRONICLE.txt

CHRONICLE.txt holds what chronicle() of kernels/train/plan/corpus.h returns. plain_model.py is the model in plain torch. Another processor or torch may round the run in bf16 elsewhere.
"""
import pathlib
import struct
import sys

import numpy
import plain_model
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
ASSETS = FOLDER.parents[2] / "assets"
LAYERS, ROWS = 2, 512
NUMBERED, MEASURED = 12, 512  # tokens whose logits and states are stored, and over which the run in bf16 is measured
SHIPPED = 1024  # tokens of a text


def tokenizer(keys):
    """The byte-level BPE of a .gguf's lists, by PyPI's tokenizers."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {name: i for i, name in enumerate(keys["tokenizer.ggml.tokens"])}
    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(m.split(" ")) for m in keys["tokenizer.ggml.merges"]]))
    bpe.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return bpe


def cut_keys(types, keys):
    """The metadata of the cut: fewer layers, the first tokens, and the merges that lead to them."""
    keys = dict(keys)
    keys["llama.block_count"] = LAYERS
    for name in ("tokens", "token_type", "scores"):
        if f"tokenizer.ggml.{name}" in keys:
            keys[f"tokenizer.ggml.{name}"] = keys[f"tokenizer.ggml.{name}"][:ROWS]
    if "llama.vocab_size" in keys:
        keys["llama.vocab_size"] = ROWS
    known = set(keys["tokenizer.ggml.tokens"])
    keys["tokenizer.ggml.merges"] = [m for m in keys["tokenizer.ggml.merges"] if m.replace(" ", "") in known]
    del keys["tokenizer.chat_template"]
    return {name: (types[name], value) for name, value in keys.items()}


def packed(kind, value):
    if kind == plain_model.TEXT:
        return struct.pack("<Q", len(value.encode())) + value.encode()
    if isinstance(kind, tuple):
        return struct.pack("<IQ", kind[1], len(value)) + b"".join(packed(kind[1], v) for v in value)
    return struct.pack("<" + plain_model.SCALARS[kind], value)


def write_cut(source, path):
    """Blocks of the weights as the source stores them."""
    body, index = b"", b""
    kept = {name: t for name, t in source.tensors.items()
            if name in ("token_embd.weight", "output_norm.weight") or any(name.startswith(f"blk.{i}.") for i in range(LAYERS))}
    for name, (shape, kind, raw) in kept.items():
        if name == "token_embd.weight":
            raw, shape = raw[:len(raw) // shape[0] * ROWS], (ROWS, *shape[1:])
        body += b"\0" * (-len(body) % 32)
        index += packed(plain_model.TEXT, name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, len(body))
        body += raw
    keys = cut_keys(source.types, source.keys)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(kept), len(keys))
    for name, (kind, value) in keys.items():
        head += packed(plain_model.TEXT, name) + struct.pack("<I", 9 if isinstance(kind, tuple) else kind) + packed(kind, value)
    head += index
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)


def main():
    source = plain_model.Gguf(sys.argv[1])
    texts = {"chronicle": pathlib.Path(sys.argv[2]).read_text()[:8 * SHIPPED], "licence": (ASSETS / "LICENSE").read_text()}
    for name, text in texts.items():
        numpy.save(ASSETS / "texts" / f"{name}.npy", numpy.array(tokenizer(source.keys).encode(text).ids[:SHIPPED], dtype="<i4"))
    write_cut(source, FOLDER / "cut.gguf")
    cut = plain_model.Gguf(FOLDER / "cut.gguf")
    tokens = tokenizer(cut.keys).encode(texts["chronicle"]).ids[:MEASURED]
    numpy.save(FOLDER / "tokens.npy", numpy.array(tokens, dtype="<i4"))
    logits, states = plain_model.exact(cut, tokens)
    numpy.save(FOLDER / "logits.npy", logits[:NUMBERED].numpy())
    numpy.save(FOLDER / "states.npy", torch.stack(states)[:, :NUMBERED].numpy())
    kl = " ".join(f"{plain_model.mean_kl(logits, x):.6g}" for x in plain_model.bf16(cut, tokens))
    (FOLDER / "bf16_kl.txt").write_text(kl + "\n")
    print(f"mean KL of bf16 {kl}, cut.gguf {(FOLDER / 'cut.gguf').stat().st_size} bytes")


if __name__ == "__main__":
    main()
