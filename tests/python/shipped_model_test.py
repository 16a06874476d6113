"""The shipped part of SmolLM2, two layers and 512 rows of the vocabulary, compared with shipped numbers of plain torch."""
import csv
import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

from model_test import Model
from support import ROOT
from tiny_model import read_npy

from attoscope import program

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


class FigureOfTheModel(Model):
    def draw(self, folder, *options):
        words = [program.program(), "figure", "language-model", "--out", os.path.join(folder, "f.svg"), "--quiet", *options]
        return subprocess.run(words, env={**os.environ, "XDG_CACHE_HOME": folder}, capture_output=True, text=True, timeout=300)

    def test_without_the_model_it_says_how_to_get_one(self):
        done = self.draw(self.folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("app/fetch-model brings it", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_it_takes_tokens_alone(self):
        for option in (["--policy", "hw"], ["--d", "16"], ["--seeds", "1"], ["--all-policies"]):
            self.assertIn("takes --n alone", self.draw(self.folder, *option).stderr)

    def test_its_numbers_are_those_of_the_command(self):
        place = pathlib.Path(self.folder) / "attoscope" / "models" / PLACE.name
        place.parent.mkdir(parents=True)
        place.symlink_to(CUT)
        done = self.draw(self.folder, "--n", "48")
        with open(os.path.join(self.folder, "f.csv"), newline="") as file:
            drawn = [(row["x"], float(row["y"])) for row in csv.DictReader(file)]
        expected = []
        for key in ("kl_mean", "dlogp_median_abs", "top1_flips"):
            for name in ("hw", "eager", "all_direct", "sage2", "fa3_fp8", "nvfp4"):
                expected.append((name, self.run_of(name)["a"][key]))
            expected += [(name, self.run_of("hw")["yardsticks"][name][key]) for name in ("bf16", "order")]
        self.assertEqual(drawn, expected)
        self.assertIn("over 48 tokens of the chronicle", done.stdout or json.loads(pathlib.Path(self.folder, "f.json").read_text())["caption"])

    @functools.cache  # noqa: B019: of one test
    def run_of(self, name):
        method = ("--policy", name, "--format", "bf16") if name in ("hw", "eager", "all_direct") else ("--like", name)
        return self.run_model(CUT, "--limit", "48", *method, read=("--text", "chronicle"))[0]


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
        _, _, save = self.run_model(str(PLACE), "--limit", str(count), read=("--tokens", str(source)))
        file = plain_model.Gguf(PLACE)
        logits, states = plain_model.exact(file, tokens)
        self.assertLess(largest_difference(read_npy(save / "logits_exact.npy")[1], logits.flatten().tolist()), 1e-10)
        self.assertLess(largest_difference(read_npy(save / "hidden_exact.npy")[1], [v for s in states for v in s.flatten().tolist()]), 1e-10)
        source, count = ROOT / "assets" / "texts" / "chronicle.npy", 512  # over fewer tokens single tokens decide the mean
        tokens = self.tokens_of(source, count)
        kl = plain_model.mean_kl(plain_model.exact(file, tokens)[0], plain_model.bf16(file, tokens)[0])
        answer, _, _ = self.run_model(str(PLACE), "--limit", str(count), *BF16, read=("--tokens", str(source)))
        self.assertAlmostEqual(answer["a"]["kl_mean"], kl, delta=0.2 * kl)
        for text in ("licence", "chronicle"):  # the shipped tokens equal the program's tokens
            shipped = self.run_model(str(PLACE), "--limit", "64", read=("--tokens", str(ROOT / "assets" / "texts" / f"{text}.npy")))[0]
            self.assertEqual(self.run_model(str(PLACE), "--limit", "64", read=("--text", text))[0], shipped)

    def tokens_of(self, path, count):
        import numpy

        return numpy.load(path)[:count].tolist()


del Model  # else it is loaded here once more
if __name__ == "__main__":
    unittest.main()
