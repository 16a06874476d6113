"""`attoscope model`: the exact model compared with the same model in Python floats, and the contents of the answer."""
import json
import math
import os
import pathlib
import random
import signal
import struct
import subprocess
import time
import unittest

import tiny_model
from support import Case, write_safetensors
from tiny_model import HEADS, KINDS, LAYERS, VOCABULARY, WIDTH, TinyModel, f32, read_npy, write_tokens

from attoscope import program

TOKENS = random.Random(5).choices(range(VOCABULARY), k=21)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 96}


class Model(Case):
    def run_model(self, model, *options, code=0, shards=1, tokens=TOKENS, read=None, **environment):
        """(answer, error, the folder of --save)"""
        folder = pathlib.Path(self.made_folder())
        checkpoint = model if isinstance(model, str) else model.write(folder, shards)
        save = folder / "save"
        read = read or (["--text", tokens] if isinstance(tokens, str) else ["--tokens", write_tokens(folder / "t.npy", tokens)])
        words = [program.program(), "model", checkpoint, *read, "--json", "-", "--save", str(save), *options]
        done = subprocess.run(words, env={**os.environ, "XDG_CACHE_HOME": str(folder), **environment}, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else None, done.stderr, save

    def assert_near(self, found, expected, most):
        shape, numbers = found
        self.assertEqual(len(numbers), len(expected))
        self.assertEqual(math.prod(shape), len(expected))
        self.assertLess(max(abs(x - y) for x, y in zip(numbers, expected)), most)


class ExactModel(Model):
    def assert_exact(self, model, shards=1):
        answer, _, save = self.run_model(model, shards=shards)
        logits, states = model.run(TOKENS)
        largest = max(abs(x) for row in logits for x in row)
        self.assert_near(read_npy(save / "logits_exact.npy"), [x for row in logits for x in row], 1e-10 * largest)
        self.assert_near(read_npy(save / "hidden_exact.npy"), [x for state in states for row in state for x in row], 1e-10 * largest)
        self.assertEqual(read_npy(save / "hidden_exact.npy")[0], (LAYERS + 1, len(TOKENS), WIDTH))
        loss = 0
        for row, target in zip(logits, TOKENS[1:]):
            loss += (math.log(sum(math.exp(x) for x in row)) - row[target]) / (len(TOKENS) - 1)
        self.assertAlmostEqual(answer["exact"]["nll"], loss, 10)
        self.assertEqual(answer["parameters"], sum(len(x) * (len(x[0]) if isinstance(x[0], list) else 1) for x in model.tensors.values()))

    def test_every_layout_is_the_plain_model(self):
        for seed, kind in enumerate(KINDS):
            with self.subTest(kind):
                self.assert_exact(TinyModel(kind, seed))

    def test_null_in_a_config_is_no_value(self):
        model = TinyModel("llama", 1)
        model.config["tie_word_embeddings"] = None
        self.assert_exact(model)

    def test_options_that_change_nothing_are_named(self):
        _, error, _ = self.run_model(TinyModel("llama", 1), "--tau", "4")
        self.assertEqual(error, "attoscope: --tau changes nothing: a does not use it with its other settings\n")

    def test_shards_are_one_model(self):
        self.assert_exact(TinyModel("llama", 7), shards=3)

    def test_every_scaling_of_the_rotary_embedding(self):
        pairs = WIDTH // HEADS // 2
        for scaling, longest in (({"rope_type": "linear", "factor": 3.0}, 64), ({"rope_type": "dynamic", "factor": 4.0}, 16),
                                 ({"rope_type": "dynamic", "factor": 4.0}, 64),
                                 (LLAMA3, 1024),
                                 ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}, 2048),
                                 ({"rope_type": "longrope", "short_factor": [1.5] * pairs, "long_factor": [2.0, 5.0, 9.0],
                                   "original_max_position_embeddings": 16}, 64),
                                 ({"rope_type": "longrope", "short_factor": [1.5, 1.25, 2.0], "long_factor": [2.0] * pairs,
                                   "original_max_position_embeddings": 32}, 64)):
            with self.subTest(scaling["rope_type"], longest=longest):
                self.assert_exact(TinyModel("llama", 3, rope_scaling=scaling, max_position_embeddings=longest))

    def test_linear_scaling_in_a_gguf(self):
        kind, factor = ("llama.rope.scaling.type", "linear"), ("llama.rope.scaling.factor", 4.0)
        for keys in [kind, factor], [factor], [kind, ("llama.rope.scale_linear", 4.0)]:
            with self.subTest(keys):
                model = TinyModel("gguf", 3, rope_scaling={"rope_type": "linear", "factor": 4.0})
                model.metadata = keys
                self.assert_exact(model)
        model = TinyModel("gguf", 3)
        model.metadata = [("llama.rope.scaling.type", "none"), factor]
        self.assert_exact(model)

    def test_kernels_take_the_tiles_of_the_models_own_heads(self):
        answers = []
        for options in ((), ("--block-k", "128"), ("--block-k", "192")):  # fa3: 192 x 128 if causal, else 192 x 192
            answer, _, save = self.run_model(TinyModel("llama", 3), "--like", "fa3_h100", *options, tokens=TOKENS * 12)
            answers.append((save / "logits_a.npy").read_bytes())
        self.assertEqual(answers[0], answers[1])
        self.assertNotEqual(answers[0], answers[2])

    def test_the_same_bits_on_every_instruction_set_and_number_of_threads(self):
        for kind, around in (("qwen3", "exact"), ("qwen2", "hf_bf16"), ("llama", "fp32,norm=e5m7")):
            seen = set()
            for isa, threads in (("sse2", 2), ("avx2", 1), ("avx512", 2), ("avx512", 1)):
                try:
                    answer, _, save = self.run_model(TinyModel(kind, 11), "--around", around, "--threads", str(threads), "--format", "fp16",
                                                     ATTOSCOPE_ISA=isa)
                except AssertionError as error:
                    if "ATTOSCOPE_ISA is" in str(error):
                        continue
                    raise
                seen.add((json.dumps(answer), *((save / f).read_bytes() for f in sorted(os.listdir(save)))))
            self.assertEqual(len(seen), 1, (kind, around))

def log_softmax(row):
    top = max(row)
    return [x - top - math.log(sum(math.exp(y - top) for y in row)) for x in row]


class Measures(Model):
    def test_the_measures_are_those_of_the_saved_logits(self):
        answer, _, save = self.run_model(TinyModel("llama", 4), "--format", "e4m1")
        runs = {}
        for name in ("exact", "a", "b"):
            numbers = read_npy(save / f"logits_{name}.npy")[1]
            runs[name] = [log_softmax(numbers[i:i + VOCABULARY]) for i in range(0, len(numbers), VOCABULARY)]
        for key, x, other in (("a", "a", "exact"), ("b", "b", "exact"), ("a_b", "b", "a")):
            self.assert_measures(answer[key], runs[x], runs[other])
        self.assertGreater(answer["a"]["kl_mean"], 1e-4)  # e4m1 is coarse enough for a visible effect
        self.assertGreater(answer["a"]["top1_flips"] + answer["b"]["top1_flips"], 0)

    def assert_measures(self, said, x, other):
        kl = [sum(math.exp(p) * (p - q) for p, q in zip(a, b)) for a, b in zip(other, x)]
        moved = sorted(abs(a[t] - b[t]) for a, b, t in zip(x, other, TOKENS[1:]))
        expected = {"nll": -sum(row[t] for row, t in zip(x, TOKENS[1:])) / len(moved), "kl_mean": sum(kl) / len(kl), "kl_max": max(kl),
                    "top1_flips": sum(a.index(max(a)) != b.index(max(b)) for a, b in zip(x, other)),
                    "dlogp_mean_abs": sum(moved) / len(moved), "dlogp_median_abs": (moved[len(moved) // 2] + moved[(len(moved) - 1) // 2]) / 2,
                    "dlogp_max_abs": moved[-1], "mean_exp_abs_dlogp": sum(map(math.exp, moved)) / len(moved)}
        self.assertEqual(set(said), set(expected))
        for name, value in expected.items():
            self.assertAlmostEqual(said[name], value, delta=2e-5 * max(1, abs(value)), msg=name)  # logits of a, b are saved in fp32

    def test_without_rounding_nothing_moves(self):
        answer, _, _ = self.run_model(TinyModel("qwen2", 2), "--format", "fp64", "--policy", "exact", "--baseline", "base_floor")
        self.assertLess(answer["a"]["dlogp_max_abs"], 1e-12)
        self.assertLess(max(layer["a"]["hidden_rel_rms"] for layer in answer["layers"]), 1e-13)
        self.assertGreater(answer["yardsticks"]["bf16"]["dlogp_mean_abs"], 1e-4)

    def test_another_order_of_sums_is_a_yardstick(self):
        yardsticks = []
        for seed in range(6):
            model = TinyModel("qwen2", seed)
            for name, rows in model.tensors.items():
                if name.endswith("_proj.weight"):  # products of bf16 of so different sizes that their sums are rounded
                    rows[:] = [[v * 2.0 ** (i % 15 - 7) / 16 for i, v in enumerate(row)] for row in rows]
            yardsticks.append(self.run_model(model, tokens=TOKENS * 12)[0]["yardsticks"])
        self.assertGreater(max(y["order"]["dlogp_mean_abs"] for y in yardsticks), 0)
        for y in yardsticks:  # few of these roundings change; sums of 24 terms differ only in their last bits
            self.assertLess(y["order"]["dlogp_mean_abs"], y["bf16"]["dlogp_mean_abs"] / 2)

    def test_only_one_layer_or_head_is_rounded(self):
        model = TinyModel("llama", 9)
        one, _, _ = self.run_model(model, "--only", "1")
        self.assertEqual([layer["a"]["hidden_rel_rms"] > 0 for layer in one["layers"]], [False, True, True])
        head, _, _ = self.run_model(model, "--only", "1:2", "--attribute", "head")
        self.assertLess(head["layers"][1]["a"]["hidden_rel_rms"], one["layers"][1]["a"]["hidden_rel_rms"])
        self.assertEqual(head["attribution"], [{"layer": 1, "head": 2, "step": None, "share": 1.0}])

    def test_attribution_finds_the_head_that_alone_reaches_the_output(self):
        model = TinyModel("qwen3", 6)
        for layer in range(LAYERS):
            for row in model.tensors[f"model.layers.{layer}.self_attn.o_proj.weight"]:
                row[:] = [v if (layer, i // model.head_dim) == (1, 2) else 0.0 for i, v in enumerate(row)]
        none = {"head": None, "step": None}
        layers, _, _ = self.run_model(model, "--attribute", "layer")
        self.assertEqual(layers["attribution"], [{"layer": 1, **none, "share": 1.0}, {"layer": 0, **none, "share": 0.0},
                                                 {"layer": 2, **none, "share": 0.0}])
        heads, _, _ = self.run_model(model, "--attribute", "head")
        self.assertEqual([(s["layer"], s["head"]) for s in heads["attribution"] if s["share"] != 0], [(1, 2)])
        self.assertEqual((len(heads["attribution"]), heads["attribution"][0]["share"]), (LAYERS * HEADS, 1.0))
        steps, _, _ = self.run_model(model, "--attribute", "step", "--format", "fp32", "--policy", "tile", "--set", "a.S=e5m2",
                                     "--around", "exact,silu=fp16")
        self.assertEqual({s["step"] for s in steps["attribution"]}, {"input", "S", "m", "l", "O", "output", "around.silu"})
        self.assertEqual(steps["attribution"][0]["step"], "S")
        self.assertGreater(steps["attribution"][0]["share"], 0.9)


    def test_a_part_without_which_every_token_has_a_number_has_the_whole_share(self):
        model, options = TinyModel("llama", 1), ("--format", "e2m1", "--policy", "all_direct", "--attribute", "layer")
        one, _, _ = self.run_model(model, *options, "--only", "1")
        self.assertIsNone(one["a"]["dlogp_mean_abs"])
        self.assertEqual(one["attribution"], [{"layer": 1, "head": None, "step": None, "share": 1.0}])
        self.assertIn("without the rounding of layer 1 the mean is finite.", one["sentence"])
        every, _, _ = self.run_model(model, *options)
        self.assertEqual([s["share"] for s in every["attribution"]], [None] * LAYERS)
        self.assertIn("the mean is not finite, whichever of them does not round.", every["sentence"])


class Around(Model):
    def test_presets_and_single_steps(self):
        model, moved = TinyModel("llama", 8), {}
        for around in ("exact", "fp32", "hf_bf16", "fused", "exact,rope_position=e5m2", "fp32,norm=bf16"):
            answer, _, save = self.run_model(model, "--around", around, "--format", "fp32")
            moved[around] = answer["a"]["dlogp_mean_abs"]
            if around == "hf_bf16":
                bits = b"".join((save / "logits_a.npy").read_bytes()[-4 * VOCABULARY:][i:i + 2] for i in range(0, 4 * VOCABULARY, 4))
                self.assertEqual(bits, bytes(2 * VOCABULARY))  # every logit is exact in bf16
        self.assertLess(moved["exact"], moved["fp32"] * 10)
        self.assertLess(moved["fp32"], 1e-5)
        self.assertLess(moved["fp32"], moved["fp32,norm=bf16"] / 100)
        self.assertLess(moved["fp32,norm=bf16"], moved["hf_bf16"])
        self.assertGreater(moved["exact,rope_position=e5m2"], 1e-3)  # positions 9, 11, 13 .. are not exact in e5m2

    def test_bf16_is_the_yardstick(self):
        answer, _, _ = self.run_model(TinyModel("qwen2", 8), "--around", "hf_bf16")
        self.assertEqual(answer["b"], answer["yardsticks"]["bf16"])


    def saved_logits(self, model, around, run="a"):
        answer, _, save = self.run_model(model, "--around", around, "--format", "fp32", "--policy", "exact")
        return answer, (save / f"logits_{run}.npy").read_bytes()

    def test_choices_of_rotary_pairs_and_of_the_norms_weight(self):
        for kind, own, other in (("llama", "halves", "neighbours"), ("gguf", "neighbours", "halves")):
            model = TinyModel(kind, 5)
            plain = self.saved_logits(model, "exact")[1]
            self.assertEqual(self.saved_logits(model, f"exact,pairs={own}")[1], plain)
            self.assertGreater(self.saved_logits(model, f"exact,pairs={other}")[0]["a"]["kl_mean"], 1e-3)
        model = TinyModel("llama", 5)
        all_weights = self.saved_logits(model, "exact,weights=e5m2")[1]
        self.assertEqual(self.saved_logits(model, "exact,weights=e5m2,norm_weight=e5m2")[1], all_weights)
        self.assertNotEqual(self.saved_logits(model, "exact,weights=e5m2,norm_weight=exact")[1], all_weights)

    def test_the_variance_of_the_unrounded_residual(self):
        model = TinyModel("llama", 5)
        for rest in ("exact", "fp32"):
            self.assertEqual(self.saved_logits(model, rest)[1], self.saved_logits(model, rest + ",variance=unrounded")[1])
            self.assertNotEqual(self.saved_logits(model, rest + ",residual=e5m2")[1],
                                self.saved_logits(model, rest + ",residual=e5m2,variance=unrounded")[1])

    def test_pieces_of_sums_are_the_yardstick_of_order(self):
        answer, _, _ = self.run_model(TinyModel("qwen2", 8), "--around", "hf_bf16,pieces=8", "--policy", "base_eager")
        self.assertEqual(answer["a_b"]["dlogp_max_abs"], 0)
        plain, _, _ = self.run_model(TinyModel("qwen2", 8), "--around", "hf_bf16,pieces=1")
        self.assertEqual(plain["b"], plain["yardsticks"]["bf16"])

    def test_cross_entropy_by_the_recurrence_over_blocks(self):
        model = TinyModel("llama", 4)
        whole, _, _ = self.run_model(model, "--around", "exact", "--format", "e4m1")
        for block in (1, 7, 32, 48, 1000):  # exact: the order of sums alone
            answer, _, _ = self.run_model(model, "--around", f"exact,loss={block}", "--format", "e4m1")
            for key in ("nll", "kl_mean", "dlogp_mean_abs"):
                self.assertAlmostEqual(answer["a"][key], whole["a"][key], delta=1e-12)
        around = "fp32,loss=7,loss_exp=e5m2,loss_sum=e5m3,log_probability=e5m4"
        answer, _, save = self.run_model(model, "--around", around, "--format", "e4m1")
        numbers = read_npy(save / "logits_a.npy")[1]
        logp = [online_log_probability(numbers[i * VOCABULARY:(i + 1) * VOCABULARY], target, 7) for i, target in enumerate(TOKENS[1:])]
        self.assertAlmostEqual(answer["a"]["nll"], -sum(logp) / len(logp), delta=1e-9)
        self.assertGreater(abs(answer["a"]["nll"] - whole["a"]["nll"]), 1e-3)

    def test_tensor_cores_add_the_projections(self):
        model = TinyModel("qwen3", 8)
        bits = {sums: self.saved_logits(model, "hf_bf16,logits=fp32" + sums)[1] for sums in ("", ",sums=fma", ",sums=h100", ",sums=a2")}
        self.assertEqual(bits[""], bits[",sums=fma"])
        self.assertEqual(len({bits[""], bits[",sums=h100"], bits[",sums=a2"]}), 3)  # truncated towards zero at different bits
        answer, _ = self.saved_logits(model, "hf_bf16,sums=h100")
        self.assertLess(answer["a"]["kl_mean"], 10 * answer["yardsticks"]["bf16"]["kl_mean"])


def rounded(x, exponent_bits, mantissa_bits):
    """x rounded to nearest even, without overflow."""
    if x == 0:
        return x
    spacing = 2.0 ** (max(math.frexp(x)[1] - 1, 2 - 2 ** (exponent_bits - 1)) - mantissa_bits)
    return round(x / spacing) * spacing


def online_log_probability(row, target, block):
    """The recurrence in fp32 with the formats of the test: 16 interleaved partial sums in a block, added pairwise by halves."""
    m, total = -math.inf, 0.0
    for first in range(0, len(row), block):
        part = row[first:first + block]
        top = max(m, *part)
        chains = [0.0] * 16
        for i, x in enumerate(part):
            chains[i % 16] = f32(chains[i % 16] + rounded(math.exp(f32(x - top)), 5, 2))
        while len(chains) > 1:
            half = len(chains) // 2
            chains = [f32(a + b) for a, b in zip(chains[:half], chains[half:])]
        before = f32(total * f32(math.exp(f32(m - top)))) if first else 0.0
        total, m = rounded(f32(before + chains[0]), 5, 3), top
    return rounded(f32(row[target] - f32(m + f32(math.log(total)))), 5, 4)


class Attribution(Model):
    def test_shares_are_kept_and_found_again(self):
        model, cache = TinyModel("llama", 9), self.made_folder()
        first, error, _ = self.run_model(model, "--attribute", "head", XDG_CACHE_HOME=cache)
        self.assertEqual(error, "")
        again, error, _ = self.run_model(model, "--attribute", "head", XDG_CACHE_HOME=cache)
        self.assertEqual(error, f"{LAYERS * HEADS} of {LAYERS * HEADS} parts were known from an earlier run\n")
        self.assertEqual(again, first)
        self.assertIn(f"the rounding of layer {first['attribution'][0]['layer']} head {first['attribution'][0]['head']} ", first["sentence"])
        for options in (["--around", "fp32"], ["--policy", "eager"], ["--only", "1"], ["--no-cache"], ["--seed", "2"]):
            _, error, _ = self.run_model(model, "--attribute", "head", *options, XDG_CACHE_HOME=cache)
            self.assertEqual(error, "", options)
        for other, tokens in ((TinyModel("llama", 10), TOKENS), (model, TOKENS[1:])):
            self.assertEqual(self.run_model(other, "--attribute", "head", tokens=tokens, XDG_CACHE_HOME=cache)[1], "")

    def test_a_run_that_is_stopped_goes_on(self):
        model, folder = TinyModel("llama", 9), pathlib.Path(self.made_folder())
        words = [program.program(), "model", model.write(folder), "--tokens", write_tokens(folder / "t.npy", TOKENS * 100), "--attribute",
                 "head", "--json", str(folder / "out.json")]
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
        running = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while running.poll() is None and not list(folder.glob("attoscope/points/*.points")):
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=100)
        self.assertRegex(error, f"stopped after [0-9]+ of {LAYERS * HEADS} heads; those are kept, and the same command goes on from there")
        self.assertFalse((folder / "out.json").exists())
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, f"[1-9][0-9]* of {LAYERS * HEADS} parts were known")


class Texts(Model):
    def test_tokens_of_a_text_are_those_of_tokenizers(self):
        data = tiny_model.ROOT / "tests" / "data" / "tokenizers"
        for name, expected in json.loads((data / "tokens.json").read_text()).items():
            with self.subTest(name):
                folder = self.made_folder()
                checkpoint = TinyModel("llama", 1, vocab_size=360).write(folder)
                (pathlib.Path(folder) / "tokenizer.json").write_bytes((data / f"{name}.json").read_bytes())
                self.assert_same_tokens(checkpoint, str(data / "text.txt"), expected)

    def test_tokens_lie_in_any_file_of_tensors(self):
        model, folder = TinyModel("llama", 1), pathlib.Path(self.made_folder())
        ids = "I64", [1, len(TOKENS)], struct.pack(f"<{len(TOKENS)}q", *TOKENS)
        write_safetensors(folder / "t.safetensors", {"weights": ("F16", [2], struct.pack("<2e", 1, 1.5)), "input_ids": ids})
        expected = self.run_model(model)[0]
        for name in "t.safetensors", "t.safetensors:input_ids":
            self.assertEqual(self.run_model(model, read=["--tokens", str(folder / name)])[0], expected)
        self.assertIn("token 1.5 at place 1, expected a whole number", self.run_model(model, code=1, read=["--tokens", str(folder / "t.safetensors:weights")])[1])

    def assert_same_tokens(self, checkpoint, text, expected):
        of_text, _, of_text_files = self.run_model(checkpoint, tokens=text)
        of_tokens, _, of_tokens_files = self.run_model(checkpoint, tokens=expected)
        self.assertEqual(of_text["tokens"], len(expected))
        self.assertEqual((of_text_files / "logits_exact.npy").read_bytes(), (of_tokens_files / "logits_exact.npy").read_bytes())
        self.assertEqual(of_text, of_tokens)

    def test_a_gguf_has_its_own_tokenizer(self):
        data, folder = tiny_model.ROOT / "tests" / "data" / "tokenizers", pathlib.Path(self.made_folder())
        model = TinyModel("gguf", 1, vocab_size=360)
        checkpoint = model.write_gguf(folder / "tiny.gguf", json.loads((data / "smollm.json").read_text()))
        self.assert_same_tokens(checkpoint, str(data / "text.txt"), json.loads((data / "tokens.json").read_text())["smollm"])


class Refusals(Model):
    def refused(self, model, *parts, tokens=TOKENS, options=(), code=1):
        _, error, save = self.run_model(model, *options, code=code, tokens=tokens)
        for part in parts:
            self.assertIn(part, error)
        self.assertEqual(error.count("\n"), 1)
        self.assertFalse(save.exists())

    def changed(self, change, kind="llama", **config):
        model = TinyModel(kind, 1, **config)
        change(model.tensors)
        return model

    def test_wrong_checkpoints(self):
        up = "model.layers.2.mlp.up_proj.weight"
        self.refused(self.changed(lambda t: t.pop(up)), "has no tensor", up, "[40, 24]")
        self.refused(self.changed(lambda t: t.update({up: t[up][1:]})), up, "[39, 24], expected [40, 24]")
        self.refused(self.changed(lambda t: t.update({"model.layers.0.self_attn.sinks": [1.0]})), "sinks", "lacks")
        self.refused(self.changed(lambda t: t.pop("model.layers.1.self_attn.k_norm.weight"), "qwen3"), "k_norm", "[8]")
        self.refused(self.changed(lambda t: t.pop("model.layers.1.self_attn.k_proj.bias"), "qwen2"), "k_proj.bias")
        for kind, name, size in ("llama", "q_proj.bias", 24), ("qwen3", "o_proj.bias", 24), ("qwen2", "o_proj.bias", 24), ("qwen2", "q_norm.weight", 6):
            name = "model.layers.1.self_attn." + name
            self.refused(self.changed(lambda t: t.update({name: [1.0] * size}), kind), f"has tensor '{name}', which this layout")
        self.refused(self.changed(lambda t: t.pop("lm_head.weight")), "has no tensor 'lm_head.weight', expected one of shape [48, 24]")
        for kind in "llama", "qwen3":
            model = TinyModel(kind, 1)
            model.config.update(attention_bias=True)
            self.refused(model, "model.layers.0.self_attn.q_proj.bias", "expected one of shape")
        model = TinyModel("gguf", 1)
        model.metadata = [("llama.rope.scaling.attn_factor", 2.0)]
        self.refused(model, "llama.rope.scaling.attn_factor is '2", "expected 1")
        self.refused("/no/such/folder", "/no/such/folder", "config.json")

    def test_wrong_tokenizers(self):
        folder = pathlib.Path(self.made_folder())
        TinyModel("llama", 1).write(folder)
        for model, expected in (({"byte_fallback": True}, "model.byte_fallback is 'true', expected false"),
                                ({"dropout": 0.5}, "model.dropout is '0.5', expected null"), ({"end_of_word_suffix": "</w>"}, "model.end_of_word_suffix is"),
                                ({"continuing_subword_prefix": "##"}, "model.continuing_subword_prefix is"),
                                ({"dropout": 0, "end_of_word_suffix": "", "vocab": {"a": 1 << 24}}, "model.vocab.a is '16777216'"), ({"vocab": {"a": 1 << 24}}, "model.vocab.a is '16777216'")):
            rest = {"type": "BPE", "vocab": {"a": 1}, "merges": []}
            (folder / "tokenizer.json").write_text(json.dumps({"model": {**rest, **model}, "pre_tokenizer": {"type": "ByteLevel"}}))
            done = subprocess.run([program.program(), "model", str(folder), "--text", "licence"], capture_output=True, text=True, timeout=60)
            self.assertIn(expected, done.stderr)

    def test_wrong_configs(self):
        for config, *parts in (({"model_type": "gemma"}, "model_type is '\"gemma\"'", "qwen3"), ({"num_key_value_heads": 3}, "4 heads of Q over 3"),
                               ({"hidden_act": "gelu"}, "hidden_act is '\"gelu\"'", "silu"), ({"head_dim": 5}, "even number"),
                               ({"num_hidden_layers": 0}, "num_hidden_layers is '0'"), ({"hidden_size": "24"}, "hidden_size"),
                               ({"rope_scaling": {"rope_type": "mrope"}}, "rope_type is '\"mrope\"'", "llama3"),
                               ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
                                "rope_parameters.partial_rotary_factor is '0.5', expected 1"),
                               ({"rope_parameters": {"rope_type": "default"}, "rope_scaling": {"rope_type": "linear", "factor": 2}},
                                "expected null beside other rope_parameters"),
                               ({"num_hidden_layers": 1 << 19}, "524288 layers of 4 heads, expected at most 1048576 heads"),
                               ({"rope_scaling": {"rope_type": "linear"}}, "factor is missing"), ({"use_sliding_window": True}, "use_sliding_window"),
                               ({"model_type": "mistral", "sliding_window": 24},
                                "sliding_window is '24', expected null: every query sees all keys before it"),
                               ({"model_type": "mistral"}, "sliding_window is missing, expected null"),
                               ({"model_type": "qwen2", "layer_types": ["full_attention", "sliding_attention"]},
                                "layer_types[1] is '\"sliding_attention\"', expected 'full_attention'"),
                               ({"tie_word_embeddings": "no"}, "tie_word_embeddings is '\"no\"'", "true or false"),
                               ({"rope_scaling": {"rope_type": "yarn", "factor": 8.0, "beta_fast": 0}}, "beta_fast is '0', expected a number above 0"),
                               ({"rope_scaling": {"rope_type": "yarn", "factor": 8.0, "beta_slow": -1}}, "beta_slow is '-1', expected a number above 0"),
                               ({"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * 3, "long_factor": [1.0] * 3,
                                                  "original_max_position_embeddings": 1}},
                                "original_max_position_embeddings is '1', expected a number above 1"),
                               ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 16},
                                 "max_position_embeddings": None}, "max_position_embeddings is missing"),
                               *(({"rope_scaling": {k: v for k, v in LLAMA3.items() if k != key}}, f"{key} is missing") for key in LLAMA3 if key != "rope_type"),
                               ({"rope_scaling": {"rope_type": "linear", "original_max_position_embeddings": 16}}, "factor is missing"),
                               ({"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * 3, "long_factor": [1.0] * 3, "factor": 7.0,
                                                  "original_max_position_embeddings": 16}},
                                "rope_scaling.factor is '7.0', expected 4, max_position_embeddings over original_max_position_embeddings"),
                               ({"rope_scaling": "yarn"}, "rope_scaling is '\"yarn\"', expected an object or null"),
                               ({"rope_parameters": [1]}, "rope_parameters is 'array', expected an object or null"),
                               ({"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 8.0}}},
                                "rope_parameters.full_attention is 'object', expected one rule for all layers"),
                               ({"rope_scaling": {"rope_type": "yarn", "factor": 8.0, "attention_factor": -2}},
                                "rope_scaling.attention_factor is '-2', expected a number above 0"),
                               ({"quantization_config": {}}, "quantization_config")):
            model = TinyModel("llama", 1)
            model.config.update(config)
            self.refused(model, "config.json: ", *parts)
        model = TinyModel("llama", 1)
        model.config = []
        self.refused(model, "config.json: the document is 'array', expected an object")

    def test_no_output_replaces_a_file_of_the_checkpoint(self):
        for shards in 1, 3:
            folder = pathlib.Path(self.made_folder())
            checkpoint = TinyModel("llama", 1).write(folder, shards)
            for file in sorted(folder.iterdir()):
                for option in "--json", "--capture":
                    words = [program.program(), "model", checkpoint, "--text", "mit", option, str(file)]
                    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                    self.assertIn(f"checkpoint {file}: {option} writes this file, too", done.stderr)
            for _ in range(2):  # the second replaces the first, which is none of the checkpoint
                self.run_model(checkpoint, "--capture", str(folder / "run.safetensors"))

    def test_wrong_questions(self):
        model = TinyModel("llama", 1)
        self.refused(model, "token 48", "expected 0 to 47", tokens=[1, 48], code=2)
        self.refused(model, "there is 1 token, expected 2 or more", tokens=[1], code=2)
        self.refused(model, "--only names layer 3", options=("--only", "3"), code=2)
        for place in "1:", ":1", "x", "1:-1", "-1", "1:2:3":
            self.refused(model, f"--only is '{place}', expected L or L:H", options=(f"--only={place}",), code=2)
        self.refused(model, "--capture is '-', expected a file", options=("--capture", "-"), code=2)
        for setting in "a.grad.dS=fp32", "b.gradient=grad_hw":
            self.refused(model, f"--set is '{setting}', expected a setting of the forward pass", options=("--set", setting), code=2)
        self.refused(model, "--attribute is 'row'", options=("--attribute", "row"), code=2)
        self.refused(model, "'norms=bf16'", "square_sum", options=("--around", "fp32,norms=bf16"), code=2)
        self.refused(model, "24 significant bits", options=("--around", "fp32,norm=fp64"), code=2)
        for around, part in (("exact,sums=h100", "fp32, hf_bf16 or fused in front"), ("fp32,sums=h100", "one format of weights"),
                             ("hf_bf16,sums=v100", "v100 multiplies no bf16"), ("hf_bf16,sums=f64", "fma or a GPU"),
                             ("hf_bf16,sums=h100,pieces=2", "no pieces"), ("exact,pieces=0", "1 to 64"), ("exact,variance=no", "rounded or unrounded"),
                             ("exact,pairs=quarters", "halves or neighbours"), ("fp32,loss_sum=bf16", "loss=BLOCK"), ("exact,loss=0", "1 to")):
            self.refused(model, part, options=("--around", around), code=2)


if __name__ == "__main__":
    unittest.main()
