"""`attoscope model`: the exact model against the same in Python's own arithmetic, and what its answer says."""
import json
import math
import os
import pathlib
import random
import subprocess
import unittest

import tiny_model
from support import Case
from tiny_model import HEADS, KINDS, LAYERS, VOCABULARY, WIDTH, TinyModel, read_npy, write_tokens

from attoscope import program

TOKENS = [random.Random(5).randrange(VOCABULARY) for _ in range(21)]


class Model(Case):
    def run_model(self, model, *options, code=0, shards=1, tokens=TOKENS, **environment):
        """(answer, error, the folder of --save)"""
        folder = pathlib.Path(self.made_folder())
        checkpoint = model if isinstance(model, str) else model.write(folder, shards)
        save = folder / "save"
        words = [program.program(), "model", checkpoint, "--tokens", write_tokens(folder / "t.npy", tokens), "--json", "-",
                 "--save", str(save), "--policy", "hw", "--baseline", "base_eager", *options]
        done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else None, done.stderr, save

    def assert_near(self, found, expected, most):
        shape, numbers = found
        self.assertEqual(len(numbers), len(expected))
        self.assertEqual(math.prod(shape), len(expected))
        self.assertLess(max(abs(x - y) for x, y in zip(numbers, expected)), most)


class ExactModel(Model):
    def assert_exact(self, model, shards=1):
        answer, _, save = self.run_model(model, shards=shards)
        logits, states = model.run(TOKENS)
        largest = max(abs(x) for row in logits for x in row)
        self.assert_near(read_npy(save / "logits_exact.npy"), [x for row in logits for x in row], 1e-10 * largest)
        self.assert_near(read_npy(save / "hidden_exact.npy"), [x for state in states for row in state for x in row], 1e-10 * largest)
        self.assertEqual(read_npy(save / "hidden_exact.npy")[0], (LAYERS + 1, len(TOKENS), WIDTH))
        loss = 0
        for row, target in zip(logits, TOKENS[1:]):
            loss += (math.log(sum(math.exp(x) for x in row)) - row[target]) / (len(TOKENS) - 1)
        self.assertAlmostEqual(answer["exact"]["nll"], loss, 10)
        self.assertEqual(answer["parameters"], sum(len(x) * (len(x[0]) if isinstance(x[0], list) else 1) for x in model.tensors.values()))

    def test_every_layout_is_the_plain_model(self):
        for seed, kind in enumerate(KINDS):
            with self.subTest(kind):
                self.assert_exact(TinyModel(kind, seed))

    def test_shards_are_one_model(self):
        self.assert_exact(TinyModel("llama", 7), shards=3)

    def test_every_scaling_of_the_rotary_embedding(self):
        pairs = WIDTH // HEADS // 2
        for scaling, longest in (({"rope_type": "linear", "factor": 3.0}, 64), ({"rope_type": "dynamic", "factor": 4.0}, 16),
                                 ({"rope_type": "dynamic", "factor": 4.0}, 64),
                                 ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                   "original_max_position_embeddings": 96}, 1024),
                                 ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}, 2048),
                                 ({"rope_type": "longrope", "short_factor": [1.5] * pairs, "long_factor": [2.0, 5.0, 9.0],
                                   "original_max_position_embeddings": 16}, 64),
                                 ({"rope_type": "longrope", "short_factor": [1.5, 1.25, 2.0], "long_factor": [2.0] * pairs,
                                   "original_max_position_embeddings": 32}, 64)):
            with self.subTest(scaling["rope_type"], longest=longest):
                self.assert_exact(TinyModel("llama", 3, rope_scaling=scaling, max_position_embeddings=longest))

    def test_the_same_bits_on_every_instruction_set_and_number_of_threads(self):
        for kind, around in (("qwen3", "exact"), ("qwen2", "hf_bf16"), ("llama", "fp32,norm=e5m7")):
            seen = set()
            for isa, threads in (("sse2", 2), ("avx2", 1), ("avx512", 2), ("avx512", 1)):
                try:
                    answer, _, save = self.run_model(TinyModel(kind, 11), "--around", around, "--threads", str(threads), "--format", "fp16",
                                                     ATTOSCOPE_ISA=isa)
                except AssertionError as error:
                    if "ATTOSCOPE_ISA is" in str(error):
                        continue
                    raise
                seen.add((json.dumps(answer), *((save / f).read_bytes() for f in sorted(os.listdir(save)))))
            self.assertEqual(len(seen), 1, (kind, around))


if __name__ == "__main__":
    unittest.main()
