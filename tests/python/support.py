"""Helpers of the tests of the Python package."""
import ctypes
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAND_IN = str(HERE / "stand_in.py")

VERDICT = {
    "attoscope": "0.1.0", "verdict": "wrong", "ok": False, "format": "bf16", "stored": "F64", "n": 4, "d": 2, "heads": 1, "elements": 8,
    "sentences": ["Wrong: the causal mask is one key too <wide>.", "3 of 8 elements are suspect.", "Try row 1."],
    "derivation": ["half an ulp"], "suspects": 3, "command": "attoscope judge", "family": [{"rival": "hw", "max_abs": 0.1, "rms": 0.01}],
    "table": [{"head": 0, "verdict": "wrong", "ratio": 7.25, "suspects": 3, "elements": 8, "nonfinite": 0, "max_abs": 0.5, "rms": 0.2,
               "where": "in rows 1 to 3", "keys": [[0, 15], [40, 40]], "first_row": 1, "slip": {"kind": "mask", "text": "one key too wide"}}],
}
ROUNDED = {**VERDICT, "verdict": "rounded", "ok": True, "suspects": 0, "table": [{**VERDICT["table"][0], "verdict": "rounded", "slip": None}]}


class Case(unittest.TestCase):
    """A test with its own folder for temporary files, which must be empty at the end; the stand-in program on request."""

    def setUp(self):
        self.folder = self.made_folder()
        self.temporary = self.made_folder()
        self.set(TMPDIR=self.temporary)
        tempfile.tempdir = None
        self.addCleanup(setattr, tempfile, "tempdir", None)
        self.addCleanup(lambda: self.assertEqual(self.left(), [], "temporary files are left"))

    def left(self):
        """Remaining temporary files, without torch's own cache."""
        return [name for name in os.listdir(self.temporary) if not name.startswith("torchinductor")]

    def made_folder(self):
        made = tempfile.TemporaryDirectory(prefix="attoscope-test-")
        self.addCleanup(made.cleanup)
        return made.name

    def set(self, **variables):
        patch = mock.patch.dict(os.environ, {name: str(value) for name, value in variables.items()})
        patch.start()
        self.addCleanup(patch.stop)

    def stand_in(self, out="", code=0, **told):
        """Makes the stand-in the program from here on; it prints a dict as JSON."""
        self.log = os.path.join(self.folder, "log")
        text = out if isinstance(out, str) else json.dumps(out)
        self.set(ATTOSCOPE=STAND_IN, STAND_IN_OUT=text, STAND_IN_CODE=code, STAND_IN_LOG=self.log)
        self.set(**{"STAND_IN_" + name.upper(): value for name, value in told.items()})

    def commands(self):
        """The arguments of each command of the stand-in."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as log:
            return [json.loads(line)["arguments"] for line in log]

    def sentence_of(self, kind, function, *arguments, **keywords):
        """The message of the exception of this kind: one sentence in one line."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **keywords)
        said = str(caught.exception)
        self.assertTrue(said and "\n" not in said, said)
        return said


class FakeTorch:
    """The interface of a torch tensor that this package uses, over bytes."""

    def __init__(self, dtype, shape, data, device="cuda:0", failure=None):
        self.dtype, self.shape, self.device = "torch." + dtype, shape, device
        self.data, self.failure = data, failure
        self.buffer = ctypes.create_string_buffer(data, max(1, len(data)))

    def detach(self):
        return self

    def to(self, device):
        if self.failure:
            raise RuntimeError(self.failure)
        return FakeTorch(self.dtype[6:], self.shape, self.data, device)

    def contiguous(self):
        return self

    def element_size(self):
        return len(self.data) // math.prod(self.shape)

    def data_ptr(self):
        if self.device != "cpu":
            raise AssertionError("the bytes of a device tensor were requested")
        return ctypes.addressof(self.buffer)


def random_matrix(n, d, seed):
    source = random.Random(seed)
    return [[struct.unpack("<f", struct.pack("<f", source.gauss(0, 1)))[0] for _ in range(d)] for _ in range(n)]


def plain_attention(q, k, v, mask="none", scale=None, slope=0.0, sink=None):
    """Attention of lists [n][d] in Python floats; the last query is at the last key."""
    scale = 1 / math.sqrt(len(q[0])) if scale is None else scale
    rows = []
    for i, row in enumerate(q):
        at = i + len(k) - len(q)
        keys = range(at + 1) if mask == "causal" else range(len(k)) if isinstance(mask, str) else [j for j in range(len(k)) if mask[i][j]]
        scores = [scale * sum(map(float.__mul__, row, k[j])) - slope * abs(at - j) for j in keys]
        top = max(scores)
        weights = [math.exp(score - top) for score in scores]
        total = sum(weights) + (0 if sink is None else math.exp(sink - top))
        rows.append([sum(w * v[j][c] for w, j in zip(weights, keys)) / total for c in range(len(v[0]))])
    return rows


def read_safetensors(file):
    """({name: (type, shape, bytes)}, metadata), read without the package."""
    raw = pathlib.Path(file).read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    metadata = header.pop("__metadata__", {})
    body = raw[8 + length:]
    assert length % 8 == 0 and len(body) == max(entry["data_offsets"][1] for entry in header.values())
    return {name: (e["dtype"], e["shape"], body[slice(*e["data_offsets"])]) for name, e in header.items()}, metadata


def write_safetensors(file, tensors):
    """Writes {name: (type, shape, bytes)} as .safetensors without the package; returns the file."""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    pathlib.Path(file).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))
    return file


def python(code, **variables):
    """Runs Python code in another process with the same package; returns (exit code, output, error)."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def module(name):
    """A module that a machine may lack, or None."""
    import importlib.util

    return __import__(name) if importlib.util.find_spec(name) else None
