"""capture: of own functions, of stand-ins for torch and transformers, and of the real libraries if installed."""
import math
import os
import resource
import struct
import sys
import types
import unittest
from unittest import mock

import attoscope
import attoscope.torch_hooks  # before a test replaces torch by other modules
from support import ROUNDED, Case, FakeTorch, module, plain_attention, random_matrix, read_safetensors

torch, transformers = module("torch"), module("transformers")


class Layer:
    """Attention of a model without libraries."""

    def __init__(self, name):
        self.name = name

    def attend(self, q, k, v, is_causal=False):
        return plain_attention(q, k, v, "causal" if is_causal else "none")

    def attend_batch(self, q, k, v, mask=None):
        """[batch][heads][n][d]; tokens that a sequence's mask shows to its last query are the sequence, all others are padding."""
        o = [[[list(row) for row in head] for head in batch] for batch in q]
        for number, (one, keys, values) in enumerate(zip(q, k, v)):
            seen = (mask[number] if len(mask) > 1 else mask[0])[0]
            first = seen[-1].index(True)
            for head in range(len(one)):
                o[number][head][first:] = plain_attention(one[head][first:], keys[head][first:], values[head][first:], "causal")
        return o

    def attend_behind_two(self, q, k, v, mask=None, is_causal=False):
        """The same, with two tokens of padding, whatever the mask."""
        return self.attend_batch(q, k, v, [[[[False, False, True]]]])


class OfOnesOwn(Case):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, "attention.safetensors")
        self.x = random_matrix(6, 4, 1)

    def captured(self, run, **options):
        with attoscope.capture(None, self.file, also=[(Layer, "attend")], **options) as captured:
            run()
        return captured

    def test_layers_are_one_file(self):
        before = Layer.attend
        captured = self.captured(lambda: [Layer(name).attend(self.x, self.x, self.x, is_causal=True) for name in ("first", "second")])
        self.assertEqual([(call.layer, call.file, call.first_head, call.heads) for call in captured.calls],
                         [("first", self.file, 0, 1), ("second", self.file, 1, 1)])
        tensors, metadata = read_safetensors(self.file)
        self.assertEqual(tensors["o"][:2], ("F64", [2, 6, 4]))
        self.assertEqual(metadata, {"mask": "causal", "layers": "first,second", "heads": "layer0.head0,layer1.head0", "numbers": "arrays"})
        self.assertEqual((captured.files, captured.skipped, captured.problem(self.file)), ([self.file], [], {"mask": "causal"}))
        self.assertIs(Layer.attend, before)

    def test_other_shapes_are_other_files(self):
        short = self.x[:3]
        captured = self.captured(lambda: [Layer("a").attend(x, x, x) for x in (self.x, short, self.x)])
        self.assertEqual(captured.files, [self.file, os.path.join(self.folder, "attention-2.safetensors")])
        self.assertEqual([call.first_head for call in captured.calls], [0, 0, 1])
        self.assertEqual(read_safetensors(captured.files[1])[0]["q"][1], [1, 3, 4])

    def test_calls_of_many_shapes_need_few_open_files(self):
        x = random_matrix(40, 2, 1)
        numbers, limits = [v for row in x for v in row], resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 40, limits[1]))
        captured = self.captured(lambda: [Layer("a").attend(x[:1], x[:n], x[:n]) for _ in range(2) for n in range(1, 41)])
        self.assertEqual(len(captured.files), 40)
        for n, file in enumerate(captured.files, 1):
            self.assertEqual(read_safetensors(file)[0]["k"], ("F64", [2, n, 2], struct.pack(f"<{4 * n}d", *(numbers[:2 * n] * 2))))

    def test_the_program_judges_what_was_captured(self):
        captured = self.captured(lambda: Layer("a").attend(self.x, self.x, self.x, is_causal=True))
        self.stand_in(ROUNDED)
        self.assertTrue(captured.judge(format="fp32")[0].ok)
        command, = self.commands()
        for word in (f"--o={self.file}:o", f"--q={self.file}:q", "--mask=causal", "--format=fp32"):
            self.assertIn(word, command)

    def test_arrays_are_judged_as_judge_does(self):
        def rounded(rows):  # to bf16
            return [[struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", v))[0] + 0x8000 & 0xffff0000))[0] for v in row]
                    for row in rows]

        x = rounded(random_matrix(32, 8, 1))
        with mock.patch.object(Layer, "attend", lambda self, q, k, v: rounded(plain_attention(q, k, v))):
            captured = self.captured(lambda: Layer("a").attend(x, x, x))
            verdicts = [*captured.judge(), attoscope.judge(Layer("b").attend(x, x, x), x, x, x)]
        self.assertEqual([(found.ok, found.json["format"]) for found in verdicts], [(True, "bf16")] * 2)

    def test_nothing_captured_is_an_error(self):
        self.assertIn("nothing was captured", self.sentence_of(attoscope.CouldNotRun, self.captured, lambda: None))
        self.assertEqual(os.listdir(self.folder), [])

    def test_another_run_of_a_capture_holds_only_its_own_calls(self):
        captured = self.captured(lambda: Layer("first").attend(self.x, self.x, self.x))
        with captured:
            Layer("second").attend(self.x[:3], self.x[:3], self.x[:3])
        self.assertEqual(([call.layer for call in captured.calls], captured.files), (["second"], [self.file]))
        self.assertEqual(read_safetensors(self.file)[0]["q"][1], [1, 3, 4])

    def test_a_capture_of_everything_is_not_judged(self):
        captured = attoscope.capture(None, self.file, everything=True)
        self.assertIn("attoscope model CHECKPOINT --against FILE", self.sentence_of(attoscope.BadOption, captured.judge))

    def test_a_model_that_fails_leaves_no_file_and_no_hook(self):
        before = Layer.attend
        with self.assertRaises(ZeroDivisionError):
            self.captured(lambda: (Layer("a").attend(self.x, self.x, self.x), 1 // 0))
        self.assertIs(Layer.attend, before)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_is_no_attention_is_skipped(self):
        narrow = [row[:3] for row in self.x]
        captured = self.captured(lambda: (Layer("one").attend(self.x, narrow, self.x), Layer("two").attend(self.x, self.x, self.x)))
        self.assertEqual(len(captured.calls), 1)
        self.assertIn("one: q has shape [6, 4] and k [6, 3], expected the same d", captured.skipped[0])

    def test_a_decoded_token_is_a_call_too(self):
        captured = self.captured(lambda: Layer("a").attend(self.x[-1:], self.x, self.x, is_causal=True))
        tensors, metadata = read_safetensors(self.file)
        self.assertEqual([tensors[role][1] for role in "qkvo"], [[1, 1, 4], [1, 6, 4], [1, 6, 4], [1, 1, 4]])
        self.assertEqual((metadata["mask"], captured.skipped), ("causal", []))

    def test_sequences_of_a_padded_batch_are_kept_one_by_one(self):
        n, padding = 12, (0, 3, 5)
        batch = [[random_matrix(n, 8, 10 * number + head) for head in range(2)] for number in range(3)]
        masks = [[[[first <= j <= i for j in range(n)] for i in range(n)]] for first in padding]
        with attoscope.capture(None, self.file, also=[(Layer, "attend_batch")]) as captured:
            for name in ("first", "second"):
                Layer(name).attend_batch(batch, batch, batch, mask=masks)
        self.assertEqual([(call.layer, call.sequence, call.first_head, call.heads) for call in captured.calls],
                         [(name, number, 2 * place, 2) for place, name in enumerate(("first", "second")) for number in range(3)])
        self.assertEqual([read_safetensors(file)[0]["q"][1] for file in captured.files], [[4, n - first, 8] for first in padding])
        self.assertEqual((captured.skipped, captured.notes), ([], []))
        verdicts = captured.judge()
        self.assertEqual([found.ok for found in verdicts], [True] * 3)
        wrong = [found.ok for found in captured.judge(mask="none")]
        self.assertEqual(wrong, [False] * 3)

    def test_padding_that_all_share_is_left_out_too(self):
        mask = [[[[2 <= j <= i or i < 2 for j in range(6)] for i in range(6)]]]  # queries at padding see all keys
        with attoscope.capture(None, self.file, also=[(Layer, "attend_batch")]) as captured:
            Layer("a").attend_batch([[self.x]], [[self.x]], [[self.x]], mask=mask)
        self.assertEqual((read_safetensors(self.file)[0]["o"][1], captured.problem(self.file)["mask"]), ([1, 4, 4], "causal"))

        low = -3.4028234663852886e38
        for mask in ([[[[0.0 if 2 <= j <= i else low for j in range(6)] for i in range(6)]]], [[[[low, low, 0.0, 0.0, 0.0, 0.0]]]]):
            with attoscope.capture(None, self.file, also=[(Layer, "attend_behind_two")]) as captured:
                Layer("a").attend_behind_two([[self.x]] * 2, [[self.x]] * 2, [[self.x]] * 2, mask=mask, is_causal=len(mask[0][0]) == 1)
            self.assertEqual(([call.sequence for call in captured.calls], captured.problem(self.file)), ([0, 1], {"mask": "causal"}))
            self.assertEqual([found.ok for found in captured.judge()], [True])

    def test_masks_without_a_name_are_kept_as_tensors(self):
        documents = [[i >= j and (i < 3) == (j < 3) for j in range(6)] for i in range(6)]
        bias = [[0.25 * (i - j) for j in range(6)] for i in range(6)]
        with attoscope.capture(None, self.file, also=[(Layer, "attend_batch")]) as captured:
            Layer("a").attend_batch([[self.x]], [[self.x]], [[self.x]], mask=[[documents]])
        tensors, metadata = read_safetensors(self.file)
        self.assertEqual(tensors["mask"], ("U8", [6, 6], bytes(int(x) for row in documents for x in row)))
        self.assertEqual((metadata["mask"], len(captured.calls), captured.skipped), ("none", 1, []))
        self.assertIn("the mask of a has no name here: it is kept as the tensor mask", captured.notes[0])
        self.assertEqual(captured.problem(self.file), {"mask": "none", "mask_file": self.file + ":mask"})
        self.assertEqual(len(captured.judge(mask="causal")), 1)  # an explicit value overrides this
        with attoscope.capture(None, self.file, also=[(Adding, "attend")]) as captured:
            Adding("b").attend(self.x, self.x, self.x, mask=bias)
            Adding("b").attend(self.x, self.x, self.x)
        self.assertEqual(read_safetensors(captured.files[0])[0]["mask"][:2], ("F64", [6, 6]))
        self.assertEqual([found.ok for found in captured.judge()], [False, True])  # it adds no bias
        with attoscope.capture(None, self.file, also=[(Masked, "attend")]) as captured:
            for name in ("c", "d"):
                Masked(name).attend(self.x, self.x, self.x, mask=documents, is_causal=True)
        self.assertEqual([found.ok for found in captured.judge()], [True])
        with attoscope.capture(None, self.file, also=[(Masked, "attend")]) as captured:
            Masked("e").attend(self.x, self.x, self.x, mask=[[j % 2 == 0 for j in range(6)] for _ in range(6)], is_causal=True)
        self.assertEqual(captured.problem(self.file), {"mask": "causal", "mask_file": self.file + ":mask"})
        self.assertEqual([found.ok for found in captured.judge()], [True])
        self.assertEqual([found.ok for found in captured.judge(mask="causal")], [False])

    def test_a_mask_may_change_from_call_to_call(self):
        mask = [[j <= i for j in range(6)] for i in range(6)]
        with attoscope.capture(None, self.file, also=[(Adding, "attend")]) as captured:
            for seen in (mask, [[True] * 6] * 6):
                mask[:] = seen
                Adding("a").attend(self.x, self.x, self.x, mask=mask)
        self.assertEqual([captured.problem(file)["mask"] for file in captured.files], ["causal", "none"])

    def test_nothing_captured_says_what_was_seen(self):
        said = self.sentence_of(attoscope.CouldNotRun, self.captured, lambda: None)
        self.assertIn("of the attention functions that are hooked (", said)
        self.assertIn("attend) none ran, no model was given; also=[(owner, \"name\")] hooks a function of your own", said)

    def test_functions_that_are_none(self):
        with self.assertRaises(attoscope.BadOption):
            attoscope.capture(None, self.file, also=[(Layer, "no_such")]).__enter__()

    def test_static_functions_stay_static(self):
        class Kernels:
            @staticmethod
            def attention(q, k, v):
                return plain_attention(q, k, v)

        with attoscope.capture(None, self.file, also=[(Kernels, "attention")]):
            Kernels().attention(self.x, self.x, self.x)
        self.assertIsInstance(vars(Kernels)["attention"], staticmethod)


class Masked(Layer):
    """A boolean mask together with a causal mask."""

    def attend(self, q, k, v, mask=None, is_causal=False):
        o = []
        for i, row in enumerate(q):
            keys = [j for j in range(len(k)) if mask[i][j] and (j <= i or not is_causal)]
            o += plain_attention([row], [k[j] for j in keys], [v[j] for j in keys])
        return o


class Adding(Layer):
    def attend(self, q, k, v, mask=None):
        return plain_attention(q, k, v)


def fake_libraries():
    """The parts of torch.nn.functional and transformers.modeling_utils that capture uses."""
    functional = types.ModuleType("torch.nn.functional")

    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        return query

    class AttentionInterface:
        functions = {"sdpa": lambda module, q, k, v, mask, **options: (
            FakeTransposed(functional.scaled_dot_product_attention(q, k, v, is_causal=True)), None)}

        def __getitem__(self, key):
            return self.functions[key]

    functional.scaled_dot_product_attention = scaled_dot_product_attention
    flex = types.ModuleType("torch.nn.attention.flex_attention")

    def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False):
        return (query, "lse") if return_lse else query

    flex.flex_attention = flex_attention
    flex.create_mask = lambda mask_mod, batch, heads, n, n_k, device: [
        [[[mask_mod(b, h, i, j) for j in range(n_k)] for i in range(n)] for h in range(heads)] for b in range(batch)]
    modeling = types.ModuleType("transformers.modeling_utils")
    modeling.AttentionInterface = AttentionInterface
    model = types.ModuleType("a_model")
    model.attend, model.flex = scaled_dot_product_attention, flex_attention  # imported by name
    return {"torch.nn.functional": functional, "transformers.modeling_utils": modeling, "torch.nn.attention.flex_attention": flex,
            "a_model": model}


class FakeTransposed:
    def __init__(self, tensor):
        self.tensor = tensor

    def transpose(self, first, second):
        assert (first, second) == (1, 2)
        return self.tensor


class OfLibraries(Case):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, "attention.safetensors")
        self.libraries = fake_libraries()
        patch = mock.patch.dict(sys.modules, self.libraries)
        patch.start()
        self.addCleanup(patch.stop)
        self.functional = self.libraries["torch.nn.functional"]
        self.interface = self.libraries["transformers.modeling_utils"].AttentionInterface
        self.q = FakeTorch("bfloat16", (1, 2, 3, 1), b"abcdefghijkl")

    def test_torch(self):
        before = self.functional.scaled_dot_product_attention
        with attoscope.capture(None, self.file) as captured:
            self.functional.scaled_dot_product_attention(self.q, self.q, self.q, is_causal=True, scale=0.5)
            self.functional.scaled_dot_product_attention(self.q, self.q, self.q, dropout_p=0.1)
        self.assertIs(self.functional.scaled_dot_product_attention, before)
        self.assertEqual([call.layer for call in captured.calls], ["scaled_dot_product_attention"])
        self.assertIn("drops out 0.1", captured.skipped[0])
        self.assertEqual(captured.problem(self.file), {"mask": "causal", "scale": 0.5})
        self.assertEqual(read_safetensors(self.file)[0]["q"], ("BF16", [2, 3, 1], b"abcdefghijkl"))

    def test_torch_aligns_causal_masks_at_the_first_key(self):
        two = FakeTorch("bfloat16", (1, 2, 2, 1), b"abcdefgh")
        with attoscope.capture(None, self.file) as captured:
            self.functional.scaled_dot_product_attention(two, self.q, self.q, is_causal=True)
            self.functional.scaled_dot_product_attention(two, self.q, self.q, attn_mask=[[True, True, False], [True, True, True]])
        self.assertEqual([captured.problem(file)["mask"] for file in captured.files], ["causal:top-left", "causal"])

    def test_transformers_calls_are_recorded_once(self):
        before = self.interface.__getitem__
        module = types.SimpleNamespace(layer_idx=5, is_causal=True)
        with attoscope.capture(None, self.file) as captured:
            self.interface()["sdpa"](module, self.q, self.q, self.q, None, scaling=0.25)
        self.assertIs(self.interface.__getitem__, before)
        self.assertEqual([(call.layer, call.heads) for call in captured.calls], [("layer 5", 2)])
        self.assertEqual(captured.problem(self.file), {"mask": "causal", "scale": 0.25})

    def test_eager_functions_of_models_of_transformers(self):
        def eager_attention_forward(module, query, key, value, attention_mask, scaling, **options):
            return FakeTransposed(query), None

        model, module = types.ModuleType("transformers.models.a_model"), types.SimpleNamespace(layer_idx=5, is_causal=True)
        model.eager_attention_forward = eager_attention_forward
        with mock.patch.dict(sys.modules, {model.__name__: model}), attoscope.capture(None, self.file) as captured:
            model.eager_attention_forward(module, self.q, self.q, self.q, None, scaling=0.25)
        self.assertIs(model.eager_attention_forward, eager_attention_forward)
        self.assertEqual([(call.layer, call.heads) for call in captured.calls], [("layer 5", 2)])
        self.assertEqual(captured.problem(self.file), {"mask": "none", "scale": 0.25})

    def test_gpt2_hides_later_keys_by_itself(self):
        model = types.ModuleType("transformers.models.gpt2")
        model.eager_attention_forward = lambda module, query, key, value, attention_mask, **options: (FakeTransposed(query), None)
        for is_cross, mask in ((False, "causal"), (True, "none")):
            module = types.SimpleNamespace(layer_idx=0, bias=types.SimpleNamespace(shape=(1, 1, 8, 8)), is_cross_attention=is_cross)
            with mock.patch.dict(sys.modules, {model.__name__: model}), attoscope.capture(None, self.file) as captured:
                model.eager_attention_forward(module, self.q, self.q, self.q, None)
            self.assertEqual(captured.problem(self.file)["mask"], mask)

    def test_transformers_options_without_counterpart_are_skipped(self):
        module = types.SimpleNamespace(layer_idx=0, is_causal=True)
        with attoscope.capture(None, self.file) as captured:
            self.interface()["sdpa"](module, self.q, self.q, self.q, None, position_bias=[1.0])
            self.interface()["sdpa"](module, self.q, self.q, self.q, None, sliding_window=2, softcap=30.0)
        self.assertIn("position_bias", captured.skipped[0])
        self.assertEqual(captured.problem(self.file), {"mask": "window:2", "softcap": 30.0})

    def test_sinks_of_heads(self):
        module = types.SimpleNamespace(layer_idx=0, is_causal=True)
        with attoscope.capture(None, self.file) as captured:
            for sinks in ([1.0, -2.0], [0.5, 0.25]):
                self.interface()["sdpa"](module, self.q, self.q, self.q, None, s_aux=sinks)
        self.assertEqual(captured.problem(self.file), {"mask": "causal", "sink": [1.0, -2.0, 0.5, 0.25]})
        self.stand_in({**ROUNDED, "heads": 4})
        captured.judge()
        self.assertEqual([[word for word in command if word.startswith(("--head", "--sink"))] for command in self.commands()],
                         [["--sink=1.0,-2.0,0.5,0.25"]])

    def test_functions_that_a_module_has_imported(self):
        model = self.libraries["a_model"]
        before = model.attend, model.flex
        with attoscope.capture(None, self.file) as captured:
            model.attend(self.q, self.q, self.q)
            model.flex(self.q, self.q, self.q)
        self.assertEqual([call.layer for call in captured.calls], ["scaled_dot_product_attention", "flex_attention"])
        self.assertEqual((model.attend, model.flex), before)

    def test_flex_attention(self):
        block = types.SimpleNamespace(mask_mod=lambda b, h, i, j: i >= j, shape=(1, 1, 128, 128), kv_num_blocks=types.SimpleNamespace(device="cpu"))
        flex = self.libraries["torch.nn.attention.flex_attention"]
        with attoscope.capture(None, self.file) as captured:
            flex.flex_attention(self.q, self.q, self.q, block_mask=block, scale=0.5, return_lse=True)
        self.assertEqual((captured.problem(self.file), captured.skipped), ({"mask": "causal", "scale": 0.5}, []))

    def test_calls_with_unknown_arguments_run_all_the_same(self):
        functional = self.functional
        functional.scaled_dot_product_attention = lambda *_, **__: "ran"
        with attoscope.capture(None, self.file) as captured:
            self.assertEqual(functional.scaled_dot_product_attention(self.q, self.q, self.q, of_next_year=1), "ran")
            self.libraries["torch.nn.attention.flex_attention"].flex_attention(self.q, self.q, self.q)
        self.assertIn("was called with unknown arguments", captured.skipped[0])


@unittest.skipUnless(torch, "torch is not here")
class OfTorch(Case):
    def test_layers_have_the_names_of_modules(self):
        functional = torch.nn.functional

        class Attention(torch.nn.Module):
            def forward(self, x):
                return functional.scaled_dot_product_attention(x, x, x, is_causal=True)

        model = torch.nn.Sequential(Attention(), torch.nn.Identity(), Attention())
        file = os.path.join(self.folder, "attention.safetensors")
        with attoscope.capture(model, file) as captured:
            model(torch.randn(1, 2, 32, 16, dtype=torch.bfloat16))
        self.assertEqual([call.layer for call in captured.calls], ["0", "2"])
        self.assertEqual(model[0]._forward_hooks, {})
        self.assertTrue(captured.judge()[0].ok)

    def captured(self, run, model=None):
        self.number = getattr(self, "number", 0) + 1
        with attoscope.capture(model, os.path.join(self.folder, f"{self.number}.safetensors")) as captured, torch.no_grad():
            run()
        return captured

    def test_multi_head_attention(self):
        torch.manual_seed(1)
        x, was_fused = torch.randn(2, 20, 32), torch.backends.mha.get_fastpath_enabled()
        attention = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
        behind = torch.zeros(2, 20, dtype=torch.bool)
        behind[1, 15:] = True
        for options, masks, shapes in (({}, ["none"], [[8, 20, 8]]), ({"need_weights": False}, ["none"], [[8, 20, 8]]),
                                       ({"attn_mask": torch.ones(20, 20, dtype=torch.bool).triu(1)}, ["causal"], [[8, 20, 8]]),
                                       ({"key_padding_mask": behind}, ["none", "none"], [[4, 20, 8], [4, 15, 8]])):
            captured = self.captured(lambda: attention(x, x, x, **options))
            self.assertEqual([captured.problem(file)["mask"] for file in captured.files], masks)
            self.assertEqual([read_safetensors(file)[0]["k"][1] for file in captured.files], shapes)
            self.assertTrue(all(found.ok for found in captured.judge()))
        encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, batch_first=True), 2, enable_nested_tensor=False).eval()
        captured = self.captured(lambda: encoder(x), encoder)
        self.assertEqual([call.layer for call in captured.calls], ["layers.0.self_attn", "layers.1.self_attn"])
        self.assertEqual(torch.backends.mha.get_fastpath_enabled(), was_fused)
        self.assertFalse(hasattr(torch.bmm, "__wrapped__"))

    def test_flex_attention(self):
        flex = module("torch.nn.attention.flex_attention").nn.attention.flex_attention
        torch.manual_seed(1)
        q, k, v = (torch.randn(2, 4, 24, 16) for _ in range(3))
        slopes, documents = torch.tensor([0.5, 0.25, 0.125, 0.0625]), torch.arange(24) // 9
        causal = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 24, 24, device="cpu")
        packed = flex.create_block_mask(lambda b, h, i, j: (documents[i] == documents[j]) & (i >= j), None, None, 24, 24, device="cpu")
        for options, problem in (({"block_mask": causal}, {"mask": "causal"}),
                                 ({"score_mod": lambda s, b, h, i, j: torch.where(i >= j, s, -math.inf)}, {"mask": "causal"}),
                                 ({"score_mod": lambda s, b, h, i, j: 5 * torch.tanh(s / 5), "block_mask": causal}, {"mask": "causal", "softcap": 5.0}),
                                 ({"score_mod": lambda s, b, h, i, j: s + slopes[h] * (j - i), "block_mask": causal},
                                  {"mask": "causal", "alibi": slopes.tolist() * 2})):
            captured = self.captured(lambda: flex.flex_attention(q, k, v, **options))
            self.assertEqual(captured.problem(captured.files[0]), problem)
            self.assertTrue(captured.judge()[0].ok)
        captured = self.captured(lambda: flex.flex_attention(q, k, v, block_mask=packed))
        self.assertEqual(read_safetensors(captured.files[0])[0]["mask"][:2], ("U8", [24, 24]))
        self.assertTrue(captured.judge()[0].ok)
        self.assertIn("its score_mod has no counterpart here",
                      self.sentence_of(attoscope.CouldNotRun, self.captured, lambda: flex.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s * s)))

    def test_masks_of_scaled_dot_product_attention(self):
        torch.manual_seed(2)
        q, k, v = (torch.randn(2, 3, 16, 8) for _ in range(3))
        functional = torch.nn.functional
        kept = torch.rand(2, 3, 16, 16) > 0.3
        kept[:, :, range(16), range(16)] = True
        lowest = torch.zeros(2, 1, 16, 16).masked_fill(~kept[:, :1], torch.finfo(torch.float32).min)
        for mask, shape in ((kept, [6, 16, 16]), (kept[:1, :1], [16, 16]), (kept[:, :1], [6, 16, 16]), (kept[0], [6, 16, 16]),
                            (lowest, [6, 16, 16]), (torch.randn(16, 16), [16, 16]), (kept[0, 0], [16, 16])):
            captured = self.captured(lambda: [functional.scaled_dot_product_attention(q, k, v, attn_mask=mask) for _ in range(2)])
            kind, found, _ = read_safetensors(captured.files[0])[0]["mask"]
            self.assertEqual((kind, found, captured.skipped), ("U8" if mask.dtype == torch.bool else "F32",
                                                               shape if len(shape) == 2 else [2 * shape[0], *shape[1:]], []))
            self.assertTrue(captured.judge()[0].ok)
            self.assertFalse(captured.judge(mask="none")[0].ok)

    def test_a_function_imported_by_name(self):
        model = types.ModuleType("a_model_of_torch")
        exec("from torch.nn.functional import scaled_dot_product_attention", model.__dict__)
        q = torch.randn(1, 2, 16, 8)
        with mock.patch.dict(sys.modules, {"a_model_of_torch": model}):
            captured = self.captured(lambda: model.scaled_dot_product_attention(q, q, q))
        self.assertTrue(captured.judge()[0].ok)
        self.assertIs(model.scaled_dot_product_attention, torch.nn.functional.scaled_dot_product_attention)

    def test_modules_that_ran_are_named_where_nothing_was_captured(self):
        class OwnAttention(torch.nn.Module):
            def forward(self, x):
                return torch.softmax(x @ x.T, -1) @ x

        model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity(), torch.nn.Identity(), OwnAttention())
        said = self.sentence_of(attoscope.CouldNotRun, self.captured, lambda: model(torch.randn(4, 4)), model)
        self.assertIn("none ran, while 3 (OwnAttention), ", said)
        self.assertIn("and 2 more ran; also=[", said)
        self.assertIn("scaled_dot_product_attention, ", said)
        self.assertIn("no module of it ran", self.sentence_of(attoscope.CouldNotRun, self.captured, lambda: None, model))

    @unittest.skipUnless(transformers, "transformers is not here")
    def test_padded_batches_of_transformers(self):
        ids, there = torch.arange(36).reshape(3, 12), torch.ones(3, 12, dtype=torch.long)
        there[1, :3], there[2, 9:] = 0, 0
        for name in ("sdpa", "eager"):
            config = transformers.LlamaConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
                                              num_key_value_heads=2, vocab_size=50, attn_implementation=name)
            model = transformers.LlamaForCausalLM(config).eval()
            captured = self.captured(lambda: model(input_ids=ids, attention_mask=there), model)
            self.assertEqual([(call.layer[13:14], call.sequence) for call in captured.calls], [(layer, i) for layer in "01" for i in range(3)])
            self.assertEqual(sorted(read_safetensors(file)[0]["q"][1] for file in captured.files), [[8, 12, 8], [16, 9, 8]])
            self.assertTrue(all(found.ok for found in captured.judge()))
            self.assertFalse(any(found.ok for found in captured.judge(mask="none")))

    @unittest.skipUnless(transformers, "transformers is not here")
    def test_sinks_of_gpt_oss(self):
        config = transformers.GptOssConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, head_dim=8,
                                           num_key_value_heads=2, vocab_size=50, num_local_experts=2, num_experts_per_tok=1, sliding_window=4,
                                           attn_implementation="eager")
        model = transformers.GptOssForCausalLM(config).eval()
        for layer in model.model.layers:
            torch.nn.init.normal_(layer.self_attn.sinks)
        captured = self.captured(lambda: model(input_ids=torch.arange(12)[None]), model)
        problems = [captured.problem(file) for file in captured.files]
        self.assertEqual([problem["mask"] for problem in problems], ["window:4", "causal"])
        self.assertEqual([len(problem["sink"]) for problem in problems], [4, 4])
        self.assertTrue(all(found.ok for found in captured.judge()))
        self.assertFalse(any(found.ok for found in captured.judge(sink="none")))

    @unittest.skipUnless(transformers, "transformers is not here")
    def test_the_own_mask_of_gpt2(self):
        config = transformers.GPT2Config(n_embd=32, n_layer=1, n_head=4, vocab_size=50, attn_pdrop=0.0, attn_implementation="eager")
        model = transformers.GPT2LMHeadModel(config).eval()
        for mask in (None, torch.zeros(1, 1, 12, 12)):
            captured = self.captured(lambda: model.transformer.h[0].attn(torch.randn(1, 12, 32), attention_mask=mask), model)
            self.assertEqual([captured.problem(file)["mask"] for file in captured.files], ["causal"])
            self.assertTrue(all(found.ok for found in captured.judge()))

    @unittest.skipUnless(transformers, "transformers is not here")
    def test_a_model_of_transformers(self):
        for name in ("sdpa", "eager"):
            config = transformers.LlamaConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
                                              num_key_value_heads=2, vocab_size=50, attn_implementation=name)
            model = transformers.LlamaForCausalLM(config).eval()
            file = os.path.join(self.folder, name + ".safetensors")
            with attoscope.capture(model, file) as captured:
                model(input_ids=torch.arange(12)[None])
            self.assertEqual([call.layer for call in captured.calls], ["model.layers.0.self_attn", "model.layers.1.self_attn"])
            self.assertEqual(captured.problem(file)["mask"], "causal")
            self.assertTrue(captured.judge()[0].ok)


if __name__ == "__main__":
    unittest.main()
