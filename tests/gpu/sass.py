#!/usr/bin/env python3
"""What ptxas made of kernels, read by cuobjdump from a program, a library or an object: resources, instructions, loops.

    sass.py FILE [NAME]        every kernel, or those whose mangled name has the regular expression NAME in it
    sass.py --can-read         succeeds where there are cuobjdump and the nvdisasm that it calls
"""
import collections
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

SKIPPED = 77     # the exit code of a test that was skipped
RESERVED = 1024  # bytes of shared memory that the system takes of every block, from 8.0 on


class Usage(typing.NamedTuple):
    """Bytes, and 32-bit registers of a thread; `shared` has what the code declares, not what a launch asks for."""
    architecture: int
    function: str
    registers: int
    stack: int
    shared: int
    local: int


class Instruction(typing.NamedTuple):
    address: int
    predicate: str  # "@!P1", "" where there is none
    opcode: str     # "LDS.128"
    operands: str

    def __str__(self):
        return f"{self.address:#06x} {self.predicate:6} {self.opcode} {self.operands}".rstrip()


class Code(typing.NamedTuple):
    architecture: int
    function: str
    instructions: list


class Loop(typing.NamedTuple):
    """What runs between a backward branch's target and the branch, loops within it included."""
    first: int  # address of the target
    instructions: list


def folders():
    """Where a CUDA toolkit's programs may lie, as PATH has them: the search path, usual places, and what tests/run fetched."""
    usual = [os.path.join(os.environ.get(name, ""), "bin") for name in ("CUDA_HOME", "CUDA_PATH")]
    fetched = pathlib.Path(__file__).parents[2] / ".cache/sass"
    return os.pathsep.join([os.environ.get("PATH", ""), *usual, *map(str, pathlib.Path("/usr/local").glob("cuda*/bin")), "/opt/cuda/bin",
                            *map(str, fetched.glob("**/bin"))])


def can_read():
    """Whether there are cuobjdump and nvdisasm, without which it prints no instructions."""
    return all(shutil.which(program, path=folders()) for program in ("cuobjdump", "nvdisasm"))


@functools.lru_cache(maxsize=2)
def dumped(file, what):
    done = subprocess.run(["cuobjdump", what, str(file)], capture_output=True, text=True, env={**os.environ, "PATH": folders()})
    if done.returncode != 0:
        raise RuntimeError(f"cuobjdump {what} {file}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def resource_usage(file, function=""):
    """A Usage for each kernel and architecture; `function` is a regular expression, sought in mangled names."""
    found, architecture = [], 0
    for line in dumped(file, "-res-usage").splitlines():
        if (arch := re.match(r"arch = sm_(\d+)", line)) is not None:
            architecture = int(arch[1])
        elif (name := re.match(r" *Function (\S+):", line)) is not None:
            current = name[1]
        elif "REG:" in line and re.search(function, current):
            number = {key: int(value) for key, value in re.findall(r"([A-Z]+):(\d+)", line)}
            number["SHARED"] -= RESERVED if architecture >= 90 else 0  # there it is counted
            found.append(Usage(architecture, current, *(number[key] for key in ("REG", "STACK", "SHARED", "LOCAL"))))
    return found


def sass_of(file, function=""):
    """A Code for each kernel and architecture, as `resource_usage` finds them."""
    found, architecture, current = [], 0, None
    for line in dumped(file, "-sass").splitlines():
        if (instruction := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(@\S+)?\s*([A-Z][\w.]*)\s*(.*?)\s*;", line)) is not None:
            if current is not None:
                current.instructions.append(Instruction(int(instruction[1], 16), instruction[2] or "", instruction[3], instruction[4]))
        elif (arch := re.match(r"arch = sm_(\d+)", line)) is not None:
            architecture = int(arch[1])
        elif (name := re.match(r"\s*Function : (\S+)", line)) is not None:
            current = Code(architecture, name[1], []) if re.search(function, name[1]) else None
            found += [current] if current else []
    return found


def predecessors(instructions):
    """Of each instruction, by its place: those after which it may be executed."""
    place = {x.address: i for i, x in enumerate(instructions)}
    before = [[] for _ in instructions]
    for i, x in enumerate(instructions):
        branch, target = x.opcode.split(".")[0] == "BRA", re.search(r"(0x[0-9a-f]+)$", x.operands)
        if branch and target and int(target[1], 16) in place:
            before[place[int(target[1], 16)]].append(i)
        always = not x.predicate and (x.opcode in ("EXIT", "RET") or x.opcode.startswith("RET.") or (branch and "," not in x.operands))
        if not always and i + 1 < len(instructions):
            before[i + 1].append(i)
    return before


def loops_of(sass):
    """The Loops of a Code, in ascending order; a branch back into what is entered elsewhere, too, is none."""
    before, bodies = predecessors(sass.instructions), collections.defaultdict(set)
    for first, sources in enumerate(before):
        for last in (i for i in sources if i > first):
            body, open_ends = {first, last}, [last]
            while open_ends:
                new = set(before[open_ends.pop()]) - body
                body |= new
                open_ends += new
            if first == 0 or 0 not in body:
                bodies[first] |= body
    return [Loop(sass.instructions[first].address, [sass.instructions[i] for i in sorted(body)]) for first, body in sorted(bodies.items())]


def count(instructions, *opcodes):
    """How many have one of these opcodes: "LDS" counts LDS.128 too, "LDS.U" what begins so up to a dot."""
    return sum(any((x.opcode + ".").startswith(opcode + ".") for opcode in opcodes) for x in instructions)


class Multiprocessor(typing.NamedTuple):
    warps: int
    blocks: int
    shared: int  # bytes


# CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability".
MULTIPROCESSORS = {75: Multiprocessor(32, 16, 64 << 10), 80: Multiprocessor(64, 32, 164 << 10), 86: Multiprocessor(48, 16, 100 << 10),
                   89: Multiprocessor(48, 24, 100 << 10), 90: Multiprocessor(64, 32, 228 << 10), 100: Multiprocessor(64, 32, 228 << 10),
                   120: Multiprocessor(48, 24, 100 << 10)}


def blocks_at_once(architecture, registers, threads, shared):
    """Blocks that a multiprocessor holds; `shared` bytes each, declared and asked for together."""
    limits, warps = MULTIPROCESSORS[architecture], -(-threads // 32)
    registers_of_warp = -(-registers * 32 // 256) * 256
    by_shared = limits.shared // max(1, -(-shared // 128) * 128 + (RESERVED if architecture >= 80 else 0))
    warps_by_registers = 4 * (16384 // registers_of_warp)  # each quarter has registers of its own
    return min(limits.blocks, limits.warps // warps, warps_by_registers // warps, by_shared)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if sys.argv[1] == "--can-read":
        sys.exit(0 if can_read() else 1)
    if not can_read():
        sys.exit("sass.py: cuobjdump and nvdisasm, which come with the CUDA toolkit, are not both here")
    usage = {(u.architecture, u.function): u for u in resource_usage(*sys.argv[1:])}
    for code in sass_of(*sys.argv[1:]):
        known = usage[code.architecture, code.function]
        print(f"{code.function}\n  sm_{code.architecture}: {known.registers} registers, {known.stack} bytes of stack, "
              f"{known.shared} of shared memory; {len(code.instructions)} instructions")
        for loop in loops_of(code):
            kinds = collections.Counter(x.opcode.split(".")[0] for x in loop.instructions)
            print(f"  loop at {loop.first:#x}: {len(loop.instructions)} instructions, " + ", ".join(f"{n} {k}" for k, n in kinds.most_common(14)))


if __name__ == "__main__":
    main()
