#!/usr/bin/env python3
"""Fails on comments, and on sentences of the window, that begin as a subordinate clause: "What the row sees", "Whether it is on"; and on such a
sentence anywhere within comments, texts, docstrings, pages and lessons.

  tests/first_words_test.py    prints file, line and text of each; exit code 1 if there is one

A comment or sentence begins with a subject or a verb and names the thing. Only the first word is checked; readers check the rest.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPS = ("kernels", "ui", "app", "tests")
SHOWN = ("ui", "kernels")  # top folders whose sentences the window shows
SOURCES = (".h", ".cpp", ".cu", ".cuh")
CLAUSE = re.compile(r"(?:- )?(?:What|Whether|Of|That|Where|Which|By|How|Why|what|whether|how|why)\b")
PROSE = (".md", ".py", ".txt", ".json", ".mjs")
# Matches such a sentence after another one, or first in a docstring, a table cell or bold text; a period within a number does not end it.
INNER = re.compile(r'(?:(?<=[.;:!] )|(?<=""")|(?<=\| )|(?<=\*\*))(?:What|Whether|Of|Which|Those of)\b(?:[^.?!|"]|\.(?=\w))*\S?')
LINE_BREAK = re.compile(r'\n[ \t]*(?:///?<?|#)[ \t]+(?=\S)|"[ \t]*\n[ \t]*"')  # within a comment or between two literals
TOKEN = re.compile(r"""(?P<raw>R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)")|(?P<string>"(?:[^"\\\n]|\\.)*")"""
                   r"""|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.[0-9a-fA-F]*)'|(?P<line>//[^\n]*)|/\*.*?\*/""", re.S)


def comments(code):
    """(offset, text) of each // comment; of a comment of several lines only the first line of each paragraph."""
    end = column = None  # offsets of the previous comment line
    ends_paragraph = True
    for token in TOKEN.finditer(code):
        if not token["line"]:
            continue
        start = code.rfind("\n", 0, token.start()) + 1
        is_alone = not code[start:token.start()].strip()
        continues = is_alone and end == start - 1 and column == token.start() - start
        text = re.sub(r"^///?<?\s*", "", token["line"])
        if text and (not continues or ends_paragraph or text.startswith("- ")):
            yield token.start(), text
        end, column, ends_paragraph = token.end(), token.start() - start, not text


def sentences(code):
    """(offset, text) of each string literal (adjacent ones joined) that is a sentence: has a blank and ends with a period."""
    start, text, end = 0, "", None
    for token in [*TOKEN.finditer(code), None]:
        joins = token and token["string"] and end is not None and not code[end:token.start()].strip()
        if not joins:
            if " " in text and text.rstrip().endswith("."):
                yield start, text
            start, text, end = (token.start(), "", None) if token else (0, "", None)
        if token and token["string"]:
            text, end = text + token["string"][1:-1], token.end()


def faults(files):
    """One line for each comment and each sentence of the window that begins as a clause; `files` is {path: text}."""
    for file, code in sorted(files.items()):
        found = [*comments(code), *(sentences(code) if file.split("/")[0] in SHOWN else ())]
        for offset, text in sorted(found):
            if CLAUSE.match(text):
                yield f"{file}:{code.count(chr(10), 0, offset) + 1}: {text}"


def inner_faults(files):
    """One line for each sentence within a text that begins as a clause and is not a question."""
    for file, text in sorted(files.items()):
        text = "\n" + text
        if file.endswith(".md"):
            text = re.sub(r"\n(?:- )?(?=[A-Z])", "\n\n. ", text)  # a new paragraph or list entry counts as after a sentence
        else:
            text = re.sub(" +", " ", LINE_BREAK.sub(" ", text))
        for found in INNER.finditer(text):
            if not found[0].endswith("?"):
                yield f"{file}: {found[0][:90]}"


def sources(suffixes=SOURCES, tops=TOPS):
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
            for top in tops for path in (ROOT / top).rglob("*") if path.suffix in suffixes and path.is_file()}


def check_the_check():
    """Checks good and bad texts: fails if the check itself finds nothing."""
    good = '/// True if it is on,\n/// Whether or not it was.\nint x = 1\'000;  // zero\nauto y = R"(// What)" "// Why";\n'
    assert list(faults({"kernels/a.h": good})) == []
    for bad in ("/// Whether it is on.", "int x;  ///< What it is", "// Of both.", "///\n/// How so", "/// List:\n/// - Which it is",
                "int x;  // one\n// Where it is", "auto q = '\"';  // By it"):
        assert len(list(faults({"kernels/a.h": bad}))) == 1, bad
    shown = 'explain("What it is."), explain("How much "\n "it is."), label("What is it?"), label("What"), explain("It is on.");\n'
    assert list(faults({"ui/a.cpp": "\n" + shown})) == ["ui/a.cpp:2: What it is.", "ui/a.cpp:2: How much it is."]
    assert list(faults({"app/a.cpp": shown})) == []
    inner = {"a.h": "/// It is 1. What\n/// it was is 0.5. What is 2.5?\n", "a.md": "Yes.\nOf 3, 1.\n- Which, too.\n## What 5 is\nWhat is 4?\n",
             "a.cpp": 'f("It is on. "\n  "What is off stays.");\n', "b.py": '"""Which one."""\nx = "What"\n'}
    assert [line.split(": ")[0] for line in inner_faults(inner)] == ["a.cpp", "a.h", "a.md", "a.md", "b.py"], list(inner_faults(inner))


def main():
    check_the_check()
    files = sources()
    pages = {"README.md": (ROOT / "README.md").read_text(encoding="utf-8"), **sources(SOURCES + PROSE, (*TOPS, "assets"))}
    del pages["tests/first_words_test.py"]
    found = [*faults(files), *inner_faults(pages)]
    print("\n".join(found + [f"{len(pages)} files, {len(found)} texts that begin as a clause"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
