"""Options of `attoscope run` for the experiments whose digests a page compares with the native program's."""
import itertools

FORMATS = ("bf16", "fp16", "e4m3", "e5m2", "tf32", "fp32", "fp64", "e6m5")
FLASH = ("hw", "tile", "eager", "all_tile", "all_direct")
THREE_PASS = ("base_eager", "base_hw", "base_ops", "base_all", "base_floor")
ALGORITHMS = ("two_pass", "flash1", "flash2", "flash4", "split_kv")
INPUTS = ("normal", "uniform", "outliers", "ones", "constant:2", "ties", "ascending", "descending", "shuffled", "biased:3")
MASKS = ("none", "causal", "window:9", "window:5:3", "padding:11", "prefix:7", "chunk:16", "right_padding:6")
GPUS = ("v100", "a100", "ada", "h100", "b200")
OTHERS = (
    "--sink 0.5", "--softcap 5", "--alibi 0.125", "--order pairwise", "--order interleaved:4", "--kahan", "--reverse-keys",
    "--exponential exp2", "--exp2-degree 3", "--set a.O=main/stochastic", "--set a.P=e4m3/stochastic", "--n-k 100", "--d-v 24", "--rows 17",
    "--mask causal --n-k 80 --empty-rows nan", "--like sage2", "--like fa3_h100", "--like fa3_fp8", "--like nvfp4", "--hadamard --store-q int8/token",
    "--store-k e4m3/block:32/e8m0/ceil", "--smooth-k --store-k int8/token", "--store-v int8/token --smooth-v", "--format fp16 --tie-beta 2",
    "--format e4m3 --p-exponent 6", "--scale 40", "--scale 4000 --format fp16", "--format fp64 --policy all_tile --mask causal")
BACKWARD = ("", "--mask causal", "--policy eager --format fp16", "--gradient-order descending", "--gradient-order shuffled:3",
            "--gradient-order buffers:4", "--set a.grad.dS=e4m3", "--do ones", "--sink 1", "--format fp64")
SIZE = "--n {} --d {} --seed {} --block-q 16 --block-k {} --device cpu"


def experiments():
    """Returns 200 lists of words."""
    lines = [f"--format {f} --algorithm flash2 --policy {p} --baseline {b}" for f in FORMATS for p, b in zip(FLASH, THREE_PASS)]
    lines += [f"--format {f} --algorithm {a} --policy {p}" for a, (f, p) in itertools.product(ALGORITHMS, zip(FORMATS, (*FLASH, *FLASH[:3])))]
    lines += [f"--format fp16 --algorithm three_pass --policy {p}" for p in THREE_PASS]
    lines += [f"--input {i} --format {f} --policy tile" for i, f in itertools.product(INPUTS, ("bf16", "e4m3"))]
    lines += [f"--mask {m} --format {f} --algorithm {a}" for m, (f, a) in itertools.product(MASKS, (("bf16", "flash2"), ("fp16", "split_kv")))]
    lines += [f"--format {f} --accumulator {g} --flush {n}" for g, f, n in itertools.product(GPUS, ("fp16",), (-1, 0, 2))]
    lines += [*OTHERS, *(f"--backward {more}".strip() for more in BACKWARD)]
    lines += [f"--format e{x}m{y} --policy all_tile" for x, y in itertools.product((2, 3, 5, 8, 11), (0, 1, 4, 7, 10, 23, 40))][:200 - len(lines)]
    sizes = itertools.cycle(((64, 32, 16), (65, 33, 7), (96, 16, 32)))
    return [[*line.split(), *SIZE.format(n, d, number + 1, k).split()] for number, (line, (n, d, k)) in enumerate(zip(lines, sizes))]
