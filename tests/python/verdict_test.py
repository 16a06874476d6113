"""judge and assert_attention_close: what they pass on, what they make of an answer; and the program's own answers."""
import os
import pathlib
import unittest
from html.parser import HTMLParser

import attoscope
from support import ROOT, ROUNDED, VERDICT, Case, FakeTorch, plain_attention, python, random_matrix, read_safetensors

ONE = [[1.0, 2.0], [3.0, 4.0]]


class Answers(Case):
    def test_a_wrong_output(self):
        self.stand_in(VERDICT, 3)
        found = attoscope.judge(ONE, ONE, ONE, ONE)
        self.assertFalse(found.ok or found)
        self.assertEqual((found.sentence, found.sentences), (VERDICT["sentences"][0], VERDICT["sentences"]))
        self.assertEqual((found.table, found.json, found.derivation), (VERDICT["table"], VERDICT, ["half an ulp"]))
        self.assertEqual((found.family[0]["rival"], found.report), ("hw", None))
        self.assertEqual(str(found), "\n".join(VERDICT["sentences"]))
        self.assertIn("Verdict wrong", repr(found))

    def test_a_rounded_output(self):
        self.stand_in(ROUNDED)
        self.assertTrue(attoscope.judge(ONE, ONE, ONE, ONE).ok)
        self.assertTrue(attoscope.assert_attention_close(ONE, ONE, ONE, ONE))

    def test_its_tensors_in_the_window(self):
        self.set(XDG_RUNTIME_DIR=self.folder)
        self.stand_in({**ROUNDED, "link": "attoscope:open?file=/o.npy"})
        attoscope.judge(ONE, ONE, ONE, ONE, mask="causal", scale=0.5).view()
        shown = self.commands()[-1]
        self.assertEqual(shown[:2], ["open", os.path.join(self.folder, "attoscope", "view.safetensors:0")])
        self.assertIn("--mask=causal", shown)
        attoscope.judge("o.npy", "q.npy", "k.npy", "v.npy").view()
        self.assertEqual(self.commands()[-1], ["open", "attoscope:open?file=/o.npy"])
        self.stand_in(ROUNDED)
        self.assertIn("attoscope.view", self.sentence_of(attoscope.BadOption, attoscope.judge("o.npy", ONE, ONE, ONE).view))

    def test_heads_behind_tokens_in_the_window(self):
        self.set(XDG_RUNTIME_DIR=self.folder)
        self.stand_in(ROUNDED)
        tokens = [[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]  # 3 tokens of 2 heads
        attoscope.judge(tokens, tokens, tokens, tokens, layout="bnhd").view()
        header, data = read_safetensors(os.path.join(self.folder, "attoscope", "view.safetensors"))
        self.assertEqual(header["q"][1], [2, 3, 1])

    def test_the_assertion_has_the_three_sentences(self):
        self.stand_in(VERDICT, 3)
        try:
            attoscope.assert_attention_close(ONE, ONE, ONE, ONE, mask="causal")
        except AssertionError as error:
            self.assertEqual(str(error), "\n".join(VERDICT["sentences"]))
            self.assertIs(error.__traceback__.tb_next.tb_frame.f_locals["__tracebackhide__"], True)
        else:
            self.fail("a wrong output passed")

    def test_an_answer_that_is_no_verdict(self):
        for answer, code in (({}, 0), ({**VERDICT, "ok": True}, 3), (VERDICT, 0), ({**ROUNDED, "sentences": []}, 0),
                             ({key: value for key, value in VERDICT.items() if key != "table"}, 3), ({**ROUNDED, "ok": "yes"}, 0)):
            self.stand_in(answer, code)
            self.assertIn("verdict", self.sentence_of(attoscope.CouldNotRun, attoscope.judge, ONE, ONE, ONE, ONE))

    def test_bad_tensors_never_reach_the_program(self):
        self.stand_in(ROUNDED)
        for o in ([[1.0]], [[1, 2, 3], [4, 5, 6]], None, FakeTorch("int64", (1, 1), b"12345678")):
            self.sentence_of(attoscope.BadTensor, attoscope.judge, o, ONE, ONE, ONE)
        self.assertEqual(self.commands(), [])


class Commands(Case):
    def command(self, *tensors, **options):
        self.stand_in(ROUNDED)
        attoscope.judge(*tensors, **options)
        return self.commands()[-1]

    def test_options_are_those_of_the_program(self):
        words = self.command(ONE, ONE, ONE, ONE, mask="window:64", scale=0.125, softcap=30.0, alibi=0.5, sink=1, format="bf16", policy="hw",
                             like="fa3_h100", head=2, layout="bnhd", threads=1)
        for word in ("judge", "--json=-", "--quiet", "--mask=window:64", "--scale=0.125", "--softcap=30.0", "--alibi=0.5", "--sink=1",
                     "--format=bf16", "--policy=hw", "--like=fa3_h100", "--head=2", "--layout=bnhd", "--threads=1"):
            self.assertIn(word, words)
        self.assertFalse([word for word in self.command(ONE, ONE, ONE, ONE) if word.startswith(("--mask", "--scale", "--report"))])

    def test_files_are_passed_by_name(self):
        words = self.command("o.npy", pathlib.Path("q.npy"), "a.safetensors:k", "a.safetensors:v")
        self.assertEqual([word for word in words if word[2:4] in ("q=", "k=", "v=", "o=")],
                         ["--q=" + os.path.abspath("q.npy"), "--k=a.safetensors:k", "--v=a.safetensors:v", "--o=o.npy"])

    def test_saved_tensors_are_those_given(self):
        file = os.path.join(self.folder, "case.safetensors")
        words = self.command(FakeTorch("bfloat16", (2, 2), b"abcdefgh"), ONE, ONE, "v.npy", save=file)
        self.assertIn(f"--o={file}:o", words)
        self.assertIn("--v=v.npy", words)
        tensors, _ = read_safetensors(file)
        self.assertEqual((sorted(tensors), tensors["o"]), (["k", "o", "q"], ("BF16", [2, 2], b"abcdefgh")))

    def test_scales_are_kept_beside_the_tensors(self):
        file = os.path.join(self.folder, "case.safetensors")
        words = self.command(ONE, ONE, FakeTorch("int8", (2, 2), b"abcd"), ONE, scales={"k": 0.5, "v": "v_scale.npy"}, save=file)
        self.assertIn(f"--scale-k={file}:k_scale", words)
        self.assertIn("--scale-v=v_scale.npy", words)
        tensors, _ = read_safetensors(file)
        self.assertEqual((tensors["k"], tensors["k_scale"][:2]), (("I8", [2, 2], b"abcd"), ("F64", [1])))
        self.assertIn("expected q, k, v or o", self.sentence_of(attoscope.BadOption, attoscope.judge, ONE, ONE, ONE, ONE, scales={"p": 1.0}))
        self.assertIn("save", self.sentence_of(attoscope.BadOption, attoscope.judge(ONE, ONE, ONE, ONE, scales={"k": 1.0}).view))

    def test_reports(self):
        page = "<html><b>\"quoted\" & more</b></html>"
        self.set(STAND_IN_REPORT=page)
        file = os.path.join(self.folder, "report.html")
        self.assertIn("--report=" + file, self.command(ONE, ONE, ONE, ONE, report=file))
        self.stand_in(VERDICT, 3)
        found = attoscope.judge(ONE, ONE, ONE, ONE, report=True)
        self.assertEqual(found.report, page)
        frames = []
        parser = HTMLParser()
        parser.handle_starttag = lambda tag, attributes: frames.append((tag, dict(attributes)))
        parser.feed(found._repr_html_())
        self.assertEqual([(tag, attributes["srcdoc"]) for tag, attributes in frames], [("iframe", page)])

    def test_a_summary_where_there_is_no_report(self):
        self.stand_in({**VERDICT, "table": [{**VERDICT["table"][0], "head": head} for head in range(40)]}, 3)
        shown = attoscope.judge(ONE, ONE, ONE, ONE, report=False)._repr_html_()
        for text in ("too &lt;wide&gt;", "<td>7.25</td>", "in rows 1 to 3", "one key too wide", "8 more heads"):
            self.assertIn(text, shown)
        self.assertNotIn("iframe", shown)


class Program(Case):
    """The verdicts of the program itself."""

    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = (random_matrix(48, 16, seed) for seed in range(3))
        self.o = plain_attention(self.q, self.k, self.v, "causal")

    def test_exact_output_is_rounded(self):
        found = attoscope.judge(self.o, self.q, self.k, self.v, mask="causal")
        self.assertTrue(found.ok, str(found))
        self.assertEqual((found.json["attoscope"], found.json["n"], len(found.table)), (attoscope.__version__, 48, 1))

    def test_stored_keys_are_multiplied_by_their_scales(self):
        scales = [0.25 * (i % 3 + 1) for i in range(48)]  # of each token
        stored = [[float(round(x / scale)) for x in row] for row, scale in zip(self.k, scales)]
        k = [[x * scale for x in row] for row, scale in zip(stored, scales)]
        o = plain_attention(self.q, k, self.v, "causal")
        self.assertTrue(attoscope.judge(o, self.q, stored, self.v, mask="causal", scales={"k": scales}).ok)
        self.assertFalse(attoscope.judge(o, self.q, stored, self.v, mask="causal").ok)

    def test_a_forgotten_mask_is_wrong(self):
        with self.assertRaises(AssertionError) as caught:
            attoscope.assert_attention_close(plain_attention(self.q, self.k, self.v), self.q, self.k, self.v, mask="causal")
        self.assertGreaterEqual(len(str(caught.exception).splitlines()), 3)

    def test_the_last_queries_alone(self):
        o, q = plain_attention(self.q[-8:], self.k, [row[:5] for row in self.v], "causal"), self.q[-8:]
        v = [row[:5] for row in self.v]
        found = attoscope.judge(o, q, self.k, v, mask="causal")
        self.assertTrue(found.ok, str(found))
        self.assertEqual([found.json[key] for key in ("n", "n_k", "d", "d_v")], [8, 48, 16, 5])
        self.assertIn("aligned bottom-right", attoscope.judge(o, q, self.k, v, mask="causal:top-left").sentence)
        self.assertTrue(attoscope.judge(o[-1:], q[-1:], self.k, v).ok)

    def test_a_notebook_keeps_the_case_while_python_runs(self):
        code, out, err = python("""if True:
            import os, sys
            sys.modules["ipykernel"] = None
            import attoscope
            tensors = [[[0.5 * (i + j) for j in range(8)] for i in range(16)] for _ in range(4)]
            found = attoscope.judge(*tensors)
            assert found.kept and found.json["link"] in found._repr_html_(), found.json
            place = found.json["link"].split("file=")[1].split(":")[0]
            assert os.path.isfile(place), place
            assert not attoscope.judge(*tensors, report=False).kept
            print(place)""")
        self.assertEqual((code, err), (0, ""))
        self.assertFalse(os.path.exists(os.path.dirname(out.strip())))

    def test_one_wrong_head_is_found(self):
        tensors = [[one] * 3 for one in (self.o, self.q, self.k, self.v)]
        tensors[0] = [self.o, [[0.0] * 16] * 48, self.o]
        found = attoscope.judge(*tensors, mask="causal")
        self.assertEqual([row["verdict"] == "rounded" for row in found.table], [True, False, True])

    def test_outputs_of_pytorch_are_rounded(self):
        folder = ROOT / "tests" / "data" / "pytorch"
        for name, options in (("bf16_causal", {"mask": "causal"}), ("fp16_full", {}), ("fp32_causal", {"mask": "causal"})):
            file = folder / f"{name}.safetensors"
            for output in ("o", "o_math", "o_eager"):
                found = attoscope.judge(*(f"{file}:{tensor}" for tensor in (output, "q", "k", "v")), **options)
                self.assertTrue(found.ok, f"{name} {output}: {found}")

    def test_a_report_is_one_page(self):
        found = attoscope.judge(self.o, self.q, self.k, self.v, mask="causal", report=True)
        self.assertIn("<html", found.report)
        self.assertIn("<iframe", found._repr_html_())

    def test_a_bad_option_is_a_sentence(self):
        self.sentence_of(attoscope.BadOption, attoscope.judge, self.o, self.q, self.k, self.v, mask="diagonal")
        self.sentence_of(attoscope.CouldNotRun, attoscope.judge, "/no/such/o.npy", self.q, self.k, self.v)


if __name__ == "__main__":
    unittest.main()
