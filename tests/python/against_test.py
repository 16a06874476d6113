"""`attoscope model --against`: a planted difference is traced to its tensor and named, and correct runs have no findings."""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import unittest

from support import Case, read_safetensors, write_safetensors
from tiny_model import HEADS, KINDS, KV_HEADS, LAYERS, VOCABULARY, WIDTH, TinyModel, write_tokens

import attoscope
from attoscope import program

try:
    import torch
except ImportError:
    torch = None

TOKENS = random.Random(5).choices(range(VOCABULARY), k=300)


class Against(Case):
    def checkpoint(self, kind, seed=1):
        """(model, its path)"""
        model = TinyModel(kind, seed, max_position_embeddings=512)
        return model, model.write(self.made_folder())

    def asked(self, checkpoint, tokens, *options, code=0):
        """`tokens`: a list, or the file that holds them."""
        file = tokens if isinstance(tokens, str) else write_tokens(pathlib.Path(self.made_folder()) / "t.npy", tokens)
        done = subprocess.run([program.program(), "model", checkpoint, "--tokens", file, *options], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def captured(self, checkpoint, tokens, around, *options):
        """The file of a run by this program."""
        file = os.path.join(self.made_folder(), "run.safetensors")
        self.asked(checkpoint, tokens, "--around", around, "--capture", file, *options)
        return file

    def against(self, checkpoint, tokens, file, *options):
        return json.loads(self.asked(checkpoint, tokens, "--against", file, "--json", "-", *options))

    def assert_clean(self, answer, around):
        self.assertIsNone(answer["first_difference"])
        self.assertEqual((answer["against"]["differing"], answer["against"]["around"]), (0, around))

    def assert_traced(self, answer, layer, tensor, *words):
        found = answer["first_difference"]
        self.assertIsNotNone(found)
        self.assertEqual((found["layer"], found["tensor"]), (layer, tensor), found)
        self.assertGreater(float(found["ratio"]), 1)
        for word in words:
            self.assertIn(word, found["explanation"])


class OwnRuns(Against):
    """Runs of this program with one changed step."""

    def test_a_run_holds_its_tokens(self):
        checkpoint = self.checkpoint("llama")[1]
        file = self.captured(checkpoint, TOKENS[:40], "hf_bf16")
        answer = self.against(checkpoint, file, file)
        self.assert_clean(answer, "hf_bf16")
        self.assertEqual(answer, self.against(checkpoint, TOKENS[:40], file))

    def test_correct_runs_of_every_layout(self):
        for seed, kind in enumerate(KINDS):
            _, checkpoint = self.checkpoint(kind, seed + 20)
            for around, format_ in (("hf_bf16", "bf16"), ("fused", "bf16"), ("fp32", "fp32"), ("exact", "fp64")):
                with self.subTest(kind, around=around):
                    file = self.captured(checkpoint, TOKENS[:40], around, "--format", format_)
                    self.assert_clean(self.against(checkpoint, TOKENS[:40], file), around)

    def test_other_attention_and_another_order_of_sums_are_no_difference(self):
        for kind in KINDS:
            _, checkpoint = self.checkpoint(kind, 30)
            for policy in (("--policy", "hw"), ("--algorithm", "three_pass", "--policy", "base_eager")):
                with self.subTest(kind, policy=policy[-1]):
                    self.assert_clean(self.against(checkpoint, TOKENS[:40], self.captured(checkpoint, TOKENS[:40], "hf_bf16", *policy)), "hf_bf16")

    def test_a_logit_one_unit_off_is_no_difference(self):
        for kind in KINDS:
            with self.subTest(kind):
                _, checkpoint = self.checkpoint(kind, 32)
                file = self.captured(checkpoint, TOKENS[:40], "hf_bf16")
                tensors, _ = read_safetensors(file)
                format_, shape, data = tensors["logits"]
                write_safetensors(file, {**tensors, "logits": (format_, shape, bytes([data[0] ^ 1]) + data[1:])})
                self.assert_clean(self.against(checkpoint, TOKENS[:40], file), "hf_bf16")

    def test_named_choices_around_attention_are_no_difference(self):
        _, checkpoint = self.checkpoint("llama", 31)
        for around in ("hf_bf16,variance=unrounded", "hf_bf16,pairs=neighbours", "hf_bf16,norm_weight=exact"):
            with self.subTest(around):
                file = self.captured(checkpoint, TOKENS[:40], around)
                self.assert_clean(self.against(checkpoint, TOKENS[:40], file, "--around", around), around)
        self.assert_traced(self.against(checkpoint, TOKENS[:40], self.captured(checkpoint, TOKENS[:40], "hf_bf16,pairs=neighbours")), 0, "q_rope", "columns 2i and 2i + 1")

    def test_the_named_rounding_is_the_one_that_was_judged(self):
        _, checkpoint = self.checkpoint("llama", 31)
        steps = "weights normalised norm projection rope_table rope_product rope attention silu gated residual logits".split()
        half = ",".join(["hf_bf16", *(step + "=fp16" for step in steps)])
        file = self.captured(checkpoint, TOKENS[:40], half, "--format", "fp16")
        for options, guessed in ((), True), (("--around", half), False):
            answer = self.against(checkpoint, TOKENS[:40], file, *options)
            self.assert_clean(answer, half)
            self.assertEqual(answer["against"]["guessed"], guessed)
        answer = self.against(checkpoint, TOKENS[:40], file, "--around", "exact")["against"]
        self.assertEqual((answer["around"], answer["guessed"]), ("exact", False))

    def test_planted_differences_of_every_layout(self):
        for seed, kind in enumerate(KINDS):
            _, checkpoint = self.checkpoint(kind, seed)
            planted = (("hf_bf16,normalised=exact", 40, (), 0, "input_layernorm", "normalised row", "not rounded to bf16"),
                       ("fused,normalised=bf16", 40, (), 0, "input_layernorm", "normalised row", "is rounded to bf16"),
                       ("hf_bf16,rope_position=bf16", 300, (), 0, "q_rope", "positions are rounded to bf16"),
                       ("hf_bf16", 40, ("--set", "a.P=e4m3", "--only", "1:2"), 1, "attn_out", "head 2", "P is rounded to e4m3"),
                       ("hf_bf16,square_sum=bf16", 40, (), 0, "input_layernorm", "sum of squares"),
                       ("hf_bf16,gated=exact", 40, (), 0, "act", "product is not rounded"))
            for around, n, options, layer, tensor, *words in planted:
                with self.subTest(kind, around=around):
                    answer = self.against(checkpoint, TOKENS[:n], self.captured(checkpoint, TOKENS[:n], around, *options))
                    self.assert_traced(answer, layer, tensor, *words)
                    if "position" in around:  # 0 to 256 are exact in bf16
                        self.assertIn("first 257", answer["first_difference"]["where"])

    def test_the_preset_with_the_fewest_differing_operations_is_used(self):
        for kind in "llama", "qwen3":
            model, checkpoint = self.checkpoint(kind)
            swapped = {".1.": ".2.", ".2.": ".1."}
            model.tensors = {re.sub(r"\.[12]\.", lambda found: swapped[found[0]], name): x for name, x in model.tensors.items()}
            other = model.write(self.made_folder())
            for around in "hf_bf16", "fused":
                with self.subTest(kind, around=around):
                    answer = self.against(checkpoint, TOKENS[:40], self.captured(other, TOKENS[:40], around))
                    self.assert_traced(answer, 1, "input_layernorm", "no single change")
                    self.assertEqual(answer["against"]["around"], around)

    def test_layers_alone_are_enough(self):
        for seed, kind in enumerate(KINDS):
            _, checkpoint = self.checkpoint(kind, seed)
            for around, words in (("hf_bf16", None), ("hf_bf16,rope_position=bf16", "positions are rounded to bf16")):
                with self.subTest(kind, around=around):
                    kept = only(self.captured(checkpoint, TOKENS, around), lambda name: name.endswith((".output", "embed_tokens")))
                    answer = self.against(checkpoint, TOKENS, kept)
                    if words is None:
                        self.assert_clean(answer, "hf_bf16")
                    else:
                        self.assert_traced(answer, 0, "output", words)

    def test_few_differences_without_a_name_are_nearer_than_many_with_one(self):
        _, checkpoint = self.checkpoint("llama", 31)
        file = self.captured(checkpoint, TOKENS[:40], "hf_bf16")
        tensors, _ = read_safetensors(file)
        kept = {name: x for name, x in tensors.items() if name.endswith(("embed_tokens", "attn_out", "act"))}
        last = f"model.layers.{LAYERS - 1}.attn_out"
        format_, shape, data = kept[last]
        kept[last] = (format_, shape, data[:-64] + bytes(x ^ 128 if i % 2 else x for i, x in enumerate(data[-64:])))  # other signs
        answer = self.against(checkpoint, TOKENS[:40], write_safetensors(file, kept))
        self.assert_traced(answer, LAYERS - 1, "attn_out", "no single change")
        self.assertEqual(answer["against"]["around"], "hf_bf16")

    def test_log_probabilities_alone(self):
        _, checkpoint = self.checkpoint("llama", 3)
        right = logprobs_of(self.captured(checkpoint, TOKENS, "hf_bf16"), TOKENS)
        answer = self.against(checkpoint, TOKENS, right)
        self.assert_clean(answer, "hf_bf16")
        self.assertEqual(answer["against"]["tokens"], [])
        wrong = logprobs_of(self.captured(checkpoint, TOKENS, "hf_bf16,rope_position=bf16"), TOKENS)
        answer = self.against(checkpoint, TOKENS, wrong, "--around", "hf_bf16")
        self.assert_traced(answer, None, "logprobs", "positions are rounded to bf16")
        moved = answer["against"]["tokens"]
        self.assertGreater(len(moved), 3)
        self.assertGreater(min(t["position"] for t in moved), 257)  # token 258 is predicted at position 257
        self.assertEqual([t["id"] for t in moved], [TOKENS[t["position"]] for t in moved])

    def test_logits_far_off_in_their_only_place(self):
        checkpoint, other = self.checkpoint("llama", 3)[1], self.checkpoint("llama", 4)[1]
        kept = only(self.captured(other, TOKENS[:40], "hf_bf16"), lambda name: name == "logits")
        self.assert_traced(self.against(checkpoint, TOKENS[:40], kept), None, "logits")
        self.assertIn("has no rows of these 39 tokens", self.asked(checkpoint, TOKENS[:39], "--against", kept, code=1))

    def test_logits_alone(self):
        _, checkpoint = self.checkpoint("llama", 3)
        for around, format_ in ("fp32", "fp32"), ("hf_bf16", "bf16"):
            kept = only(self.captured(checkpoint, TOKENS[:40], around, "--format", format_), lambda name: name == "logits")
            self.assert_clean(self.against(checkpoint, TOKENS[:40], kept), around)

    def test_log_probabilities_are_aligned_by_their_tokens(self):
        _, checkpoint = self.checkpoint("llama", 3)
        file = self.captured(checkpoint, TOKENS, "hf_bf16")
        logprobs = logprobs_in(read_safetensors(file)[0], TOKENS)
        ids = "I32", [1, len(TOKENS)], struct.pack(f"<{len(TOKENS)}i", *TOKENS)
        both = write_safetensors(file, {"logprobs": logprobs, "input_ids": ids})
        answer = self.against(checkpoint, TOKENS[:40], both)
        self.assert_clean(answer, "hf_bf16")
        self.assertIn("dropped 260 rows behind the tokens", " ".join(answer["against"]["aligned"]))
        error = self.asked(checkpoint, [TOKENS[1], *TOKENS[1:40]], "--against", both, code=1)
        self.assertIn("'input_ids' has no rows of these 40 tokens", error)

    def test_the_tokens_that_move_most(self):
        _, checkpoint = self.checkpoint("llama", 4)
        answer = json.loads(self.asked(checkpoint, TOKENS[:40], "--json", "-", "--format", "e4m1"))
        most = answer["tokens_most"]
        moves = [abs(t["a"] - t["exact"]) for t in most]
        self.assertEqual((len(most), moves), (10, sorted(moves, reverse=True)))
        self.assertAlmostEqual(moves[0], answer["a"]["dlogp_max_abs"], 12)
        self.assertEqual([t["id"] for t in most], [TOKENS[t["position"]] for t in most])
        self.assertEqual({t["text"] for t in most}, {None})  # the model has no tokenizer


def only(file, keeps):
    return write_safetensors(file, {name: x for name, x in read_safetensors(file)[0].items() if keeps(name)})


def numbers(tensor):
    kind, _, data = tensor
    if kind == "BF16":
        return struct.unpack(f"<{len(data) // 2}f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    return struct.unpack(f"<{len(data) // 4}f", data)


def logprobs_of(file, tokens):
    return write_safetensors(file, {"logprobs": logprobs_in(read_safetensors(file)[0], tokens)})


def logprobs_in(tensors, tokens):
    from model_test import log_softmax

    logits = numbers(tensors["logits"])
    rows = [log_softmax(logits[i * VOCABULARY:(i + 1) * VOCABULARY]) for i in range(len(tokens) - 1)]
    found = [row[t] for row, t in zip(rows, tokens[1:])]
    return "F32", [len(found)], struct.pack(f"<{len(found)}f", *found)


class Alignment(Against):
    """The same run with the names, layouts and types of other programs."""

    def setUp(self):
        super().setUp()
        _, self.path = self.checkpoint("llama", 6)
        self.file = self.captured(self.path, TOKENS[:30], "hf_bf16")
        self.parts = read_safetensors(self.file)[0]

    def assert_aligned(self, tensors, *words):
        answer = self.against(self.path, TOKENS[:30], write_safetensors(self.file, tensors))
        self.assert_clean(answer, "hf_bf16")
        notes = " ".join(answer["against"]["aligned"])
        for word in words:
            self.assertIn(word, notes)
        return answer

    def padded(self, before, behind, fill=None):
        rows = {}
        for name, (kind, shape, data) in self.parts.items():
            row = len(data) // 30
            pad = (lambda k: b"\1" * (k * row)) if fill is None else (lambda k: fill * (k * row))
            if name != "tokens":
                rows[name] = (kind, [1, before + 30 + behind, *shape[1:]], pad(before) + data + pad(behind))
        return rows

    def test_padding_on_either_side(self):
        self.assert_aligned(self.padded(5, 0), "dropped 5 rows before")
        self.assert_aligned(self.padded(0, 7), "dropped 7 rows behind")
        self.assert_aligned(self.padded(1, 0), "dropped 1 row before")
        self.assert_aligned(self.padded(2, 3, b"\0"), "dropped 2 rows before", "dropped 3 rows behind")
        self.assert_aligned(self.padded(30, 2, b"\xff"), "dropped 30 rows before", "dropped 2 rows behind")  # NaN

    def test_tokens_of_another_length_are_ignored_with_a_note(self):
        kind, shape, data = self.parts["tokens"]
        cut = (kind, [29], data[:len(data) // 30 * 29])
        self.assert_aligned({**self.parts, "tokens": cut}, "ignored 'tokens' of shape [29], expected 30 tokens")
        answer = self.against(self.path, TOKENS[:30], write_safetensors(self.file, self.parts))
        self.assertNotIn("ignored", " ".join(answer["against"]["aligned"]))

    def test_a_batch_in_front_and_behind(self):
        front, behind = {}, {}
        for name, (kind, shape, data) in self.parts.items():
            if name == "tokens":
                continue
            row = len(data) // 30
            front[name] = (kind, [3, *shape], b"\0" * len(data) + data + b"\2" * len(data))
            behind[name] = (kind, [30, 2, *shape[1:]], b"".join(b"\2" * row + data[i * row:(i + 1) * row] for i in range(30)))
        self.assert_aligned(front, "sequence 1 of 3")
        self.assert_aligned(behind, "sequence 1 of 2")

    def test_a_profiling_pass_is_dropped(self):
        calls = {"call0." + name: (kind, shape, b"\0" * len(data)) for name, (kind, shape, data) in self.parts.items()}
        self.assert_aligned({**calls, **{"call1." + name: x for name, x in self.parts.items()}}, "call 0", "only zeros", "profiling")

    def test_pairs_of_hidden_and_residual_are_summed(self):
        pairs = {"embed_tokens": self.parts["model.embed_tokens"]}
        for layer in range(LAYERS):
            stream, middle = (numbers(self.parts[f"model.layers.{layer}.{part}"]) for part in ("output", "residual"))
            for i, x in enumerate(([a - b for a, b in zip(stream, middle)], middle)):
                pairs[f"model.layers.{layer}.{i}"] = ("F32", [30, WIDTH], struct.pack(f"<{30 * WIDTH}f", *x))
        answer = self.assert_aligned(pairs, f"summed the pair (hidden, residual) of {LAYERS} layers")
        self.assertEqual([(t["layer"], t["tensor"]) for t in answer["against"]["tensors"]], [(None, "embed_tokens"), *((i, "output") for i in range(LAYERS))])

    def test_names_of_other_programs(self):
        for names in ({"input_layernorm": "input_layernorm", "o_proj": "self_attention.linear_proj", "output": ""},
                      {"input_layernorm": "attention_norm", "o_proj": "attention.wo", "residual": "ffn_inp", "output": "hidden_states"}):
            for start in ("layer:{}, ", "decoder.layers.{}.", "model.layers[{}].", "blk.{}."):
                tensors = {start.format(i) + theirs: self.parts[f"model.layers.{i}.{ours}"] for i in range(LAYERS) for ours, theirs in names.items()}
                with self.subTest(start, names=names):
                    answer = self.assert_aligned(tensors)
                    self.assertEqual(len(answer["against"]["tensors"]), LAYERS * len(names))

    def test_hidden_states_of_hugging_face_end_with_the_last_norm(self):
        names = ["model.embed_tokens", *(f"model.layers.{i}.output" for i in range(LAYERS - 1)), "model.norm"]
        answer = self.assert_aligned({f"hidden_states.{i}": self.parts[name] for i, name in enumerate(names)})
        self.assertEqual([t["tensor"] for t in answer["against"]["tensors"]], ["embed_tokens", *["output"] * (LAYERS - 1), "norm"])

    def test_fused_projections(self):
        tensors = dict(self.parts)
        for layer in range(LAYERS):
            for fused, ours in (("self_attn.qkv_proj", "qkv"), ("mlp.gate_up_proj", ("gate", "up"))):
                three = [tensors.pop(f"model.layers.{layer}.{part}_proj") for part in ours]
                rows = [[data[i * len(data) // 30:(i + 1) * len(data) // 30] for i in range(30)] for _, _, data in three]
                tensors[f"model.layers.{layer}.{fused}"] = ("BF16", [30, sum(x[1][1] for x in three)], b"".join(b"".join(x) for x in zip(*rows)))
            tensors[f"model.layers.{layer}.mlp.act_fn"] = tensors.pop(f"model.layers.{layer}.act")  # SiluAndMul, after one fused projection
        self.assertEqual(len(self.assert_aligned(tensors)["against"]["tensors"]), len(self.parts) - 1)

    def test_keys_that_are_repeated_for_every_head_of_q(self):
        for name in [f"model.layers.{layer}.k_rope" for layer in range(LAYERS)]:
            kind, shape, data = self.parts[name]
            head = len(data) // (30 * KV_HEADS)
            heads = [data[i:i + head] * (HEADS // KV_HEADS) for i in range(0, len(data), head)]
            self.parts[name] = (kind, [30, HEADS * shape[1] // KV_HEADS], b"".join(heads))
        self.assertEqual(len(self.assert_aligned(self.parts)["against"]["tensors"]), len(self.parts) - 1)

    def test_bad_files_get_a_sentence(self):
        for tensors, *words in (({"x": self.parts["logits"]}, "has the name of a model's tensor"), ({"embed_tokens": ("F32", [2, 3], b"\0" * 24)}, "[2, 3]"),
                                ({"embed_tokens": ("F32", [30, WIDTH], struct.pack(f"<{30 * WIDTH}f", *([100.0] * 30 * WIDTH)))}, "no rows of these 30 tokens"),
                                ({"embed_tokens": ("I64", [30, WIDTH], b"\0" * 240 * WIDTH)}, "embed_tokens", "I64", "expected numbers"),
                                ({"logprobs": ("F32", [3], b"\0" * 12)}, "[3]", "expected [29]"),
                                ({"logprobs": ("F32", [29], struct.pack("<29f", *[2.5] * 29))}, "2.5 at token 1", "above 0")):
            error = self.asked(self.path, TOKENS[:30], "--against", write_safetensors(self.file, tensors), code=1)
            self.assertEqual(error.count("\n"), 1, error)
            for word in words:
                self.assertIn(word, error)


    def test_tokens_are_checked_before_the_run(self):
        for tokens, word in (([0, VOCABULARY], f"token {VOCABULARY} is not one"), ([], "0 tokens")):
            self.assertIn(word, self.asked(self.path, tokens, "--against", self.file, code=2))

    def test_log_probabilities_with_a_tensor_of_another_shape(self):
        logprobs = logprobs_in(self.parts, TOKENS[:30])
        for shape, size in ([5], 5), ([], 1):
            with self.subTest(shape=shape):
                other = "F32", shape, b"\0" * 4 * size
                self.assert_aligned({"logprobs": logprobs, "embed_tokens": other}, f"left out 'embed_tokens' of type F32 and shape {shape}", "30 tokens")

    def test_more_numbers_than_a_tensor_can_have(self):
        most = 1 << 31
        head = json.dumps({f"call{i}.embed_tokens": {"dtype": "F8_E4M3", "shape": [size], "data_offsets": [i * most, i * most + size]}
                           for i, size in enumerate((most, 1))}).encode()
        with open(self.file, "wb") as file:  # the zeros take no space
            file.write(struct.pack("<Q", len(head)) + head)
            file.truncate(8 + len(head) + most + 1)
        self.assertIn(f"{most} numbers, expected fewer than 2^31", self.asked(self.path, TOKENS[:30], "--against", self.file, code=1))

    def test_numbers_that_are_not_finite(self):
        kind, shape, data = self.parts["model.layers.1.up_proj"]
        self.parts["model.layers.1.up_proj"] = (kind, shape, data[:100] + b"\xc0\x7f" + data[102:])  # NaN
        answer = self.against(self.path, TOKENS[:30], write_safetensors(self.file, self.parts))
        self.assert_traced(answer, 1, "up_proj", f"1 of its {30 * shape[1]} numbers are infinite or NaN")

    def test_log_probabilities_that_are_not_finite_are_infinitely_far(self):
        kind, shape, data = logprobs_in(self.parts, TOKENS[:30])
        data = data[:12] + struct.pack("<f", -50) + data[16:36] + struct.pack("<f", float("nan")) + data[40:]
        answer = self.against(self.path, TOKENS[:30], write_safetensors(self.file, {"logprobs": (kind, shape, data)}))
        self.assert_traced(answer, None, "logprobs", "1 of its 29 numbers are infinite or NaN")
        self.assertEqual(answer["first_difference"]["ratio"], "inf")
        self.assertEqual([(t["position"], t["captured"]) for t in answer["against"]["tokens"][:2]], [(10, None), (4, -50)])


if torch:
    class Norm(torch.nn.Module):
        def __init__(self, weight, epsilon, plant):
            super().__init__()
            self.weight, self.epsilon, self.plant = weight, epsilon, plant

        def forward(self, x):
            y = x.to(wide(x))
            y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.epsilon)
            if self.plant == "norm":
                return (self.weight.float() * y).to(x.dtype)
            return self.weight * y.to(x.dtype)

    class SelfAttention(torch.nn.Module):
        def __init__(self, tiny, name, plant):
            super().__init__()
            self.d, self.plant, self.theta = tiny.head_dim, plant, tiny.config["rope_theta"]
            for part in "qkvo":
                setattr(self, part + "_proj", linear(tiny, f"{name}{part}_proj", plant))
            for part in "qk":
                if name + part + "_norm.weight" in tiny.tensors:
                    setattr(self, part + "_norm", Norm(weight(tiny, name + part + "_norm.weight"), tiny.config["rms_norm_eps"], ""))

        def forward(self, x):
            q, k, v = (getattr(self, part + "_proj")(x).unflatten(-1, (-1, self.d)) for part in "qkv")
            if hasattr(self, "q_norm"):
                q, k = self.q_norm(q), self.k_norm(k)
            q, k, v = (y.transpose(1, 2) for y in (q, k, v))
            position = torch.arange(x.shape[1]).to(wide(x))
            if self.plant == "position":
                position = position.bfloat16().float()
            angle = torch.outer(position, 1 / self.theta ** (torch.arange(0, self.d, 2).to(wide(x)) / self.d))
            cos, sin = (torch.cat((f(angle), f(angle)), -1).to(x.dtype) for f in (torch.cos, torch.sin))
            q, k = (y * cos + torch.cat((-y[..., self.d // 2:], y[..., :self.d // 2]), -1) * sin for y in (q, k))
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            if self.plant == "P":
                h, kv = 2, 2 * KV_HEADS // HEADS
                s = (q[:, h].float() @ k[:, kv].float().transpose(1, 2) * self.d ** -0.5).masked_fill(~torch.ones(x.shape[1], x.shape[1]).tril().bool(), -torch.inf)
                e = (s - s.amax(-1, keepdim=True)).exp()
                o[:, h] = (e.to(torch.float8_e4m3fn).float() @ v[:, kv].float() / e.sum(-1, keepdim=True)).to(x.dtype)
            return self.o_proj(o.transpose(1, 2).flatten(2))

    class Mlp(torch.nn.Module):
        def __init__(self, tiny, name):
            super().__init__()
            for part in ("gate", "up", "down"):
                setattr(self, part + "_proj", linear(tiny, f"{name}{part}_proj"))
            self.act_fn = torch.nn.SiLU()

        def forward(self, x):
            return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))

    class Layer(torch.nn.Module):
        def __init__(self, tiny, i, plant):
            super().__init__()
            name = f"model.layers.{i}."
            self.input_layernorm, self.post_attention_layernorm = (
                Norm(weight(tiny, name + part + ".weight"), tiny.config["rms_norm_eps"], plant if part.startswith("post") else "")
                for part in ("input_layernorm", "post_attention_layernorm"))
            self.self_attn, self.mlp = SelfAttention(tiny, name + "self_attn.", plant), Mlp(tiny, name + "mlp.")

        def forward(self, x):
            x = x + self.self_attn(self.input_layernorm(x))
            return x + self.mlp(self.post_attention_layernorm(x))

    class Stack(torch.nn.Module):
        def __init__(self, tiny, plant):
            super().__init__()
            self.embed_tokens = torch.nn.Embedding.from_pretrained(weight(tiny, "model.embed_tokens.weight"))
            self.layers = torch.nn.ModuleList(Layer(tiny, i, plant if i == 1 else "") for i in range(LAYERS))
            self.norm = Norm(weight(tiny, "model.norm.weight"), tiny.config["rms_norm_eps"], "")

        def forward(self, x):
            x = self.embed_tokens(x)
            for layer in self.layers:
                x = layer(x)
            return self.norm(x)

    class Language(torch.nn.Module):
        def __init__(self, tiny, plant, dtype):
            super().__init__()
            self.model = Stack(tiny, plant)
            self.lm_head = linear(tiny, "lm_head" if "lm_head.weight" in tiny.tensors else "model.embed_tokens")
            self.to(dtype)

        def forward(self, x):
            return self.lm_head(self.model(x))

    def wide(x):
        """The type for norms and angles."""
        return torch.promote_types(x.dtype, torch.float32)

    def weight(tiny, name):
        return torch.nn.Parameter(torch.tensor(tiny.tensors[name]), requires_grad=False)

    class ShortLinear(torch.nn.Linear):
        """Multiplies with inputs rounded to tf32."""

        def forward(self, x):
            x, w = (((t.view(torch.int32) + 0xfff + (t.view(torch.int32) >> 13 & 1)) & ~0x1fff).view(torch.float32) for t in (x, self.weight))
            return torch.nn.functional.linear(x, w, self.bias)

    def linear(tiny, name, plant=""):
        matrix, bias = weight(tiny, name + ".weight"), tiny.tensors.get(name + ".bias")
        made = (ShortLinear if plant == "tf32" else torch.nn.Linear)(*reversed(matrix.shape), bias=bias is not None)
        made.weight = matrix
        if bias is not None:
            made.bias = weight(tiny, name + ".bias")
        return made


class Torch(Against):
    """A plain transcription in torch, whose modules have Hugging Face's names; a difference is planted in layer 1."""

    def setUp(self):
        super().setUp()
        if torch is None:
            print("against_test: torch is not here: no run of another program was captured", file=sys.stderr)
            self.skipTest("torch is not here")

    def torch_run(self, tiny, tokens, plant="", dtype=None, batch=None):
        file = os.path.join(self.made_folder(), "torch.safetensors")
        model = Language(tiny, plant, dtype or torch.bfloat16)
        with attoscope.capture(model, file, everything=True) as captured, torch.no_grad():
            model(torch.tensor(batch or [tokens]))
        self.assertEqual((captured.files, captured.skipped), ([file], []))
        return file

    def test_correct_runs(self):
        for seed, kind in enumerate(("llama", "qwen2", "qwen3")):
            for dtype, around in ((torch.bfloat16, "hf_bf16"), (torch.float32, "fp32"), (torch.float64, "exact")):
                with self.subTest(kind, around=around):
                    tiny, checkpoint = self.checkpoint(kind, seed + 40)
                    answer = self.against(checkpoint, TOKENS, self.torch_run(tiny, TOKENS, dtype=dtype))
                    self.assert_clean(answer, around)
                    tensors = {t["tensor"] for t in answer["against"]["tensors"]}
                    self.assertLessEqual({"embed_tokens", "input_layernorm", "q_proj", "q_rope", "k_rope", "attn_out", "o_proj", "residual", "act",
                                          "down_proj", "output", "norm", "logits"}, tensors)

    def test_planted_differences_are_traced(self):
        for seed, kind in enumerate(("llama", "qwen2", "qwen3")):
            for plant, tensor, words in (("norm", "post_attention_layernorm", ("normalised row", "not rounded to bf16")),
                                         ("position", "q_rope", ("positions are rounded to bf16",)), ("P", "attn_out", ("head 2", "P is rounded to e4m3"))):
                with self.subTest(kind, plant=plant):
                    tiny, checkpoint = self.checkpoint(kind, seed + 50)
                    answer = self.against(checkpoint, TOKENS, self.torch_run(tiny, TOKENS, plant))
                    self.assert_traced(answer, 1, tensor, *words)
                    self.assertEqual({t["layer"] for t in answer["against"]["tensors"] if t["ratio"] > 1}, {1})

    def test_short_factors_are_named(self):
        tiny, checkpoint = self.checkpoint("llama", 53)
        answer = self.against(checkpoint, TOKENS, self.torch_run(tiny, TOKENS, "tf32", torch.float32))
        self.assert_traced(answer, 1, "q_proj", "the factors of projections are rounded to tf32")

    def test_a_padded_batch(self):
        tiny, checkpoint = self.checkpoint("llama", 60)
        tokens = TOKENS[:30]
        file = self.torch_run(tiny, tokens, batch=[[1] * 40, tokens + [0] * 10])
        self.assert_clean(self.against(checkpoint, tokens, file), "hf_bf16")
        file = self.torch_run(tiny, tokens, batch=[[0] * 10 + tokens, [1] * 40])  # the tokens see the padding, and positions begin at 10
        self.assert_traced(self.against(checkpoint, tokens, file), 0, "q_rope", "first token has position 10")


class RealModel(Against):
    """The numbers of SmolLM2-135M in lesson 18 and kernels/model/README.md."""

    def test_the_median_token(self):
        caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        model, text = caches / "attoscope" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf", "/usr/share/common-licenses/GPL-3"
        if not model.exists() or not os.path.exists(text):
            print("against_test: SmolLM2-135M (app/fetch-model) or the text of the GPL is missing: numbers of lesson 18 were not computed", file=sys.stderr)
            self.skipTest("the model is not here")
        done = subprocess.run([program.program(), "model", str(model), "--text", text, "--limit", "128", "--json", "-"], capture_output=True, text=True, timeout=600)
        answer = json.loads(done.stdout)
        self.assertEqual(f"{answer['a']['dlogp_median_abs']:.2g}", "0.0063")
        self.assertEqual(f"{answer['yardsticks']['bf16']['dlogp_median_abs']:.2g}", "0.029")
        self.assertTrue(all(t["text"] for t in answer["tokens_most"]))


if __name__ == "__main__":
    unittest.main()
