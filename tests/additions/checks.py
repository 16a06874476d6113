"""Checks that the program built with the additions has each of them: an AssertionError names the missing addition."""
import json
import math
import os
import random
import struct
import subprocess


class Program:
    """The program and the tests of a build, run in a folder of their own."""

    def __init__(self, build, assets, folder):
        self.build, self.folder = build, folder
        self.environment = {**os.environ, "ATTOSCOPE_ASSETS": str(assets), "XDG_STATE_HOME": str(folder / "state"),
                            "XDG_CACHE_HOME": str(folder / "cache"), "LIBGL_ALWAYS_SOFTWARE": "1"}
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            self.environment.pop(name, None)

    def call(self, path, *arguments, code=0):
        done = subprocess.run([self.build / path, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == code, f"{path} {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def run(self, *arguments, code=0):
        return self.call("attoscope", *arguments, code=code)

    def answer(self, *arguments):
        """The JSON of `attoscope run`."""
        return json.loads(self.run("run", "--n", "64", "--d", "16", *arguments, "--json", "-"))

    def colours(self, session):
        """The pixels of the window that shows this session."""
        (self.folder / "session.json").write_text(json.dumps({"schema": "attoscope.session/1", **session}))
        self.run("render", "session.json", "--out", "window.png")
        pixels = subprocess.run(["convert", "window.png", "-depth", "8", "rgb:-"], cwd=self.folder, capture_output=True, check=True).stdout
        return {pixels[i:i + 3] for i in range(0, len(pixels), 3)}


def named_format(program):
    assert "main format fp24" in program.run("run", "--n", "64", "--d", "16", "--format", "fp24")


def rounding_step(program):
    digests = [program.answer("--set", f"a.denominator={rounding}")["digests"]["a"] for rounding in ("exact", "e4m1")]
    assert digests[0] != digests[1], "a rounded l before the division changes no bit"
    # All bits equal those of the plain transcription, also in the recorded tiles; policies that set all steps set this step, too.
    program.call("tests/kernels_tests", "--gtest_filter=Compute.AnswersHundreds*:Trace*:Policies.*")


def algorithm(program):
    assert program.answer("--algorithm", "first_max", "--block-k", "16")["rescales"]["effective_mean"] == 0, "first_max rescales"


def measure(program):
    errors = program.answer()["a"]
    assert math.isclose(errors["crest"], errors["max_abs"] / errors["rms"], rel_tol=1e-12), errors


def tensors(seed=1, n=32, d=16):
    """Q, K and V of small numbers, exact in fp16."""
    dice = random.Random(seed)
    return [[[dice.randrange(-256, 257) / 128 for _ in range(d)] for _ in range(n)] for _ in range(3)]


def attention(q, k, v):
    rows = []
    for query in q:
        weights = [math.exp(sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query))) for key in k]
        rows.append([sum(w * value[c] for w, value in zip(weights, v)) / sum(weights) for c in range(len(query))])
    return rows


def packed(matrix):
    return b"".join(struct.pack(f"<{len(row)}f", *row) for row in matrix)


def write_npy(path, matrix):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(matrix)}, {len(matrix[0])}), }}\n".encode().rjust(118)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + packed(matrix))


def write_call(program, output):
    q, k, v = tensors()
    for name, matrix in (("q", q), ("k", k), ("v", v), ("o", output(q, k, v))):
        write_npy(program.folder / f"{name}.npy", matrix)
    return "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "--o", "o.npy", "--format", "fp16"


def slip(program):
    call = write_call(program, lambda q, k, v: attention(q, [[-x for x in row] for row in k], v))
    assert "K with every sign flipped" in program.run("judge", *call, code=3)


def option(program):
    text = program.run("judge", *write_call(program, attention), "--note", "The tuesday kernel.")
    assert text.startswith("The tuesday kernel.\n"), text


def panel(program):
    swatch = bytes((18, 171, 52))
    assert swatch in program.colours({"view": {"show_swatch": True}}), "the window does not draw the panel"
    assert swatch not in program.colours({"view": {"show_swatch": False}}), "the panel's switch does nothing"


def lesson_view(program):
    colours = program.colours({"view": {"workspace": "learn"}, "lesson": {"name": "90-swatch"}})
    assert bytes((171, 18, 52)) in colours, "the lesson does not draw its view"


def named_figure(program):
    assert "two-tiles" in program.run("figure", "--list")
    program.run("figure", "two-tiles", "--n", "64", "--out", "two.svg")
    assert "With tiles of 16 keys the error is" in json.loads((program.folder / "two.json").read_text())["caption"]


def reader(program):
    for name, matrix in zip("qkv", tensors()):
        (program.folder / f"{name}.floats").write_bytes(packed(matrix))
        write_npy(program.folder / f"{name}.npy", matrix)
    digests = [json.loads(program.run("run", "--input", ",".join(f"{name}.{ending}" for name in "qkv"), "--json", "-"))["digests"]
               for ending in ("floats", "npy")]
    assert digests[0] == digests[1], digests
    (program.folder / "cut.floats").write_bytes(bytes(100))
    program.run("run", "--input", "cut.floats,cut.floats,cut.floats", code=1)
