#!/usr/bin/env python3
"""Checks the layering: includes between rooms (folders) by tests/rooms.txt; types of ui and app are in their namespaces;
no two types share a name, which the linker does not report; sources include the precompiled headers that they need.

  tests/rooms_test.py          prints broken rules; exit code 1 if there are any
  tests/rooms_test.py --used   prints every room with the rooms that it includes today, in the form of rooms.txt
"""
import collections
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPS = ("kernels", "ui", "app", "tests")
SOURCES = (".h", ".cpp", ".cu", ".cuh")
NAMESPACE = re.compile(r"namespace(?: ([\w:]+))? \{")
TYPE = re.compile(r"(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
ANY_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
# Patterns of the names in each precompiled header (`common_headers` and the headers of single libraries).
PRECOMPILED = {header: re.compile(rf"\b(?:{names})") for header, names in {
    "algorithm": r"std::(?:ranges::\w+|min|max|clamp|sort)\b", "array": r"std::array\b",
    "cmath": r"std::(?:abs|sqrt|exp|isnan|isinf|isfinite|ldexp|pow|fabs|floor|round)\b", "cstdint": r"std::u?int(?:8|16|32|64)_t\b",
    "filesystem": r"std::filesystem\b", "functional": r"std::function\b", "limits": r"std::numeric_limits\b", "map": r"std::map\b",
    "memory": r"std::(?:make_)?(?:unique|shared|weak)(?:_ptr)?\b", "optional": r"std::(?:optional|nullopt)\b", "span": r"std::span\b",
    "stdexcept": r"std::(?:invalid_argument|runtime_error|logic_error|out_of_range)\b", "string": r"std::(?:string|to_string)\b",
    "string_view": r"std::string_view\b", "vector": r"std::vector\b",
    "fmt/format.h": r"fmt::format\b", "nlohmann/json.hpp": r"nlohmann::json\(", "imgui.h": r"ImGui::"}.items()}


def read_rules(text):
    """({room: rooms that it may include} in the order of the text, error sentences)"""
    text = re.sub(r"(?m)^#.*\n?", "", text)
    rules, wrong = {}, []
    for line in re.sub(r"\n[ \t]+", " ", text).splitlines():
        room, colon, allowed = line.partition(":")
        if not line.strip():
            continue
        if not colon or room in rules:
            wrong.append(f"tests/rooms.txt: '{line}': expected one line 'ROOM: ROOM...' for each room")
            continue
        for name in allowed.split():
            if name not in rules:  # excludes cycles
                wrong.append(f"tests/rooms.txt: {room} may not include {name}: only rooms that stand above it")
        rules[room] = set(allowed.split())
    return rules, wrong


def room_of(file):
    return file.rpartition("/")[0]


def includes(files):
    """(file, included file) for every include from another room; `files` is {path: text}."""
    for file, text in sorted(files.items()):
        for name in INCLUDE.findall(text):
            for target in (f"{room_of(file)}/{name}", name):
                if target in files:
                    if room_of(target) != room_of(file):
                        yield file, target
                    break


def broken(rules, files):
    """One sentence for each file and include that the rules do not allow, and for each room that no longer exists."""
    for file in sorted(files):
        if room_of(file) not in rules:
            yield f"{file}: the folder {room_of(file)} is no room: tests/rooms.txt names all of them"
    for file, target in includes(files):
        if room_of(target) not in rules.get(room_of(file), {room_of(target)}):
            yield f"{file} includes {target}: {room_of(file)} may not include {room_of(target)} (tests/rooms.txt)"
    for room in rules.keys() - {room_of(file) for file in files}:
        yield f"tests/rooms.txt: {room} has no source files"


def types(text):
    """Names of the types that a file defines, with their namespaces; without unnamed namespaces and lanes, whose files replace
    each other."""
    spaces = []
    for line in text.splitlines():
        if opened := NAMESPACE.fullmatch(line):
            spaces.append(opened[1] or "")
        elif line.startswith("}  // namespace") and spaces:
            spaces.pop()
        elif (found := TYPE.match(line)) and "" not in spaces and "ATTOSCOPE_ISA" not in spaces:
            yield "::".join([*spaces, found[1]])


def shared_names(files):
    """One sentence for each type with the name of another file's type: the linker would merge instances of templates."""
    places = collections.defaultdict(list)
    for file, text in sorted(files.items()):
        replaced = re.sub(r"^app/web/(instead|alone)/", "", file)
        if replaced != file and replaced in files:  # a header of the web page, included instead of the program's
            continue
        for name in set(types(text)):
            places[name].append(file)
    for name, found in places.items():
        if len(found) > 1:
            yield f"{name} is a type of {' and of '.join(found)}: one of them needs another name"


def misplaced(files):
    """One sentence for each type of ui and app that is not in the namespace of its room."""
    for file, text in sorted(files.items()):
        room = file.partition("/")[0]
        if room not in ("ui", "app") or file.startswith("app/web/system/"):  # headers that replace those of a system
            continue
        for name in types(text):
            if not name.startswith(f"attoscope::{room}::"):
                yield f"{file}: the type {name} is in another namespace, expected attoscope::{room}"


def reached(file, files, seen):
    """All headers that a file includes, directly or through headers of the tree."""
    for name in ANY_INCLUDE.findall(files.get(file, "")):
        if name not in seen:
            seen.add(name)
            reached(name, files, seen)
    return seen


def unnamed(cmake):
    """One sentence for each header of `common_headers` whose names are not known; all others have the names of <utility>."""
    common = re.search(r"set\(common_headers ([^)]*)\)", cmake)[1]
    for header in set(re.findall(r"<([^>]+)>", common)) - PRECOMPILED.keys() - {"utility"}:
        yield f"CMakeLists.txt precompiles <{header}>: expected its names in PRECOMPILED of tests/rooms_test.py"


def unincluded(files):
    """One sentence for each name of a precompiled header that a file uses without the include: precompiling hides this error."""
    for file, text in sorted(files.items()):
        code, headers = re.sub(r"//.*", "", text), reached(file, files, set())
        for header, names in PRECOMPILED.items():
            if header not in headers and (used_name := names.search(code)):
                yield f"{file} uses {used_name[0]} and does not include <{header}>"


def problems(text, files):
    rules, wrong = read_rules(text)
    return wrong + list(broken(rules, files)) + list(misplaced(files)) + list(shared_names(files)) + list(unincluded(files))


def sources():
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
            for top in TOPS for path in (ROOT / top).rglob("*") if path.suffix in SOURCES and path.is_file()}


def used(rules, files):
    """The narrowest rules that allow today's includes."""
    found = collections.defaultdict(set)
    for file, target in includes(files):
        found[room_of(file)].add(room_of(target))
    for room in rules:
        yield textwrap.fill(f"{room}: {' '.join(sorted(found[room]))}".rstrip(), 128, subsequent_indent="    ",
                            break_on_hyphens=False)


def check_the_check():
    """Breaks each rule once: fails if the check finds nothing."""
    rules = "# a comment\nlow:\nhigh: low\n"
    good = {"low/a.h": "", "high/b.h": '#include "low/a.h"\n#include <vector>\n#include "other.h"\n', "high/c.cpp": '#include "b.h"\n'}
    upward = good | {"low/a.h": '  # include "high/b.h"\n'}
    assert problems(rules, good) == []
    assert problems(rules, upward) == ["low/a.h includes high/b.h: low may not include high (tests/rooms.txt)"]
    assert "no room" in problems(rules, good | {"new/d.h": ""})[0]
    assert "stand above it" in problems("low: high\nhigh: low\n", good)[0]
    assert "no source files" in problems(rules + "empty:\n", good)[0]
    assert "expected one line" in problems(rules + "low:\n", good)[0]
    twice = "namespace a {\nstruct X {\n};\nnamespace {\nstruct Y {\n};\n}  // namespace\nstruct Z {\n}  // namespace a\n"
    assert problems(rules, good | {"low/a.h": twice, "low/d.h": twice.replace("Z", "V")}) == [
        "a::X is a type of low/a.h and of low/d.h: one of them needs another name"]
    assert not any(shared_names({"low/a.h": twice, "app/web/instead/low/a.h": twice}))
    assert problems(rules, good | {"low/a.h": twice, "low/d.h": twice.replace("a {", "b {")}) == []
    in_ui = {"ui/a.h": "namespace attoscope::ui {\nstruct X {\n};\n}  // namespace attoscope::ui\n"}
    assert not any(misplaced(in_ui))
    assert list(misplaced({"app/a.h": in_ui["ui/a.h"]})) == [
        "app/a.h: the type attoscope::ui::X is in another namespace, expected attoscope::app"]
    assert list(used(read_rules("low:\nhigh:\n")[0], good)) == ["low:", "high: low"]
    assert len(list(unnamed("set(common_headers <bit> <utility>\n  <vector>)"))) == 1
    user = good | {"high/c.cpp": '#include "high/b.h"\nstd::vector<std::string> x;  // std::map\n'}
    assert problems(rules, user) == ["high/c.cpp uses std::string and does not include <string>"]


def main():
    check_the_check()
    rules, files = (ROOT / "tests/rooms.txt").read_text(encoding="utf-8"), sources()
    if "--used" in sys.argv:
        print("\n".join(used(read_rules(rules)[0], files)))
        return 0
    found = problems(rules, files) + list(unnamed((ROOT / "CMakeLists.txt").read_text(encoding="utf-8")))
    print("\n".join(found + [f"{len(files)} files, {len(found)} against the rules"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
