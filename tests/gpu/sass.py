#!/usr/bin/env python3
"""Compiled kernels, read by cuobjdump from a program, a library or an object: resources, instructions, loops.

    sass.py FILE [NAME]        every kernel, or kernels whose mangled name matches the regular expression NAME
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


class Usage(typing.NamedTuple):
    """Bytes, and 32-bit registers of a thread; `shared` is declared shared memory, without the dynamic memory of launches."""
    architecture: int
    function: str
    registers: int
    stack: int
    shared: int
    local: int


class Instruction(typing.NamedTuple):
    address: int
    predicate: str  # "@!P1"; "": none
    opcode: str     # "LDS.128"
    operands: str

    def __str__(self):
        return f"{self.address:#06x} {self.predicate:6} {self.opcode} {self.operands}".rstrip()


class Code(typing.NamedTuple):
    architecture: int
    function: str
    instructions: list


class Loop(typing.NamedTuple):
    """The instructions between a backward branch's target and the branch, loops within it included."""
    first: int  # address of the target
    instructions: list


def folders():
    """Folders with a CUDA toolkit's programs, as a PATH."""
    usual = [os.path.join(os.environ.get(name, ""), "bin") for name in ("CUDA_HOME", "CUDA_PATH")]
    return os.pathsep.join([os.environ.get("PATH", ""), *usual, *map(str, pathlib.Path("/usr/local").glob("cuda*/bin")), "/opt/cuda/bin"])


@functools.lru_cache(maxsize=2)
def dumped(file, what):
    done = subprocess.run(["cuobjdump", what, str(file)], capture_output=True, text=True, env={**os.environ, "PATH": folders()})
    if done.returncode != 0:
        raise RuntimeError(f"cuobjdump {what} {file}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def resource_usage(file, function=""):
    """A Usage for each kernel and architecture; `function` is a regular expression for mangled names."""
    found, architecture = [], 0
    for line in dumped(file, "-res-usage").splitlines():
        if (arch := re.match(r"arch = sm_(\d+)", line)) is not None:
            architecture = int(arch[1])
        elif (name := re.match(r" *Function (\S+):", line)) is not None:
            current = name[1]
        elif "REG:" in line and re.search(function, current):
            number = {key: int(value) for key, value in re.findall(r"([A-Z]+):(\d+)", line)}
            number["SHARED"] -= 1024 if architecture >= 90 else 0  # the system's share, counted there
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
    """The predecessors of each instruction, by its place."""
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
    """The Loops of a Code, in ascending order; a branch back into code with another entry is no loop."""
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


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not all(shutil.which(program, path=folders()) for program in ("cuobjdump", "nvdisasm")):
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
