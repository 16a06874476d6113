#!/usr/bin/env python3
"""Makes the tokenizers of this folder, and the tokens that the package `tokenizers` (0.23.3) gives of text.txt.

    pip install tokenizers==0.23.3 && tests/data/tokenizers/make_files.py
"""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
RULES = {"gpt2": GPT2, "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), GPT2]),
         "llama3": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), BYTES]),
         "qwen2": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"), BYTES])}
WORDS = ("the licence says that it's free; they'll keep 1234567 copies, we've 12 of them\n\n\nint main() { return x1 + 42; }\n" * 3 +
         "café naïve ÷ 3½ — “quoted” THE End'S I'M   tabs\t\tand  spaces \r\n  last")


def main():
    text = (HERE / "text.txt").read_text()
    found = {}
    for name, rule in RULES.items():
        t = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
        t.pre_tokenizer = rule
        if name == "qwen2":
            t.normalizer = normalizers.NFC()
        t.train_from_iterator([WORDS], trainers.BpeTrainer(
            vocab_size=360, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=[AddedToken("<|end|>", special=True), AddedToken("<|end|>>", special=True)]))
        t.save(str(HERE / f"{name}.json"), pretty=False)
        found[name] = t.encode(text).ids
    (HERE / "tokens.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
