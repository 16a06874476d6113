#!/usr/bin/env python3
"""What ptxas made of the tensor-core kernel: no stack, the instructions of a tile of keys, and how many blocks run at once.

    hardware_sass_test.py FILE...   programs, libraries or objects; what they have no code for is not tested
"""
import re
import sys

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


def row(kernel, code):
    """A line of the table in README.md."""
    loop = main_loop(code).instructions
    counts = [sass.count(loop, *names) for names in (("HMMA", "QMMA"), ("LDSM",), ("MUFU",), ("F2FP",), ("PRMT",), ("LDGSTS",))]
    cells = [str(kernel), kernel.usage.registers, kernel.shared, kernel.blocks_at_once(), len(loop), *counts]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    if not sass.cuobjdump():
        print("SKIPPED: there is no cuobjdump, which comes with the CUDA toolkit")
        return sass.SKIPPED
    failed = tested = 0
    for file in sys.argv[1:]:
        codes = {(c.architecture, c.function): c for c in sass.sass_of(file, KERNEL.pattern)}
        for usage in sass.resource_usage(file, KERNEL.pattern):
            kernel, code = Kernel(usage), codes[usage.architecture, usage.function]
            if usage.architecture not in sass.MULTIPROCESSORS:
                continue
            tested += 1
            for fault in faults(kernel, code):
                failed += 1
                print(f"FAILED: {kernel} | {fault}")
            if not kernel.is_empty():
                print(row(kernel, code))
    print(f"{tested} kernels, {failed} faults")
    if tested == 0:
        print("SKIPPED: there is no code of ptxas for the tensor-core kernel")
        return sass.SKIPPED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
