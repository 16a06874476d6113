"""Finds the program `attoscope`, checks its version, and runs it.

Search order: the path in $ATTOSCOPE, beside this package (wheel and archive), beside the Python interpreter, on $PATH.
"""
from __future__ import annotations

import os
import sys
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Sequence, Tuple, Type

from . import __version__
from .errors import AttoscopeError, BadOption, CouldNotRun, OtherVersion, ProgramMissing

USAGE = 2  #: the program's exit code for a wrong option


class Answer(NamedTuple):
    """The result of one run of the program."""

    code: int
    out: str
    sentence: str  #: the last message on standard error, without the program's name


_known_versions: Dict[str, str] = {}


def program() -> str:
    """The path of the program that is used. Raises ProgramMissing or OtherVersion."""
    path = _found()
    if path == _own():  # both come from one wheel
        return path
    if _known_versions.get(path) != __version__:
        _known_versions[path] = _version_of(path)
    if _known_versions[path] != __version__:
        package = os.path.dirname(__file__)
        raise OtherVersion(f"{path} is version {_known_versions[path]}, expected {__version__}, that of the Python package in {package}")
    return path


def _own() -> str:
    """Path of the program in wheels and archives."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "attoscope")


def _found() -> str:
    named = os.environ.get("ATTOSCOPE")
    if named:
        if _runs(named):
            return os.path.abspath(named)
        raise ProgramMissing(f"$ATTOSCOPE is {named!r}, which is no program that can be started")
    for path in _places():
        if _runs(path):
            return path
    raise ProgramMissing("the program attoscope is neither beside this package nor beside the interpreter nor on $PATH; "
                         "$ATTOSCOPE can name it")


def _places() -> Iterator[str]:
    yield _own()
    yield os.path.join(os.path.dirname(sys.executable or ""), "attoscope")
    import shutil

    on_path = shutil.which("attoscope")
    if on_path:
        yield on_path


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK) and not _is_script(path)


def _is_script(path: str) -> bool:
    """True for the command that pip makes for this package: it searches for the program, and would start itself endlessly."""
    try:
        with open(path, "rb") as file:
            head = file.read(1024)
    except OSError:  # it may still be executable
        return False
    return head.startswith(b"#!") and b"attoscope.__main__" in head


def _version_of(path: str) -> str:
    answer = call(path, ["--version"])
    words = answer.out.split()
    if answer.code != 0 or len(words) != 2 or words[0] != "attoscope":
        said = answer.out.strip() or answer.sentence or "nothing"
        raise ProgramMissing(f"{path} is no attoscope: asked for its version it said {said[:80]!r}")
    return words[1]


def call(path: str, arguments: Sequence[str], watched: bool = False) -> Answer:
    """Runs a program to its end; if interrupted, kills the program and waits for it.

    `watched`: shows its progress in terminals and notebooks.
    """
    import subprocess

    from . import progress

    line = progress.line() if watched else None
    try:
        terminal, its_end = _terminal() if line is not None else (-1, subprocess.PIPE)
    except OSError:  # a sandbox without pseudo-terminals
        line, its_end = None, subprocess.PIPE
    try:
        process = subprocess.Popen([path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=its_end)
    except OSError as error:
        if line is not None:
            os.close(terminal)
        raise ProgramMissing(f"{path} cannot be started: {error.strerror or error}") from error
    finally:
        if line is not None:
            os.close(its_end)
    try:
        out, err = process.communicate() if line is None else _watch(process, terminal, line)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    finally:
        if line is not None:
            line.clear()
            os.close(terminal)
    return Answer(process.returncode, out.decode("utf-8", "replace"), _sentence(err.decode("utf-8", "replace")))


def _terminal() -> Tuple[int, int]:
    """The two ends of a pseudo-terminal, ours and the program's: the program shows its progress only on terminals."""
    import pty
    import tty

    ours, its_end = pty.openpty()
    tty.setraw(its_end)
    return ours, its_end


def _watch(process: Any, terminal: int, line: Any) -> Tuple[bytes, bytes]:
    """The program's output and messages; shows its lines of progress and removes them."""
    import re
    import threading

    parts: List[bytes] = []
    reader = threading.Thread(target=lambda: parts.extend(iter(lambda: process.stdout.read(1 << 16), b"")), daemon=True)
    reader.start()
    said = b""
    while True:
        try:
            found = os.read(terminal, 1 << 16)
        except OSError:  # the program has closed its end
            break
        if not found:
            break
        said += found
        lines = re.findall(rb"\r([^\r\n\x1b]*)\x1b\[K", said)
        if lines:
            line.show(lines[-1].decode("utf-8", "replace"))
            said = re.sub(rb"\r([^\r\n\x1b]*)\x1b\[K", b"", said)
    process.wait()
    reader.join()
    return b"".join(parts), said


def _sentence(text: str) -> str:
    """The text after the last "attoscope: ", or the last line."""
    _, name, said = text.rpartition("attoscope: ")
    lines = text.strip().splitlines()
    return " ".join(said.split()) if name else lines[-1] if lines else ""


def run_program(arguments: Sequence[str], good: Sequence[int] = (0,), failure: Type[AttoscopeError] = CouldNotRun,
                watched: bool = False) -> Answer:
    """Runs `attoscope ARGUMENT...`. Exit codes that are not `good` become exceptions: BadOption for wrong usage, else `failure`.

    `watched`: its progress is shown in terminals and notebooks.
    """
    answer = call(program(), arguments, watched)
    if answer.code not in good:
        _fail(answer, failure)
    return answer


def _fail(answer: Answer, failure: Type[AttoscopeError]) -> NoReturn:
    if answer.code == USAGE:
        raise BadOption(answer.sentence or "the program does not know one of the options")
    if answer.code < 0:
        raise failure(f"the program was ended by signal {-answer.code}" + (f": {answer.sentence}" if answer.sentence else ""))
    raise failure(answer.sentence or f"the program ended with code {answer.code} and said nothing")


def json_of(answer: Answer) -> Dict[str, Any]:
    """The JSON that the program printed."""
    import json

    try:
        found = json.loads(answer.out)
    except ValueError as error:
        raise CouldNotRun(f"the program printed no JSON: {error}") from error
    if not isinstance(found, dict):
        raise CouldNotRun(f"the program printed JSON of type {type(found).__name__}, expected an object")
    return found


def options_of(options: Mapping[str, Any]) -> List[str]:
    """Keyword arguments as options of the command line. None and False omit an option, a list repeats it.

    >>> options_of({"block_k": 32, "kahan": True, "tau": None, "set": ["a.O=fp32", "b.P=fp32"]})
    ['--block-k=32', '--kahan', '--set=a.O=fp32', '--set=b.P=fp32']
    >>> options_of({"set": {"a.O": "fp32"}})
    ['--set=a.O=fp32']
    """
    words: List[str] = []
    for name, value in options.items():
        key = "--" + name.strip("_").replace("_", "-")
        for one in _values(value):
            text = "" if one is True else _text(one)
            words += [f"{key}={text}"] if text else [key] if one is True else [key, text]
    return words


def _values(value: Any) -> List[Any]:
    if value is None or value is False:
        return []
    if isinstance(value, Mapping):
        return [f"{key}={_text(one)}" for key, one in value.items()]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _text(value: Any) -> str:
    """A value as on the command line: lists with commas, numbers with all digits."""
    if isinstance(value, (list, tuple, range)):
        return ",".join(map(_text, value))
    return os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def temporary_folder(needed: bool = True) -> Any:
    """A temporary folder as a context manager; None if not `needed`."""
    import contextlib
    import tempfile

    if not needed:
        return contextlib.nullcontext(None)
    try:
        return tempfile.TemporaryDirectory(prefix="attoscope-")
    except OSError as error:
        raise CouldNotRun(f"no folder for temporary files can be made: {error.strerror or error}") from error


def is_file_name(value: Any) -> bool:
    """True if a tensor is given by a file's name."""
    return isinstance(value, (str, os.PathLike))
