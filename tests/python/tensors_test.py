"""Tensors of every supported library, and their files."""
import array
import math
import os
import random
import resource
import signal
import struct
import sys
import time
import unittest

import attoscope
from attoscope.masks import mask_rows, mask_tensor, mask_text, part_of
from attoscope.tensors import check_attention, save_safetensors, tensor_of
from support import Case, FakeTorch, module, read_safetensors

numpy, ml_dtypes, torch = module("numpy"), module("ml_dtypes"), module("torch")


class Tensors(Case):
    def test_lists_are_float64(self):
        self.assertEqual(tensor_of([[1, 2.5], [3, 4]], "q"), ("F64", (2, 2), struct.pack("<4d", 1, 2.5, 3, 4)))
        self.assertEqual(tensor_of(([[1.0]], [[2.0]]), "q").shape, (2, 1, 1))

    def test_lists_that_are_no_tensor(self):
        for value in ([[1.0], [2.0, 3.0]], [[1.0], 2.0], [1.0, [2.0]], [["a"]], [[None]], [[[1.0]], [2.0]]):
            self.assertIn("regular nest", self.sentence_of(attoscope.BadTensor, tensor_of, value, "q"))

    def test_buffers(self):
        self.assertEqual(tensor_of(array.array("f", [1, 2]), "q"), ("F32", (2,), struct.pack("<2f", 1, 2)))
        self.assertIn("format 'i'", self.sentence_of(attoscope.BadTensor, tensor_of, array.array("i", [1]), "q"))
        for value in (None, 1.0, object()):
            self.assertIn("q is of type", self.sentence_of(attoscope.BadTensor, tensor_of, value, "q"))

    def test_every_element_type_of_torch_comes_from_the_device(self):
        for dtype, element, size in (("bfloat16", "BF16", 2), ("float16", "F16", 2), ("float32", "F32", 4), ("float64", "F64", 8),
                                     ("float8_e4m3fn", "F8_E4M3", 1), ("float8_e5m2", "F8_E5M2", 1)):
            data = bytes(range(6 * size))
            self.assertEqual(tensor_of(FakeTorch(dtype, (2, 3), data), "q"), (element, (2, 3), data))

    def test_torch_tensors_that_cannot_be_copied(self):
        lost = FakeTorch("bfloat16", (1, 1), b"ab", failure="CUDA error: out of memory.\nMore lines")
        self.assertEqual(self.sentence_of(attoscope.BadTensor, tensor_of, lost, "o"), "o cannot be copied from cuda:0: CUDA error: out of memory")
        self.assertIn("o holds int64", self.sentence_of(ValueError, tensor_of, FakeTorch("int64", (1, 1), b"12345678"), "o"))

    def test_shapes_that_are_no_attention(self):
        def shapes(**given):
            check_attention({name: tensor_of(FakeTorch("float32", shape, b""), name) if 0 in shape else
                             tensor_of(FakeTorch("float32", shape, bytes(4 * math.prod(shape))), name) for name, shape in given.items()})

        shapes(q=(4, 2), k=(4, 2), v=(4, 2), o=(4, 2))
        shapes(q=(1, 4, 8, 2), k=(1, 2, 8, 2), v=(1, 2, 8, 2), o=(1, 4, 8, 2))
        shapes(q=(1, 2), k=(9, 2), v=(9, 3), o=(1, 3))  # one query, and other columns of V
        four, two = (tensor_of(FakeTorch("float32", (1, 8, heads, 2), bytes(64 * heads)), "q") for heads in (4, 2))
        check_attention({"q": four, "k": two, "v": two, "o": four}, heads_last=True)
        for given, said in (({"q": (4,)}, "q has shape [4]"), ({"q": (0, 4)}, "none of them 0"), ({"q": (1, 1, 1, 4, 2)}, "expected [n, d]"),
                            ({"q": (4, 2), "k": (1, 4, 2)}, "same number of axes"), ({"q": (4, 2), "k": (5, 3)}, "expected the same d"),
                            ({"q": (4, 4, 2), "o": (2, 4, 2)}, "expected as many heads and tokens"),
                            ({"k": (4, 4, 2), "v": (4, 5, 2)}, "k has shape [4, 4, 2] and v [4, 5, 2], expected as many heads and tokens"),
                            ({"v": (4, 2), "o": (4, 3)}, "expected as many columns"),
                            ({"q": (4, 4, 2), "k": (3, 4, 2)}, "expected a divisor of 4")):
            self.assertIn(said, self.sentence_of(attoscope.BadTensor, shapes, **given))

    @unittest.skipUnless(numpy, "numpy is not here")
    def test_arrays_of_numpy(self):
        for order in "<>":
            for kind in ("f2", "f4", "f8"):
                values = numpy.arange(12, dtype=order + kind).reshape(3, 4).T  # neither contiguous nor native
                element, shape, data = tensor_of(values, "q")
                self.assertEqual((element, shape), ({"f2": "F16", "f4": "F32", "f8": "F64"}[kind], (4, 3)))
                self.assertEqual(numpy.frombuffer(data, "<" + kind).tolist(), values.flatten().tolist())
        self.assertIn("int64", self.sentence_of(attoscope.BadTensor, tensor_of, numpy.arange(3), "q"))

    @unittest.skipUnless(numpy and ml_dtypes, "ml_dtypes is not here")
    def test_arrays_of_ml_dtypes(self):
        for name, element in (("bfloat16", "BF16"), ("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2")):
            values = numpy.array([[1.0, -2.0]], dtype=getattr(ml_dtypes, name))
            self.assertEqual(tensor_of(values, "q"), (element, (1, 2), values.tobytes()))

    @unittest.skipUnless(numpy, "numpy is not here")
    def test_arrays_that_lost_the_type_of_ml_dtypes(self):
        for size in (1, 2):
            said = self.sentence_of(attoscope.BadTensor, tensor_of, numpy.zeros((1, 2), f"V{size}"), "q")
            self.assertIn(f"q holds void{8 * size}, expected float32 or a file of save_safetensors", said)

    @unittest.skipUnless(torch, "torch is not here")
    def test_tensors_of_torch(self):
        values = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4).T.requires_grad_()
        element, shape, data = tensor_of(values, "q")
        self.assertEqual((element, shape), ("BF16", (4, 3)))
        self.assertEqual(data, values.detach().contiguous().view(torch.uint8).numpy().tobytes())
        for bad in (values.to("meta"), values.to_sparse(), values.int()):
            self.sentence_of(attoscope.BadTensor, tensor_of, bad, "q")


class Files(Case):
    def test_what_is_written_is_there(self):
        file = os.path.join(self.folder, "a.safetensors")
        save_safetensors(file, {"q": [[1.0, 2.0]], "o": FakeTorch("bfloat16", (1, 2), b"abcd")}, {"mask": "causal"})
        self.assertEqual(read_safetensors(file), ({"q": ("F64", [1, 2], struct.pack("<2d", 1, 2)), "o": ("BF16", [1, 2], b"abcd")},
                                                  {"mask": "causal", "numbers": "arrays"}))
        self.assertEqual(os.listdir(self.folder), ["a.safetensors"])

    def test_a_file_that_cannot_be_written_leaves_nothing(self):
        said = self.sentence_of(attoscope.CouldNotRun, save_safetensors, os.path.join(self.folder, "no", "a.safetensors"), {"q": [[1.0]]})
        self.assertIn("No such file", said)

    def test_a_full_disk_keeps_the_file_before_and_leaves_nothing(self):
        file = os.path.join(self.folder, "a.safetensors")
        save_safetensors(file, {"q": [[1.0]]})
        before = read_safetensors(file)
        limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
            said = self.sentence_of(attoscope.CouldNotRun, save_safetensors, file, {"q": [[1.0] * 1000]})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        self.assertIn("cannot be written", said)
        self.assertEqual((read_safetensors(file), os.listdir(self.folder)), (before, ["a.safetensors"]))


class Masks(unittest.TestCase):
    def rows(self, n, first):
        return [[first(i) <= key <= i for key in range(n)] for i in range(n)]

    def test_masks_have_names(self):
        low = float("-inf")
        self.assertEqual(mask_text(None, 4), "none")
        self.assertEqual(mask_text([[True] * 3] * 3, 3), "none")
        self.assertEqual(mask_text([[True] * 3], 3), "none")  # one row for all queries
        self.assertEqual(mask_text(self.rows(5, lambda i: 0), 5), "causal")
        self.assertEqual(mask_text(self.rows(5, lambda i: max(0, i - 1)), 5), "window:2")
        self.assertEqual(mask_text(self.rows(5, lambda i: 2), 5), "padding:2")
        self.assertEqual(mask_text([[[[0.0, low], [0.0, 0.0]]]] * 2, 2), "causal")
        self.assertEqual(mask_text([[False] * 3] * 3, 3), "padding:3")  # it hides every key

    def test_masks_of_other_numbers_of_keys(self):
        def rows(n, n_k, sees):
            return [[sees(i, key) for key in range(n_k)] for i in range(n)]

        self.assertEqual(mask_text([[True] * 9], 1, 9), "none")  # a decoded token
        self.assertEqual(mask_text(rows(3, 7, lambda i, key: key <= i + 4), 3, 7), "causal")
        self.assertEqual(mask_text(rows(3, 7, lambda i, key: key <= i), 3, 7), "causal:top-left")
        self.assertEqual(mask_text(rows(3, 7, lambda i, key: i + 2 < key <= i + 4), 3, 7), "window:2")
        self.assertEqual(mask_text(rows(3, 7, lambda i, key: 2 <= key <= i + 4), 3, 7), "padding:2")
        self.assertEqual(mask_text(rows(7, 3, lambda i, key: key <= i - 4), 7, 3), "causal")  # the first queries see no key
        with self.assertRaisesRegex(attoscope.BadTensor, "its mask is 3 x 6, expected 3 x 7"):
            mask_text(rows(3, 6, lambda i, key: True), 3, 7)

    def libraries(self):
        """Functions that make a tensor of nested lists, one per installed library."""
        yield lambda rows: rows
        if numpy:
            yield numpy.array
        if torch:
            yield torch.tensor

    def test_every_library_says_the_same(self):
        source = random.Random(1)
        for _ in range(300):
            n, n_k = source.randint(1, 6), source.randint(1, 6)
            offset, first, width = source.choice((0, n_k - n)), source.randint(0, 2), source.randint(1, 4)
            seen = [[max(first, i + offset - width) <= j <= i + offset for j in range(n_k)] for i in range(n)]
            if source.random() < 0.3:
                seen[source.randrange(n)][source.randrange(n_k)] ^= True
            for values in (seen, [[0.0 if one else -math.inf for one in row] for row in seen]):
                rows = [mask_rows(make(values))[1] for make in self.libraries()]
                self.assertTrue(all(one == rows[0] for one in rows), values)
                for heads in ([[values] * 2] * 3, [[values, values]]):
                    self.assertTrue(all(one == rows[0][0] for make in self.libraries() for one in mask_rows(make(heads))[1]))

    def test_finite_numbers_that_hide_every_key_of_a_query_have_no_name(self):
        for make in self.libraries():
            for low in (-1e4, -65504.0):
                self.assertEqual(mask_text(make([[0.0, low], [0.0, 0.0]]), 2), "causal")
                with self.assertRaises(attoscope.BadTensor):
                    mask_text(make([[low, low, low], [low, 0.0, low], [low, 0.0, 0.0]]), 3)
                with self.assertRaises(attoscope.BadTensor):
                    mask_text(make([[low, low]]), 2)  # one row for all queries

    def test_integers_keep_where_they_are_1_as_in_a_file(self):
        for make in list(self.libraries())[1:]:  # numbers in lists are added
            for seen, text in (([[1, 0], [1, 1]], "causal"), ([[1, 1], [1, 1]], "none"), ([[0, 0], [0, 0]], "padding:2")):
                self.assertEqual(mask_text(make(seen), 2), text)
                self.assertEqual(mask_tensor(make(seen)), ("U8", (2, 2), bytes(seen[0] + seen[1])))
            with self.assertRaisesRegex(attoscope.BadTensor, "holds 3, expected 0 or 1"):
                mask_text(make([[1, 3], [1, 1]]), 2)

    def test_a_name_is_the_mask(self):
        def named(text, n, n_k):
            kind, _, ending = text.partition(":")
            width = int(ending) if ending.isdigit() else 0
            offset = 0 if "top-left" in text else n_k - n
            return [[(j <= i + offset and (kind != "window" or j > i + offset - width) and (kind != "padding" or j >= width)) or kind == "none"
                     for j in range(n_k)] for i in range(n)]

        for n in range(1, 5):
            for n_k in range(1, 5):
                for bits in range(1 << n * n_k):
                    mask = [[bool(bits >> (i * n_k + j) & 1) for j in range(n_k)] for i in range(n)]
                    if n * n_k > 9 and bits % 7:
                        continue  # a part of them
                    try:
                        text = mask_text(mask, n, n_k)
                    except attoscope.BadTensor:
                        for meant in ("none", "causal", "causal:top-left", "window:2", "padding:1"):
                            self.assertNotEqual(mask, named(meant, n, n_k))
                        continue
                    if text.count(":") < 2:
                        self.assertEqual(mask, named(text, n, n_k), text)

    def test_large_masks_take_less_than_a_tenth_of_a_second(self):
        n = 2048
        made = [numpy.tri(n, dtype=bool)] if numpy else []
        made += [torch.ones(n, n, dtype=torch.bool).tril(), torch.full((n, n), -math.inf, dtype=torch.bfloat16).triu(1)] if torch else []
        for mask in made:
            self.assertEqual(mask_text(mask, n), "causal")
            seconds = []
            for _ in range(5):
                begin = time.process_time()
                mask_text(mask, n)
                seconds.append(time.process_time() - begin)
            self.assertLess(min(seconds), 0.1)
            print(f"mask_text of 2048 x 2048, {type(mask).__module__} {mask.dtype}: {min(seconds) * 1000:.0f} ms", file=sys.stderr)

    def test_tokens_of_padded_sequences(self):
        def part(n, n_k, sees):
            found = part_of(mask_rows([[sees(i, j) for j in range(n_k)] for i in range(n)])[1][0])
            return found and (found.queries.start, found.queries.stop, found.keys.start, found.keys.stop, found.mask)

        self.assertEqual(part(6, 6, lambda i, j: 2 <= j <= i), (2, 6, 2, 6, "causal"))
        self.assertEqual(part(6, 6, lambda i, j: 2 <= j <= i or i < 2), (2, 6, 2, 6, "causal"))  # rows without a key see all
        self.assertEqual(part(6, 6, lambda i, j: max(2, i - 1) <= j <= i), (2, 6, 2, 6, "window:2"))
        self.assertEqual(part(6, 6, lambda i, j: j <= i and j < 4), (0, 4, 0, 4, "causal"))  # behind
        self.assertEqual(part(6, 6, lambda i, j: 1 <= j <= i and j < 4), (1, 4, 1, 4, "causal"))
        self.assertEqual(part(6, 6, lambda i, j: 1 <= j < 4), (0, 6, 1, 4, "none"))
        self.assertEqual(part(1, 6, lambda i, j: j >= 2), (0, 1, 2, 6, "none"))  # a decoded token
        self.assertEqual(part(2, 6, lambda i, j: 2 <= j <= i + 4), (0, 2, 2, 6, "causal"))
        for sees in (lambda i, j: j <= i or (i > 3 and j > 3), lambda i, j: j <= i and (i < 3) == (j < 3), lambda i, j: (i + j) % 2 == 0,
                     lambda i, j: j <= max(i, 2), lambda i, j: j == 0 or i - 1 <= j <= i, lambda i, j: False):
            self.assertIsNone(part(6, 6, sees))  # chunks, documents, a prefix, a sink

    def test_masks_that_have_none(self):
        for mask in ([[True, False], [False, True], [True, True]], [[True, False, True]] * 3, [[0.0, -1.5], [0.0, 0.0]], [True, False],
                     [[[True, False], [True, True]], [[True, True], [True, True]]], [[[True, True]], [[False, True]]]):
            with self.assertRaises(attoscope.BadTensor):
                mask_text(mask, 3 if len(mask[0] if isinstance(mask[0], list) else mask) == 3 else 2)


if __name__ == "__main__":
    unittest.main()
