"""The shipped cut of SmolLM2, two layers and 512 rows of the vocabulary, against the shipped numbers of plain torch."""
import importlib.util
import os
import pathlib
import sys
import unittest

from model_test import Model
from support import ROOT
from tiny_model import read_npy

DATA = ROOT / "tests" / "data" / "smollm2"
CUT = str(DATA / "cut.gguf")
NUMBERED, ROWS, WIDTH, LAYERS = 12, 512, 576, 2
PLACE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "attoscope" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "numpy"))
BF16 = ("--around", "hf_bf16", "--policy", "base_eager")


def largest_difference(x, y):
    return max(abs(a - b) for a, b in zip(x, y, strict=True)) / max(map(abs, y))


def shipped_kl():
    return [float(kl) for kl in (DATA / "bf16_kl.txt").read_text().split()]


class ShippedCut(Model):
    def run_cut(self, *options, text=str(DATA / "tokens.npy"), limit=NUMBERED):
        kind = "--tokens" if text.endswith(".npy") else "--text"
        return self.run_model(CUT, "--limit", str(limit), *options, read=(kind, text))

    def test_the_exact_model_is_that_of_plain_torch(self):
        answer, _, save = self.run_cut("--around", "exact,pairs=halves", "--format", "fp64", "--policy", "exact")
        self.assertEqual(answer["parameters"], 7375680)
        for ours, theirs, shape in (("logits_exact", "logits", (NUMBERED, ROWS)), ("hidden_exact", "states", (LAYERS + 1, NUMBERED, WIDTH))):
            (found, numbers), (expected, torchs) = read_npy(save / f"{ours}.npy"), read_npy(DATA / f"{theirs}.npy")
            self.assertEqual((found, expected), (shape, shape))
            self.assertLess(largest_difference(numbers, torchs), 1e-10)
        self.assertGreater(largest_difference(read_npy(save / "logits_a.npy")[1], read_npy(DATA / "logits.npy")[1]), 1e-2)  # halves are wrong

    def test_bf16_is_as_far_from_exact_as_torchs(self):
        for kl, around in zip(shipped_kl(), ("hf_bf16", "hf_bf16,logits=fp32"), strict=True):
            answer, _, _ = self.run_cut("--around", around, "--policy", "base_eager", limit=512)
            self.assertAlmostEqual(answer["a"]["kl_mean"], kl, delta=0.1 * kl)  # 0.02 kl as they were shipped
            self.assertEqual(answer["a"] == answer["yardsticks"]["bf16"], around == "hf_bf16")
        finer, _, _ = self.run_cut("--around", "hf_bf16,logits=fp32,projection=fp32", "--policy", "base_eager", limit=512)
        self.assertGreater(abs(finer["a"]["kl_mean"] - kl), 0.15 * kl)  # one step without its rounding is told apart

    def test_a_shipped_text_has_the_shipped_tokens(self):
        self.assertEqual(self.run_cut(text="chronicle", limit=512)[0], self.run_cut(limit=512)[0])
        self.assertNotEqual(self.run_cut(text="licence", limit=512)[0], self.run_cut(limit=512)[0])


@unittest.skipUnless(HAS_TORCH, "torch and numpy are not installed: nobody recomputed the numbers of SmolLM2 that ship")
class PlainTorch(Model):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, str(DATA))
        self.addCleanup(sys.path.remove, str(DATA))

    def test_the_shipped_numbers_are_torchs(self):
        import plain_model

        file = plain_model.Gguf(CUT)
        tokens = self.tokens_of(DATA / "tokens.npy", 512)
        logits, states = plain_model.exact(file, tokens)
        self.assertLess(largest_difference(read_npy(DATA / "logits.npy")[1], logits[:NUMBERED].flatten().tolist()), 1e-12)
        shipped = [v for state in states for v in state[:NUMBERED].flatten().tolist()]
        self.assertLess(largest_difference(read_npy(DATA / "states.npy")[1], shipped), 1e-12)
        for kl, run in zip(shipped_kl(), plain_model.bf16(file, tokens), strict=True):
            self.assertAlmostEqual(plain_model.mean_kl(logits, run), kl, delta=0.1 * kl)

    @unittest.skipUnless(PLACE.is_file(), "app/fetch-model has not brought SmolLM2-135M: nobody compared the whole model with torch")
    def test_the_whole_model_is_torchs(self):
        import plain_model

        source, count = ROOT / "assets" / "texts" / "licence.npy", 128
        tokens = self.tokens_of(source, count)
        answer, _, save = self.run_model(str(PLACE), "--limit", str(count), *BF16, read=("--tokens", str(source)))
        file = plain_model.Gguf(PLACE)
        logits, states = plain_model.exact(file, tokens)
        self.assertLess(largest_difference(read_npy(save / "logits_exact.npy")[1], logits.flatten().tolist()), 1e-10)
        self.assertLess(largest_difference(read_npy(save / "hidden_exact.npy")[1], [v for s in states for v in s.flatten().tolist()]), 1e-10)
        kl = plain_model.mean_kl(logits, plain_model.bf16(file, tokens)[0])
        self.assertAlmostEqual(answer["a"]["kl_mean"], kl, delta=0.2 * kl)
        for text in ("licence", "chronicle"):  # the shipped tokens are the program's
            shipped = self.run_model(str(PLACE), "--limit", "64", read=("--tokens", str(ROOT / "assets" / "texts" / f"{text}.npy")))[0]
            self.assertEqual(self.run_model(str(PLACE), "--limit", "64", read=("--text", text))[0], shipped)

    def tokens_of(self, path, count):
        import numpy

        return numpy.load(path)[:count].tolist()


del Model  # else it is loaded here once more
if __name__ == "__main__":
    unittest.main()
