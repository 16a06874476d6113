#!/usr/bin/env python3
"""What ptxas made of the tensor-core kernel: no stack, the instructions of a tile of keys, and how many blocks run at once.

    hardware_sass_test.py [--table] FILE...   programs, libraries or objects; what they have no code for is not tested

--table prints what README.md has: the counts, and the bounds that follow from them.
"""
import re
import sys
import typing

import sass

KERNEL = re.compile(r"3mma9attentionINS0_5ShapeILi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)ELi(\d)EEELNS0_7FactorsE(\d)E")
FACTORS = {0: "fp16", 2: "bf16", 4: "e4m3"}  # of kernels/tensor_core/mma_instruction.cuh


class Kernel:
    """The numbers of a Shape (kernels/tensor_core/mma_layout.h), from the mangled name."""

    def __init__(self, usage):
        self.d, self.warps, self.row_tiles, self.block_k, self.bytes, factors = map(int, KERNEL.search(usage.function).groups())
        self.format, self.architecture, self.usage = FACTORS[factors], usage.architecture, usage
        self.block_q, self.row_bytes = 16 * self.warps * self.row_tiles, self.d * self.bytes
        own = 4 * 32 * self.warps * (1 if self.row_tiles == 1 else 1 + 2 * self.row_tiles)
        self.shared = self.row_bytes * (self.block_q + 4 * self.block_k) + own

    def __str__(self):
        return f"{self.format}, d {self.d}, {self.block_q} x {self.block_k}, sm_{self.architecture}"

    def is_empty(self):
        return self.architecture < (89 if self.format == "e4m3" else 80)

    def converts(self):
        """ptxas makes two products of fp16 of one of e4m3."""
        return self.format == "e4m3" and self.architecture // 10 in (9, 10)

    def products(self):
        """HMMA or QMMA of a warp and a tile of keys."""
        return self.row_tiles * self.block_k // 8 * (self.row_bytes // 32) * 2 * (2 if self.converts() else 1)

    def loads(self):
        """LDSM of a warp and a tile of keys: Q, K and V."""
        return self.row_bytes // 32 * (self.row_tiles + 2 * self.block_k // 16)

    def blocks_at_once(self):
        return sass.blocks_at_once(self.architecture, self.usage.registers, 32 * self.warps, self.usage.shared + self.shared)


def main_loop(code):
    """The loop over tiles of keys."""
    return max(sass.loops_of(code), key=lambda loop: sass.count(loop.instructions, "HMMA", "QMMA"), default=sass.Loop(0, []))


def faults(kernel, code):
    """In words, all that is not as planned."""
    if kernel.is_empty():
        return ["there are products"] if sass.count(code.instructions, "HMMA", "QMMA") else []
    loop, found = main_loop(code).instructions, []
    product = "QMMA" if kernel.format == "e4m3" and not kernel.converts() else "HMMA"

    def expect(what, has, planned):
        found.extend([f"{what}: {has}, expected {planned}"] if has != planned else [])

    expect("bytes of stack", kernel.usage.stack + kernel.usage.local, 0)
    expect("LDL and STL", sass.count(code.instructions, "LDL", "STL"), 0)
    expect(f"{product} in the loop", sass.count(loop, product), kernel.products())
    expect("LDSM in the loop", sass.count(loop, "LDSM"), kernel.loads())
    expect("ex2 in the loop", sass.count(loop, "MUFU.EX2"), kernel.row_tiles * (kernel.block_k // 2 + 2))
    expect("copies of 16 bytes in the loop", sass.count(loop, "LDGSTS"), 2 * kernel.block_k * kernel.row_bytes // 16 // (32 * kernel.warps))
    if kernel.shared + 1024 <= sass.MULTIPROCESSORS[kernel.architecture].shared and kernel.blocks_at_once() < 1:
        found.append("no block fits a multiprocessor")
    if kernel.architecture in (80, 90, 100) and kernel.d == 128 and (kernel.block_q, kernel.block_k) == (64, 64):
        expect("two blocks fit a multiprocessor", kernel.blocks_at_once() >= 2, True)
    return found


class Gpu(typing.NamedTuple):
    """What the bounds are made of, from the makers' data sheets; per multiprocessor and clock where it says so."""
    name: str
    architecture: int
    multiprocessors: int
    ghz: float
    hmma: int  # multiplications of HMMA with sums in fp32
    qmma: int
    fp32: int  # lanes of the FADD, FMUL and FFMA


GPUS = (Gpu("H200", 90, 132, 1.83, 2048, 0, 128), Gpu("A100", 80, 108, 1.41, 1024, 0, 64), Gpu("RTX 4090", 89, 128, 2.52, 256, 512, 128),
        Gpu("RTX 3060", 86, 28, 1.78, 256, 0, 128))


def clocks(gpu, kernel, loop):
    """What a warp's tile of keys takes at least of a multiprocessor, part by part."""
    copied = sass.count(loop, "LDGSTS") * 32 * 16
    return {"tensor cores": (sass.count(loop, "HMMA") * 2048 / gpu.hmma if kernel.format != "e4m3" or kernel.converts()
                             else sass.count(loop, "QMMA") * 4096 / gpu.qmma),
            "shared memory": (sass.count(loop, "LDSM") * 512 + copied) / 128,
            "MUFU": sass.count(loop, "MUFU") * 2,
            "fp32": sass.count(loop, "FADD", "FMUL", "FFMA") * 32 / gpu.fp32,
            "issue": len(loop) / 4}


def bound_row(gpu, kernel, loop):
    """A line of the table of bounds: TFLOP/s if one part were all that takes time, and if none ran beside another."""
    parts = clocks(gpu, kernel, loop)
    flop = 4 * 16 * kernel.row_tiles * kernel.block_k * kernel.d
    teraflops = {name: flop / clock * gpu.multiprocessors * gpu.ghz / 1e3 for name, clock in parts.items()}
    least = min(teraflops, key=teraflops.get)
    return f"| {gpu.name} | {kernel.format} | {kernel.d} | " + " | ".join(f"{t:.0f}" for t in teraflops.values()) + f" | {least} |"


def row(kernel, loop):
    """A line of the table of counts."""
    counts = [sass.count(loop, *names) for names in (("HMMA", "QMMA"), ("LDSM",), ("MUFU",), ("FADD", "FMUL", "FFMA"), ("F2FP",), ("PRMT",))]
    copied = 2 * kernel.block_k * kernel.row_bytes
    cells = [kernel, kernel.usage.registers, kernel.shared, kernel.blocks_at_once(), len(loop), *counts, counts[1] * 512, copied]
    return "| " + " | ".join(map(str, cells)) + " |"


def tables(kernels):
    """The lines of both, of the shapes that README.md shows."""
    shown = [(k, main_loop(code).instructions) for k, code in kernels if not k.is_empty() and k.d in (64, 128) and k.block_k == 64]
    chosen = [(gpu, k, loop) for gpu in GPUS for k, loop in shown if k.architecture == gpu.architecture and k.block_q == 128]
    return [row(*x) for x in shown] + [bound_row(*x) for x in chosen]


def main():
    if not sass.can_read():
        print("SKIPPED: cuobjdump and nvdisasm, which come with the CUDA toolkit, are not both here")
        return sass.SKIPPED
    kernels = []
    for file in (x for x in sys.argv[1:] if x != "--table"):
        codes = {(c.architecture, c.function): c for c in sass.sass_of(file, KERNEL.pattern)}
        kernels += [(Kernel(u), codes[u.architecture, u.function]) for u in sass.resource_usage(file, KERNEL.pattern)
                    if u.architecture in sass.MULTIPROCESSORS]
    if "--table" in sys.argv:
        print("\n".join(tables(kernels)))
    found = [f"FAILED: {kernel} | {fault}" for kernel, code in kernels for fault in faults(kernel, code)]
    print("\n".join([*found, f"{len(kernels)} kernels, {len(found)} faults"]))
    if not kernels:
        print("SKIPPED: there is no code of ptxas for the tensor-core kernel")
        return sass.SKIPPED
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
