"""Gradients through the package: the options passed on, the commands that `check` runs, and the program's answers."""
import math
import sys
import types
import unittest
from unittest import mock

import attoscope
from support import ROUNDED, VERDICT, Case, plain_attention, random_matrix, read_safetensors

ONE = [[1.0, 2.0], [3.0, 4.0]]


def plain_gradients(q, k, v, d_o):
    """O, dQ, dK and dV of lists [n][d], in Python floats."""
    scale, n, d = 1 / math.sqrt(len(q[0])), len(q), len(q[0])
    dot = lambda x, y: math.fsum(map(float.__mul__, x, y))  # noqa: E731
    o = plain_attention(q, k, v)
    dq, dk, dv = ([[0.0] * d for _ in range(n)] for _ in range(3))
    for i in range(n):
        scores = [scale * dot(q[i], row) for row in k]
        largest = max(scores)
        weights = [math.exp(s - largest) for s in scores]
        total, delta = math.fsum(weights), dot(d_o[i], o[i])
        for j in range(n):
            p = weights[j] / total
            ds = scale * p * (dot(d_o[i], v[j]) - delta)
            for c in range(d):
                dq[i][c] += ds * k[j][c]
                dk[j][c] += ds * q[i][c]
                dv[j][c] += p * d_o[i][c]
    return o, dq, dk, dv


class StandInTensor:
    """The interface of a torch tensor that `check` uses, over nested lists."""

    dtype = device = None

    def __init__(self, values):
        self.values, self.shape, self.asked = values, (len(values), len(values[0])), False

    def detach(self):
        return StandInTensor(self.values)

    clone = detach

    def to(self, _):
        return self

    def requires_grad_(self, _):
        self.asked = True
        return self

    def tolist(self):
        return self.values

    def __array__(self, *_):
        raise TypeError("a list is enough")


class Passing(Case):
    def test_gradients_are_passed_by_their_names(self):
        self.stand_in(ROUNDED)
        attoscope.judge(ONE, ONE, ONE, ONE, do=ONE, dq=ONE, dk="dk.npy", lse=[1.0, 2.0])
        words = self.commands()[-1]
        for name in ("do", "dq", "lse"):
            self.assertTrue([word for word in words if word.startswith(f"--{name}=") and word.endswith(f":{name}")], words)
        self.assertIn("--dk=dk.npy", words)
        self.assertFalse([word for word in words if word.startswith("--dv")])

    def test_a_log_sum_exp_needs_no_gradients(self):
        self.stand_in({**ROUNDED, "lse": {"verdict": "rounded", "base": "2", "ratio": "inf"}})
        found = attoscope.judge(ONE, ONE, ONE, ONE, lse=[1.0, 2.0])
        self.assertTrue([word for word in self.commands()[-1] if word.startswith("--lse=")])
        self.assertEqual((found.lse["base"], found.lse["ratio"]), ("2", math.inf))
        self.stand_in(ROUNDED)
        self.assertIsNone(attoscope.judge(ONE, ONE, ONE, ONE).lse)

    def test_the_window_shows_gradients_of_a_rounded_output(self):
        self.set(XDG_RUNTIME_DIR=self.folder)
        q = [ONE, ONE]
        rows = [{"tensor": "dq", "verdict": "wrong", "ratio": 2.5, "head": 1}]
        found = {**VERDICT, "heads": 2, "n": 2, "n_k": 2, "gradients": rows, "table": [{**ROUNDED["table"][0], "ratio": 0.5}]}
        wrong = {**found, "table": VERDICT["table"]}
        for answer, more, head, shown in ((found, {}, 1, ["do", "dq", "lse"]), (wrong, {}, 0, ["lse"]), (found, {"dk": ONE}, 0, ["lse"]),
                                          (found, {"dv": q}, 1, ["do", "dq", "dv", "lse"]), (found, {"dlse": [[1.0, 2.0]] * 2}, 0, ["lse"])):
            self.stand_in(answer, 3)
            verdict = attoscope.judge(q, q, q, q, do=q, dq=q, lse=[[1.0, 2.0]] * 2, layout="hnd", **more)
            self.stand_in()
            verdict.view()
            place = self.commands()[-1][1]
            self.assertTrue(place.endswith(f":{head}"), place)
            self.assertEqual(sorted(read_safetensors(place.partition("[")[0])[0]), sorted([*"qkvo", *shown]))

    def test_check_runs_the_function_with_autograd(self):
        asked = []
        torch = types.ModuleType("torch")
        torch.autograd = types.SimpleNamespace(
            grad=lambda o, inputs, d_o, allow_unused: (asked.append((o, d_o)), [x.values for x in inputs[:2]] + [None])[1])
        torch.zeros_like = lambda x: [[0.0] * x.shape[1] for _ in range(x.shape[0])]
        seen = []
        with mock.patch.dict(sys.modules, {"torch": torch}), mock.patch("attoscope.judging.judge") as judge:
            found = attoscope.check(lambda q, k, v: (seen.append((q, k, v)), (q, "log-sum-exp"))[1], *map(StandInTensor, (ONE, ONE, ONE)),
                                    do=ONE, mask="causal")
        self.assertIs(found, judge.return_value)
        self.assertTrue(all(x.asked for x in seen[0]))
        self.assertEqual(asked[0][1], ONE)
        self.assertEqual(judge.call_args.kwargs, {"do": ONE, "dq": ONE, "dk": ONE, "dv": [[0.0, 0.0], [0.0, 0.0]], "mask": "causal"})

    def test_check_takes_tensors_of_torch(self):
        self.assertIn("torch", self.sentence_of(attoscope.BadTensor, attoscope.check, lambda q, k, v: q, ONE, ONE, ONE))
        with mock.patch.dict(sys.modules, {"torch": types.ModuleType("torch")}):
            for made in (None, (), [[1.0]]):
                self.assertIn("returned", self.sentence_of(attoscope.BadTensor, attoscope.check, lambda q, k, v: made,  # noqa: B023
                                                           *map(StandInTensor, (ONE, ONE, ONE))))

    def test_check_of_an_output_without_a_gradient(self):
        torch = types.ModuleType("torch")
        torch.zeros_like = lambda x: [[0.0] * x.shape[1] for _ in range(x.shape[0])]
        made = StandInTensor(ONE)
        made.requires_grad = False
        with mock.patch.dict(sys.modules, {"torch": torch}), mock.patch("attoscope.judging.judge") as judge:
            attoscope.check(lambda q, k, v: made, *map(StandInTensor, (ONE, ONE, ONE)), do=ONE)
        for name in ("dq", "dk", "dv"):
            self.assertEqual(judge.call_args.kwargs[name], [[0.0, 0.0], [0.0, 0.0]])


class Answers(Case):
    def test_right_and_wrong_gradients(self):
        q, k, v, d_o = (random_matrix(40, 8, seed) for seed in range(4))
        o, dq, dk, dv = plain_gradients(q, k, v, d_o)
        found = attoscope.assert_attention_close(o, q, k, v, do=d_o, dq=dq, dk=dk, dv=dv)
        self.assertEqual([(row["tensor"], row["verdict"]) for row in found.gradients], [("dq", "rounded"), ("dk", "rounded"), ("dv", "rounded")])
        wrong = attoscope.judge(o, q, k, v, do=d_o, dq=[[x * math.sqrt(8) for x in row] for row in dq], dk=dk, dv=dv)
        self.assertFalse(wrong.ok)
        self.assertIn("scale", wrong.gradients[0]["slip"]["kind"])
        self.assertIn("dQ", wrong.sentence)


if __name__ == "__main__":
    unittest.main()
