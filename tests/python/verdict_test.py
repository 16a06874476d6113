"""judge and assert_attention_close: the options passed on, their results for an answer, and verdicts of the program."""
import math
import os
import pathlib
import unittest
from html.parser import HTMLParser

import attoscope
from support import ROOT, ROUNDED, VERDICT, Case, FakeTorch, module, plain_attention, python, random_matrix, read_safetensors

numpy, torch = module("numpy"), module("torch")
ONE = [[1.0, 2.0], [3.0, 4.0]]


class Answers(Case):
    def test_a_wrong_output(self):
        self.stand_in(VERDICT, 3)
        found = attoscope.judge(ONE, ONE, ONE, ONE)
        self.assertFalse(found.ok or found)
        self.assertEqual((found.sentence, found.sentences), (VERDICT["sentences"][0], VERDICT["sentences"]))
        self.assertEqual((found.table, found.derivation), (VERDICT["table"], ["half an ulp"]))
        self.assertEqual(found.json, {**VERDICT, "command": "", "link": ""})  # the file that they name is gone
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
        self.assertEqual(shown[:2], ["open", os.path.join(self.folder, "attoscope", "view.safetensors[h n d]:0")])
        self.assertIn("--mask=causal", shown)
        self.assertIn("--format=bf16", shown, "the verdict's D, not that of the arrays")
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

    def test_infinite_ratios_are_numbers(self):
        rows = [{**VERDICT["table"][0], "ratio": ratio, "slip": {"kind": "mask", "ratio": "inf", "text": ""}} for ratio in ("inf", None, 2.5)]
        self.stand_in({**VERDICT, "table": rows}, 3)
        found = attoscope.judge(ONE, ONE, ONE, ONE)
        self.assertEqual([str(row["ratio"]) for row in found.table], ["inf", "nan", "2.5"])
        self.assertEqual(found.table[0]["slip"]["ratio"], math.inf)

    def said_of(self, **options):
        self.stand_in(VERDICT, 3)
        with self.assertRaises(AssertionError) as caught:
            attoscope.assert_attention_close(ONE, ONE, ONE, ONE, mask="causal", **options)
        return str(caught.exception).splitlines()

    def test_the_assertion_has_the_three_sentences_and_d_and_where_to_look(self):
        said = self.said_of()
        self.assertEqual(said[:4], [*VERDICT["sentences"], "half an ulp"])
        self.assertEqual(said[4:], ['save="case.safetensors" keeps the tensors, report="report.html" shows where the errors lie.'])
        self.set(STAND_IN_REPORT="page")
        case, page = (os.path.join(self.folder, name) for name in ("case.safetensors", "report.html"))
        self.assertEqual(self.said_of(save=case, report=pathlib.Path(page))[4], f"The tensors are in {case}, the report is {page}.")

    def test_failures_show_no_frame_of_the_package(self):
        def frames(kind, function, *arguments, **options):
            try:
                function(*arguments, **options)
            except kind as error:
                found = []
                trace = error.__traceback__.tb_next
                while trace:
                    found.append(trace.tb_frame)
                    trace = trace.tb_next
                return found
            self.fail(f"no {kind.__name__}")

        self.stand_in(VERDICT, 3)
        shown = [*frames(AssertionError, attoscope.assert_attention_close, ONE, ONE, ONE, ONE),
                 *frames(attoscope.BadTensor, attoscope.assert_attention_close, [[1.0], [2.0, 3.0]], ONE, ONE, ONE),
                 *frames(attoscope.BadTensor, attoscope.view, [["a"]], ONE, ONE)]
        self.stand_in(code=2, err="attoscope: --mask is 'x'")
        for function in (attoscope.judge, attoscope.assert_attention_close, attoscope.view):
            shown += frames(attoscope.BadOption, function, ONE, ONE, ONE, ONE, mask="x")
        self.assertGreaterEqual(len(shown), 6)
        self.assertEqual([frame.f_code.co_name for frame in shown if frame.f_locals.get("__tracebackhide__") is not True], [])

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
        for word in ("judge", "--json=-", "--mask=window:64", "--scale=0.125", "--softcap=30.0", "--alibi=0.5", "--sink=1",
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

    def test_a_file_of_another_kind_is_not_saved(self):
        file = os.path.join(self.folder, "case")
        self.assertEqual(self.sentence_of(attoscope.BadOption, attoscope.judge, ONE, ONE, ONE, ONE, save=file),
                         f"save is {file!r}, expected the name of a .safetensors file")
        self.assertEqual(os.listdir(self.folder), [])

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
        for text in ("too &lt;wide&gt;", "<td>7.25</td>", "in rows 1 to 3", "<td>0-15, 40</td>", "one key too wide", "8 more heads"):
            self.assertIn(text, shown)
        self.assertNotIn("iframe", shown)


class TorchsWords(Case):
    """Options under the names of torch and NumPy."""

    def command(self, *tensors, **options):
        self.stand_in(ROUNDED)
        attoscope.judge(*(tensors or (ONE, ONE, ONE, ONE)), **options)
        return self.commands()[-1]

    def test_formats(self):
        class Type:
            def __str__(self):
                return "torch.bfloat16"

        for given, format in ((Type(), "bf16"), ("bfloat16", "bf16"), ("BF16", "bf16"), ("torch.float16", "fp16"), ("half", "fp16"),
                              ("float8_e4m3fn", "e4m3"), ("float32", "fp32"), ("tf32", "tf32"), ("no_such", "no_such")):
            self.assertIn(f"--format={format}", self.command(format=given))
        if numpy:
            for given in (numpy.float16, numpy.dtype("float16")):
                self.assertIn("--format=fp16", self.command(format=given))
        if torch:
            self.assertIn("--format=bf16", self.command(format=torch.bfloat16))

    def test_names_of_masks_and_layouts(self):
        words = self.command([[ONE] * 3] * 2, [[ONE] * 3] * 2, [[ONE] * 3] * 2, [[ONE] * 3] * 2, mask=" Causal", layout="B H N D")
        self.assertIn("--mask=causal", words)
        self.assertIn("--layout=bhnd", words)

    def test_values_that_are_none(self):
        self.assertIn("--mask", self.sentence_of(attoscope.BadOption, attoscope.judge, ONE, ONE, ONE, ONE, mask="", format="fp16"))
        for name in ("mask", "scale", "layout", "policy"):
            self.assertEqual(self.sentence_of(attoscope.BadOption, attoscope.judge, ONE, ONE, ONE, ONE, **{name: True}), f"{name} is True, expected a value")
        for mask in (5, 1.5, [[True, False], 1], [["a", "b"]] * 2, object()):
            self.assertIn("mask is no", self.sentence_of(attoscope.BadTensor, attoscope.judge, ONE, ONE, ONE, ONE, mask=mask))
        hidden = attoscope.judge([[0.0, 0.0]] * 2, ONE, ONE, ONE, mask=[[False, False]] * 2)
        self.assertTrue(hidden.ok, str(hidden))

    def test_numbers_of_tensors(self):
        class Scalar:
            def tolist(self):
                return 0.25

        words = self.command(scale=Scalar(), softcap=[30], sink=[[1]])
        for word in ("--scale=0.25", "--softcap=30.0", "--sink=1.0"):
            self.assertIn(word, words)
        if torch:
            self.assertIn("--scale=0.5", self.command(scale=torch.tensor(0.5, requires_grad=True)))
        for options, said in (({"scale": []}, "scale holds no number, expected one"), ({"sink": []}, "or one for each head"),
                              ({"scale": object()}, "expected numbers"), ({"alibi": ["a"]}, "alibi holds 'a'")):
            self.assertIn(said, self.sentence_of(attoscope.BadOption, attoscope.judge, ONE, ONE, ONE, ONE, **options))

    def test_masks_that_are_tensors(self):
        for mask in ([[True, False], [True, True]], [[[[0.0, float("-inf")], [0.0, 0.0]]]]):
            self.assertIn("--mask=causal", self.command(mask=mask))
            if numpy:
                self.assertIn("--mask=causal", self.command(mask=numpy.array(mask)))
            if torch:
                self.assertIn("--mask=causal", self.command(mask=torch.tensor(mask)))
        self.assertTrue(self.sentence_of(attoscope.BadTensor, attoscope.judge, ONE, ONE, ONE, ONE, mask=[[True] * 2] * 3).startswith("mask is 3 x 2, expected 2 x 2"))
        for mask in ([[False, True], [True, True]], [[0.0, -1.5], [0.0, 0.0]]):  # without a name: a tensor beside the others
            words = self.command(mask=mask)
            self.assertTrue(any(word.startswith("--mask-file=") and word.endswith(":mask") for word in words), words)
            self.assertFalse(any(word.startswith("--mask=") for word in words))
        heads_last = [[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]  # 3 tokens of 2 heads
        self.assertIn("--mask=causal", self.command(*[heads_last] * 4, layout="nhd", mask=[[i >= j for j in range(3)] for i in range(3)]))


class Program(Case):
    """The verdicts of the program itself."""

    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = (random_matrix(48, 16, seed) for seed in range(3))
        self.o = plain_attention(self.q, self.k, self.v, "causal")

    def test_a_mask_tensor_without_a_name(self):
        seen = [[(i * 5 + j * 3) % 4 != 0 or i == j for j in range(48)] for i in range(48)]
        o = plain_attention(self.q, self.k, self.v, seen)
        self.assertTrue(attoscope.judge(o, self.q, self.k, self.v, mask=seen).ok)
        self.assertIn("the mask tensor ignored", attoscope.judge(plain_attention(self.q, self.k, self.v, "none"), self.q, self.k, self.v, mask=seen).sentence)

    def test_finite_numbers_that_hide_every_key_of_a_query_leave_the_mean(self):
        seen = [[5 <= j <= i for j in range(48)] for i in range(48)]
        means = [[sum(column) / 48 for column in zip(*self.v)]] * 5
        for low, hidden in ((-3.4028234663852886e38, means), (-1e4, plain_attention(self.q[:5], self.k, self.v))):
            o = hidden + plain_attention(self.q[5:], self.k, self.v, seen[5:])
            found = attoscope.judge(o, self.q, self.k, self.v, mask=[[0.0 if one else low for one in row] for row in seen])
            self.assertTrue(found.ok, str(found))
            self.assertFalse(attoscope.judge(o, self.q, self.k, self.v, mask=seen).ok)

    def test_queries_see_the_keys_of_their_document(self):
        seen = [[j <= i and (i < 20) == (j < 20) for j in range(48)] for i in range(48)]
        o = plain_attention(self.q, self.k, self.v, seen)
        documents = [3] * 20 + [7] * 28
        file = os.path.join(self.folder, "case.safetensors")
        self.assertTrue(attoscope.judge(o, self.q, self.k, self.v, mask="causal", document_ids=documents, save=file).ok)
        self.assertTrue(attoscope.judge(o, self.q, self.k, self.v, mask="causal", document_ids=f"{file}:document_ids").ok)
        self.assertFalse(attoscope.judge(o, self.q, self.k, self.v, mask="causal").ok)

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

    def test_sequences_are_judged_one_by_one(self):
        one_head = [[[row] for row in x] for x in (self.q[:40], self.k, self.v)]
        parts = [(0, 0, 12, 16), (12, 16, 40, 48)]  # queries and keys of two sequences
        o = [[row] for i, j, n, m in parts for row in plain_attention(self.q[i:n], self.k[j:m], self.v[j:m], "causal")]
        bounds = {"cu_seqlens_q": [0, 12, 40], "cu_seqlens_k": [0, 16, 48]}
        found = attoscope.judge(o, *one_head, mask="causal", **bounds)
        self.assertTrue(found.ok, str(found))
        self.assertEqual([row["sequence"] for row in found.table], [0, 1])
        pages = [[one_head[part][16 * i:16 * i + 16] for i in (2, 0, 1)] for part in (1, 2)]
        tables = {"cu_seqlens_q": [0, 12, 40], "block_table": [[1, -1], [2, 0]], "cache_seqlens": [16, 32]}
        self.assertTrue(attoscope.judge(o, one_head[0], *pages, mask="causal", **tables).ok)
        self.assertTrue(attoscope.judge(o, one_head[0], None, None, kv=pages, mask="causal", **tables).ok)
        wrong = {**tables, "block_table": [[1, -1], [0, 2]]}
        self.assertIn("pages 0 and 1 of sequence 1 are exchanged", str(attoscope.judge(o, one_head[0], *pages, mask="causal", **wrong)))
        self.assertIn("whole numbers", self.sentence_of(attoscope.BadTensor, attoscope.judge, o, *one_head, cu_seqlens_q=[0, 1.5]))

    def test_a_mask_tensor_is_that_of_each_sequence(self):
        heads = [[[row] * 3 for row in x] for x in (self.q, self.k, self.v)]
        seen = [[(i * 5 + j * 3) % 4 != 0 or i == j for j in range(24)] for i in range(24)]
        causal = [[j <= i for j in range(24)] for i in range(24)]
        for mask in (seen, causal):
            o = [[row] * 3 for i in (0, 24) for row in plain_attention(*(x[i:i + 24] for x in (self.q, self.k, self.v)), mask)]
            self.assertTrue(attoscope.judge(o, *heads, mask=mask, cu_seqlens_q=[0, 24, 48]).ok)
            self.assertFalse(attoscope.judge(o, *heads, cu_seqlens_q=[0, 24, 48]).ok)
        if numpy:
            wrong = self.sentence_of(attoscope.BadTensor, attoscope.judge, o, *heads, mask=numpy.array([[3]]), cu_seqlens_q=[0, 24, 48])
            self.assertTrue(wrong.startswith("mask of integers holds 3"), wrong)

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

    def test_a_notebook_keeps_the_last_case_alone(self):
        code, out, err = python("""if True:
            import os, re, sys
            from urllib.parse import unquote
            sys.modules["ipykernel"] = None
            import attoscope
            tensors = [[[0.5 * (i + j) for j in range(8)] for i in range(16)] for _ in range(4)]

            def place(found):
                assert found.kept and found.json["link"] in found._repr_html_(), found.json
                return re.search(r"file=(/.*?safetensors)", unquote(found.json["link"])).group(1)

            first = attoscope.judge(*tensors)
            file = place(first)
            assert os.path.isfile(file) and file in first.json["command"], first.json
            second = attoscope.judge(*tensors)
            assert place(second) != file and not first.kept and not os.path.exists(file)
            assert "<a href" not in first._repr_html_(), "the link is dead"
            assert os.listdir(os.path.dirname(file)) == [os.path.basename(place(second))]
            assert not attoscope.judge(*tensors, report=False).kept
            file = place(second)
            del second
            assert not os.path.exists(file)
            third = attoscope.judge(*tensors)
            print(place(third))""")
        self.assertEqual((code, err), (0, ""))
        self.assertFalse(os.path.exists(os.path.dirname(out.strip())))

    def test_cross_attention_with_any_numbers_of_tokens(self):
        for n, n_k in ((12, 4), (4, 12), (13, 5), (5, 13)):
            q, k, v = (random_matrix(rows, 16, seed) for seed, rows in enumerate((n, n_k, n_k)))
            heads = [[[x * (head + 1) for x in row] for row in q] for head in range(4)]
            o = [plain_attention(one, k, v) for one in heads]
            for shape in (lambda x: x, lambda x: [x, x]):  # h n d, b h n d
                found = attoscope.judge(shape(o), shape(heads), shape([k] * 4), shape([v] * 4))
                self.assertTrue(found.ok, f"{n} queries, {n_k} keys: {found}")
                self.assertEqual((found.json["n"], found.json["n_k"]), (n, n_k))
            wrong = attoscope.judge(heads, heads, [k] * 4, [v] * 4)
            self.assertFalse(wrong.ok)

    def test_an_output_may_have_its_heads_behind_its_tokens(self):
        heads = [[[[x * (head + 1 + batch) for x in row] for row in self.q] for head in range(3)] for batch in range(2)]
        o = [[plain_attention(one, self.k, self.v, "causal") for one in batch] for batch in heads]
        k, v = ([[one] * 3] * 2 for one in (self.k, self.v))
        behind = [[[batch[head][i] for head in range(3)] for i in range(48)] for batch in o]
        self.assertTrue(attoscope.judge(behind, heads, k, v, mask="causal").ok)
        self.assertTrue(attoscope.judge(o, [[[batch[head][i] for head in range(3)] for i in range(48)] for batch in heads],
                                        *([[[one[i]] * 3 for i in range(48)]] * 2 for one in (self.k, self.v)), mask="causal", layout="bnhd").ok)

    def test_a_forgotten_layout_is_named(self):
        heads = [[[x * (head + 1) for x in row] for row in self.q] for head in range(3)]
        o = [plain_attention(one, self.k, self.v, "causal") for one in heads]

        def behind(x):
            return [[x[head][i] for head in range(3)] for i in range(48)]

        tensors = [behind(x) for x in (o, heads, [self.k] * 3, [self.v] * 3)]
        self.assertTrue(attoscope.judge(*tensors, mask="causal", layout="nhd").ok)
        with self.assertRaises(AssertionError) as caught:
            attoscope.assert_attention_close(*tensors, mask="causal")
        self.assertIn('say layout="nhd".', str(caught.exception))
        self.assertIn('say layout="hnd".', attoscope.judge(o, heads, [self.k] * 3, [self.v] * 3, mask="causal", layout="nhd").sentences[2])
        short = [behind(one)[:20] for one in ([self.k] * 3, [self.v] * 3)]
        self.assertIn('or layout="nhd"', self.sentence_of(attoscope.BadTensor, attoscope.judge, *tensors[:2], *short, mask="causal"))

    def test_numbers_of_heads(self):
        slopes, sinks = [0.5, 0.25, 0.0], [0.0, 1.0, -2.0]
        o = [plain_attention(self.q, self.k, self.v, "causal", slope=slope) for slope in slopes]
        tensors = [o, *([one] * 3 for one in (self.q, self.k, self.v))]
        found = attoscope.judge(*tensors, mask="causal", alibi=slopes)
        self.assertTrue(found.ok, str(found))
        self.assertEqual(([row["head"] for row in found.table], found.json["elements"]), ([0, 1, 2], 3 * 48 * 16))
        self.assertFalse(attoscope.judge(*tensors, mask="causal", alibi=0.5).ok)
        wrong = attoscope.judge(*tensors, mask="causal", alibi=[0.5, 0.5, 0.0], report=True)
        self.assertEqual([row["verdict"] for row in wrong.table], ["rounded", "wrong", "rounded"])
        self.assertIn("head 1", wrong.sentences[0])
        self.assertIn("<html", wrong.report)
        o = [plain_attention(self.q, self.k, self.v, "causal", sink=sink) for sink in sinks]
        self.assertTrue(attoscope.judge(o, *tensors[1:], mask="causal", sink=sinks).ok)
        self.assertTrue(attoscope.judge(o, *tensors[1:], mask="causal", sink=sinks, head=1).ok)
        scales = [0.25, 0.5, 0.125]
        o = [plain_attention(self.q, self.k, self.v, "causal", scale=scale) for scale in scales]
        self.assertTrue(attoscope.judge(o, *tensors[1:], mask="causal", scale=scales).ok)
        self.assertFalse(attoscope.judge(o, *tensors[1:], mask="causal", scale=scales[::-1]).ok)
        self.assertIn("--sink holds 2 numbers, expected 3, one for each head", self.sentence_of(attoscope.BadOption, attoscope.judge, *tensors, sink=[1.0, 2.0]))

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
