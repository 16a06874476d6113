#!/usr/bin/env python3
"""What ptxas made of the emulated kernels is what the plan in README.md counts on: registers, stack, blocks at once, no stack
access in the loops that count, most instructions of the products' loops fma, operands copied 16 bytes at a time, arrays
read and written as global or shared memory.

    attention_sass_test.py FILE     a program, library or object with the kernels
"""
import sys
import typing

import sass

FMA = ("FFMA", "DFMA")
LOCAL = ("LDL", "STL")
GENERIC = ("LD", "ST", "ATOM")  # the address may lie in any memory


class Plan(typing.NamedTuple):
    registers: int      # of a thread, at most
    stack: int          # bytes of a thread, at most
    threads: int        # of a block
    shared: int         # bytes of a block
    blocks: int         # at once, at least
    full_products: int  # loops of which at least half is fma, at least


SLABS, KEYS, ROWS = 16384, 64, 32
PLANS = {
    "attention_kernelIfE": Plan(128, 1408, 256, SLABS + 4 * ROWS * (KEYS + 8), 2, 2),
    "attention_kernelIdE": Plan(128, 1488, 256, SLABS + 8 * ROWS * (KEYS + 8), 2, 2),
    "dd_kernel": Plan(128, 0, 32, 0, 8, 0),
}


def innermost(code):
    loops = sass.loops_of(code)
    heads = {loop.first for loop in loops}
    return [loop for loop in loops if not any(x.address in heads for x in loop.instructions if x.address != loop.first)]


def counting(loop):
    """A loop over keys: fma, exponentials or sums of what lies in shared memory."""
    sums, reads = sass.count(loop.instructions, "FADD", "DADD"), sass.count(loop.instructions, "LDS")
    return (sass.count(loop.instructions, *FMA, "MUFU") >= 8 and reads > 0) or (sums >= 8 and reads >= 8)


def is_full(loop):
    """Half of it, and at least 32, is fma. On 12.0 ptxas puts NOPs between operations in fp64."""
    fma = sass.count(loop.instructions, *FMA)
    return fma >= 32 and 2 * fma >= len(loop.instructions) - sass.count(loop.instructions, "NOP")


def faults(usage, code, plan):
    found = []

    def hold(true, sentence):
        if not true:
            found.append(sentence)

    hold(usage.registers <= plan.registers, f"{usage.registers} registers, expected at most {plan.registers}")
    hold(usage.stack <= plan.stack, f"{usage.stack} bytes of stack, expected at most {plan.stack}")
    blocks = sass.blocks_at_once(usage.architecture, usage.registers, plan.threads, plan.shared)
    old = usage.architecture < 80  # less shared memory
    hold(blocks >= plan.blocks or old, f"{blocks} blocks of {plan.shared} bytes of shared memory at once, expected {plan.blocks}")
    loops = [loop for loop in innermost(code) if counting(loop)]
    hold(len(loops) >= 6 * plan.full_products, f"{len(loops)} loops count, expected more: the test no longer finds them")
    for loop in loops:
        local = sass.count(loop.instructions, *LOCAL)
        hold(local == 0, f"the loop at {loop.first:#x} ({len(loop.instructions)} instructions) accesses the stack {local} times")
    generic = [loop.first for loop in loops if sass.count(loop.instructions, *GENERIC)]
    hold(not generic, f"the loops at {', '.join(map(hex, generic))} do not say in which memory an array lies")
    stores = sass.count(code.instructions, "ST", "ATOM")
    hold(stores <= 4, f"{stores} stores do not say into which memory, expected at most 4: of a thread's own objects")
    full = [loop for loop in loops if is_full(loop)]
    hold(len(full) >= plan.full_products, f"{len(full)} loops are half fma, expected {plan.full_products}: q.k and P.V")
    if plan.full_products and usage.architecture >= 80:
        wide = sum("128" in x.opcode for x in code.instructions if x.opcode.startswith("LDGSTS"))
        hold(wide >= 4, f"{wide} copies of 16 bytes from global to shared memory, expected 4 or more")
    return found


def main():
    if not sass.can_read():
        print("SKIPPED: cuobjdump and nvdisasm are not both here, so nobody looked at the emulated kernels' code")
        return sass.SKIPPED
    bad = seen = 0
    for name, plan in PLANS.items():
        codes = sass.sass_of(sys.argv[1], name)
        if not codes:
            print(f"SKIPPED: {name} is in no code of a real architecture" if not seen else f"{name}: not found")
            bad += seen > 0
            continue
        usages = {u.architecture: u for u in sass.resource_usage(sys.argv[1], name)}
        for code in codes:
            seen += 1
            usage = usages[code.architecture] if code.architecture in usages else next(iter(usages.values()))
            for sentence in faults(usage, code, plan):
                print(f"{name} on sm_{code.architecture}: {sentence}")
                bad += 1
            print(f"{name} on sm_{code.architecture}: {usage.registers} registers, {usage.stack} bytes of stack")
    return 1 if bad else 0 if seen else sass.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
