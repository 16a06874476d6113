"""run, sweep and view."""
import contextlib
import os
import socket
import struct
import threading
import unittest
import urllib.parse

import attoscope
from support import Case, FakeTorch, random_matrix, read_safetensors


class Experiments(Case):
    def test_an_experiment(self):
        found = attoscope.run(input="normal", n=64, d=16, block_k=32, set={"a.O": "fp32"}, kahan=True, sink=None)
        self.assertEqual((found["version"], found["rows"], found["experiment"]["a"]["block_k"]), (attoscope.__version__, 64, 32))
        self.assertEqual((found["experiment"]["a"]["precision"]["O"], found["experiment"]["a"]["kahan_l"]), ("fp32", True))

    def test_tensors_as_input(self):
        tensors = tuple(random_matrix(32, 8, seed) for seed in range(3))
        found = attoscope.run(input=tensors, format="fp32", mask="causal")
        self.assertEqual((found["rows"], found["experiment"]["problem"]["d"]), (32, 8))

    def test_a_sweep_is_rows(self):
        rows = attoscope.sweep({"format": ["bf16", "fp16"], "n": range(32, 65, 32)}, d=16, measure="a.max_abs", seeds=2)
        self.assertEqual([(row["format"], row["n"], row["seeds"]) for row in rows],
                         [("bf16", "32", 2), ("bf16", "64", 2), ("fp16", "32", 2), ("fp16", "64", 2)])
        self.assertGreater(rows[0]["mean"], rows[2]["mean"])
        self.assertEqual(attoscope.sweep("n=32", d=16), attoscope.sweep(["n=32"], d=16))

    def test_what_the_program_refuses(self):
        self.assertIn("n", self.sentence_of(attoscope.BadOption, attoscope.run, n="many"))
        self.assertIn("no-such", self.sentence_of(attoscope.BadOption, attoscope.run, no_such=1))
        self.assertIn("numbers come back", self.sentence_of(attoscope.BadOption, attoscope.run, json="a.json"))
        self.assertIn("three tensors", self.sentence_of(attoscope.BadOption, attoscope.run, input=[[[1.0]]]))
        self.assertIn("one text", self.sentence_of(attoscope.BadOption, attoscope.run, input=("q.npy", "k.npy", "v.npy")))
        self.sentence_of(attoscope.BadTensor, attoscope.run, input=([[1.0]], [[1.0, 2.0]], [[1.0]]))


@contextlib.contextmanager
def listening(path):
    """The messages sent to a window at this socket; each message is answered as taken."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    heard = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen()

        def hear():
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(1 << 16).decode())
                connection.sendall(b"ok")

        thread = threading.Thread(target=hear)
        thread.start()
        yield heard
        thread.join(10)


class View(Case):
    def setUp(self):
        super().setUp()
        self.set(XDG_RUNTIME_DIR=self.folder)
        self.one = [[1.0, 2.0], [3.0, 4.0]]

    def test_these_tensors_are_opened(self):
        self.stand_in()
        file = attoscope.view(self.one, self.one, self.one, self.one, mask="window:2", scale=0.5, head=0)
        (command,) = self.commands()
        self.assertEqual(command[:2], ["open", file + "[h n d]:0"])
        self.assertEqual(sorted(command[2:]), ["--alibi=0", "--mask=window:2", "--scale=0.5", "--sink=none", "--softcap=0"])
        self.assertEqual(sorted(read_safetensors(file)[0]), ["k", "o", "q", "v"])

    def test_the_window_finds_d_as_judge_does(self):
        self.stand_in()
        typed = FakeTorch("float32", (2, 2), bytes(16))
        self.assertEqual(read_safetensors(attoscope.view(self.one, self.one, self.one, self.one))[1], {"numbers": "arrays"})
        self.assertEqual(read_safetensors(attoscope.view(typed, typed, typed, typed))[1], {})
        attoscope.view(typed, typed, typed)
        self.assertEqual(["--format=fp32" in command for command in self.commands()], [False, False, True])

    def test_the_gradient_of_the_output_is_opened(self):
        self.stand_in()
        behind = [[[1.0], [4.0]], [[2.0], [5.0]], [[3.0], [6.0]]]
        file = attoscope.view(behind, behind, behind, do=[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]], layout="nhd")
        tensors, _ = read_safetensors(file)
        self.assertEqual(sorted(tensors), ["do", "k", "q", "v"])
        self.assertEqual(tensors["do"][1:], ([2, 3, 1], struct.pack("<6d", 1, 2, 3, 4, 5, 6)))
        both = attoscope.view(behind, behind, behind, do=behind, dq=behind, dv=behind, layout="nhd")
        self.assertEqual(read_safetensors(both)[0]["dq"], read_safetensors(both)[0]["q"])
        wrong = self.sentence_of(attoscope.BadTensor, attoscope.view, self.one, self.one, self.one, do=self.one, dk=[[1.0, 2.0]])
        self.assertIn("dk has shape [1, 2], expected [2, 2]", wrong)
        self.assertIn("do [1, 1]", self.sentence_of(attoscope.BadTensor, attoscope.view, self.one, self.one, self.one, do=[[1.0]]))
        self.assertIn("k is of type NoneType", self.sentence_of(attoscope.BadTensor, attoscope.view, self.one, None, self.one))

    def test_the_next_view_takes_the_place_of_the_one_before(self):
        self.stand_in()
        first = attoscope.view(self.one, self.one, self.one)
        second = attoscope.view(self.one, [[5.0, 6.0]] * 2, self.one)
        self.assertEqual(first, second)
        self.assertEqual(os.listdir(os.path.dirname(first)), ["view.safetensors"])
        self.assertNotEqual(attoscope.view(self.one, self.one, self.one, name="other"), first)

    def test_heads_come_first_in_the_window(self):
        self.stand_in()
        first, behind = [[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]], [[[1.0], [4.0]], [[2.0], [5.0]], [[3.0], [6.0]]]
        for q, o, layout in ((first, first, None), (first, behind, "hnd"), (behind, behind, "nhd"), (behind, first, "n h d")):
            tensors, _ = read_safetensors(attoscope.view(q, q, q, o, layout=layout, mask=[[i >= j for j in range(3)] for i in range(3)]))
            self.assertEqual({name: (shape, data) for name, (_, shape, data) in tensors.items()},
                             dict.fromkeys("qkvo", ([2, 3, 1], struct.pack("<6d", 1, 2, 3, 4, 5, 6))))
        self.assertIn("--mask=causal", self.commands()[-1])

    def test_heads_of_k_and_v_are_repeated_alone(self):
        self.stand_in()
        q, k, v = [[[1.0]], [[2.0]]], [[[1.0], [2.0], [3.0]]], [[[1.0, 2.0]] * 3]
        for keys, values in (k, v), (k * 2, v * 2):
            tensors, _ = read_safetensors(attoscope.view(q, keys, values))
            self.assertEqual({name: shape for name, (_, shape, _) in tensors.items()}, {"q": [2, 1, 1], "k": [2, 3, 1], "v": [2, 3, 2]})
            self.assertEqual(tensors["k"][2], struct.pack("<6d", 1, 2, 3, 1, 2, 3))

    def test_numbers_of_heads_are_viewed(self):
        self.stand_in()
        q = [self.one, self.one]
        tensors, _ = read_safetensors(attoscope.view(q, q, q, q, sink=[0.5, 1.0], alibi=[0.25, 0.125], head=1))
        self.assertEqual((tensors["sinks"], tensors["alibi_slopes"]), (("F64", [2], struct.pack("<2d", 0.5, 1)), ("F64", [2], struct.pack("<2d", 0.25, 0.125))))
        self.assertEqual([word for word in self.commands()[0] if word.startswith(("--sink", "--alibi"))], ["--alibi=0.125", "--sink=1.0"])

    def test_more_queries_than_keys_are_viewed(self):
        q, k = ([[[float(row + head)] for row in range(n)] for head in range(2)] for n in (4, 2))
        with listening(os.path.join(self.folder, "attoscope", "link.socket")) as heard:
            attoscope.view([q], [k], [k], [q])
        file = urllib.parse.unquote(heard[0].partition("file=")[2].partition("&")[0]).removesuffix(":0")
        self.assertTrue(file.endswith("view.safetensors[h n d]"), file)
        problem = attoscope.run(input=file)["experiment"]["problem"]
        self.assertEqual((problem["n"], problem["n_k"]), (4, 2))

    def test_whole_numbers_are_viewed(self):
        self.stand_in()
        q = FakeTorch("int8", (2, 1), b"ab")
        attoscope.view(q, q, q)
        attoscope.view(self.one, self.one, self.one, FakeTorch("uint8", (2, 2), b"abcd"), format="fp16")
        self.assertEqual([word for command in self.commands() for word in command if "format" in word], ["--format=bf16", "--format=fp16"])

    def test_the_window_is_told_all_of_it(self):
        matrix = random_matrix(32, 16, 1)
        with listening(os.path.join(self.folder, "attoscope", "link.socket")) as heard:
            file = attoscope.view(matrix, matrix, matrix, matrix, mask="causal", softcap=20.0, sink=0.5)
        fields = dict(urllib.parse.parse_qsl(heard[0].removeprefix("attoscope:open?")))
        self.assertEqual(fields["file"], file + "[h n d]:0")
        self.assertEqual((fields["mask"], fields["softcap"], fields["sink"]), ("causal", "20.0", "0.5"))
        self.assertTrue(os.path.isfile(file))

    def test_what_the_program_refuses(self):
        for mask in ("diagonal", "window", "window:x", "causal:3"):
            self.assertIn("mask", self.sentence_of(attoscope.BadOption, attoscope.view, self.one, self.one, self.one, mask=mask))

    def test_what_cannot_be_viewed(self):
        self.stand_in(code=1, err="attoscope: no window answers\n")
        self.assertEqual(self.sentence_of(attoscope.DeadLink, attoscope.view, self.one, self.one, self.one), "no window answers")
        for name in ("", "a/b", ".."):
            self.sentence_of(attoscope.BadOption, attoscope.view, self.one, self.one, self.one, name=name)
        self.sentence_of(attoscope.BadTensor, attoscope.view, self.one, self.one, [[1.0]])


if __name__ == "__main__":
    unittest.main()
