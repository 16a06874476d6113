"""capture: of functions of one's own, of what looks like torch and transformers, and of these themselves where they are."""
import os
import sys
import types
import unittest
from unittest import mock

import attoscope
from support import ROUNDED, Case, FakeTorch, module, plain_attention, random_matrix, read_safetensors

torch, transformers = module("torch"), module("transformers")


class Layer:
    """Attention of a model that knows no library."""

    def __init__(self, name):
        self.name = name

    def attend(self, q, k, v, is_causal=False):
        return plain_attention(q, k, v, "causal" if is_causal else "none")


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
        self.assertEqual(metadata, {"mask": "causal", "layers": "first,second", "heads": "layer0.head0,layer1.head0"})
        self.assertEqual((captured.files, captured.skipped, captured.problem(self.file)), ([self.file], [], {"mask": "causal"}))
        self.assertIs(Layer.attend, before)

    def test_other_shapes_are_other_files(self):
        short = self.x[:3]
        captured = self.captured(lambda: [Layer("a").attend(x, x, x) for x in (self.x, short, self.x)])
        self.assertEqual(captured.files, [self.file, os.path.join(self.folder, "attention-2.safetensors")])
        self.assertEqual([call.first_head for call in captured.calls], [0, 0, 1])
        self.assertEqual(read_safetensors(captured.files[1])[0]["q"][1], [1, 3, 4])

    def test_the_program_judges_what_was_captured(self):
        captured = self.captured(lambda: Layer("a").attend(self.x, self.x, self.x, is_causal=True))
        self.stand_in(ROUNDED)
        self.assertTrue(captured.judge(format="fp32")[0].ok)
        command, = self.commands()
        for word in (f"--o={self.file}:o", f"--q={self.file}:q", "--mask=causal", "--format=fp32"):
            self.assertIn(word, command)

    def test_nothing_captured_is_an_error(self):
        self.assertIn("nothing was captured", self.sentence_of(attoscope.CouldNotRun, self.captured, lambda: None))
        self.assertEqual(os.listdir(self.folder), [])

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


def fake_libraries():
    """torch.nn.functional and transformers.modeling_utils, as far as capture looks at them."""
    functional = types.ModuleType("torch.nn.functional")

    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        return query

    class AttentionInterface:
        functions = {"sdpa": lambda module, q, k, v, mask, **options: (
            FakeTransposed(functional.scaled_dot_product_attention(q, k, v, is_causal=True)), None)}

        def __getitem__(self, key):
            return self.functions[key]

    functional.scaled_dot_product_attention = scaled_dot_product_attention
    modeling = types.ModuleType("transformers.modeling_utils")
    modeling.AttentionInterface = AttentionInterface
    return {"torch.nn.functional": functional, "transformers.modeling_utils": modeling}


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

    def test_transformers_options_without_counterpart_are_skipped(self):
        module = types.SimpleNamespace(layer_idx=0, is_causal=True)
        with attoscope.capture(None, self.file) as captured:
            self.interface()["sdpa"](module, self.q, self.q, self.q, None, s_aux=[1.0])
            self.interface()["sdpa"](module, self.q, self.q, self.q, None, sliding_window=2, softcap=30.0)
        self.assertIn("s_aux", captured.skipped[0])
        self.assertEqual(captured.problem(self.file), {"mask": "window:2", "softcap": 30.0})


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
