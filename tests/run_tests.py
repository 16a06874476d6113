#!/usr/bin/env python3
"""Runs the tests of a build with ctest; prints the expected time, the progress, and the tests that need not run again.

  tests/run_tests.py BUILD [--again] [ctest options, such as -R format]

A test that has passed is left out until its command, a program in it or an uncompiled file of the tree changes; tests of READ_SOURCES
also run after changes of sources. --again runs all tests; with ctest options all chosen tests run.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILED = (".h", ".cpp", ".cu", ".cuh")
READ_SOURCES = {"first_words", "readme_test", "rooms"}  # labels
FINISHED = re.compile(r"\s*\d+/\d+ Test\s+#\d+: (.+?) \.+\s*(Passed|\*\*\*.+?)\s+([\d.]+) sec")
STARTED = re.compile(r"\s+Start\s+\d+: ")
SECONDS_BETWEEN_LINES = 20
USUAL_SECONDS = 0.4  # for a test that never ran here
# LeakSanitizer itself crashes in one of some hundred runs, at the end of a program with other threads. It then reports no leaks.
CRASH_OF_LEAK_SANITIZER = "LeakSanitizer has encountered a fatal error"
RUNS_AFTER_A_CRASH = 3


def digest(paths):
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(paths):
        found.update(f"{path}\n".encode() + path.read_bytes())
    return found.hexdigest()


def digest_of(value):
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def files_of_the_tree():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".git", ".cache", "build", "__pycache__"))]
        yield from (path for path in (pathlib.Path(folder, name) for name in names) if path.is_file())


def properties_of(test):
    return {entry["name"]: entry["value"] for entry in test.get("properties", [])}


def labels(test):
    return properties_of(test).get("LABELS", [])


class Stamps:
    """A short text of everything that a test's outcome depends on."""

    def __init__(self):
        files = list(files_of_the_tree())
        self.sources = digest(files)
        self.read = digest(path for path in files if path.suffix not in COMPILED)
        self.programs = {}

    def of_word(self, word):
        """A word of a command; if it names a file, the contents of the file."""
        if word not in self.programs:
            self.programs[word] = digest([pathlib.Path(word)]) if os.path.isfile(word) else ""
        return self.programs[word]

    def of(self, test):
        read = self.sources if READ_SOURCES & set(labels(test)) else self.read
        command = test.get("command", [])
        return digest_of([read, command, [self.of_word(word) for word in command], properties_of(test).get("ENVIRONMENT")])


class History:
    """Earlier runs in this build: the stamp of each passed test and its seconds."""

    def __init__(self, build):
        self.file = build / "Testing" / "history.json"
        self.file.parent.mkdir(exist_ok=True)
        try:
            kept = json.loads(self.file.read_text())
        except (OSError, ValueError):
            kept = {}
        self.passed, self.seconds = kept.get("passed", {}), kept.get("seconds", {})

    def save(self):
        self.file.write_text(json.dumps({"passed": self.passed, "seconds": self.seconds}, indent=0))

    def expected(self, tests):
        """Expected seconds of these tests, run one after another."""
        return sum(self.seconds.get(test["name"], USUAL_SECONDS) for test in tests)


def said(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Progress:
    """Prints the progress: one changing line on a terminal, otherwise a line from time to time."""

    def __init__(self, count, expected):
        self.count, self.expected = count, expected
        self.done = self.spent = 0
        self.began = self.printed = time.monotonic()
        self.terminal = sys.stdout.isatty()

    def add(self, seconds):
        self.done, self.spent = self.done + 1, self.spent + seconds
        now = time.monotonic()
        if self.terminal or now - self.printed > SECONDS_BETWEEN_LINES:
            self.printed = now
            left = self.expected - self.spent
            line = f"{self.done} of {self.count} tests, {said(now - self.began)} gone"
            line += f", about {said(left / os.cpu_count())} to go" if left > 0 else ""
            print(f"\r\033[K{line}" if self.terminal else line, end="" if self.terminal else "\n", flush=True)

    def print(self, line):
        """Prints another text between its lines."""
        print(("\r\033[K" if self.terminal else "") + line, end="", flush=True)


def run(build, tests, options, history, stamps):
    """Runs these tests with ctest, prints failures, records passes; returns ctest's exit code and the names of the tests in which
    LeakSanitizer crashed; [] if another test failed, too."""
    progress = Progress(len(tests), history.expected(tests))
    print(f"{len(tests)} tests: about {said(progress.expected / os.cpu_count())}.", flush=True)
    by_name = {test["name"]: test for test in tests}
    # one more than processors: some tests wait for a window, a browser or a clock
    command = ["ctest", "--test-dir", build, "--parallel", str(os.cpu_count() + 1), "--output-on-failure", "--no-tests=error",
               "--no-label-summary", *options]
    failed, crashed = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            ended = FINISHED.match(line)
            if ended:
                name, outcome, seconds = ended.groups()
                history.seconds[name] = float(seconds)
                history.passed[name] = stamps.of(by_name[name]) if outcome == "Passed" else None
                progress.add(float(seconds))
                failed += [name] if outcome not in ("Passed", "***Skipped") else []
            elif CRASH_OF_LEAK_SANITIZER in line:
                crashed += failed[-1:]
            if not STARTED.match(line) and line.strip() and not (ended and outcome == "Passed"):
                progress.print(line)
    return ctest.returncode, crashed if set(crashed) == set(failed) else []


def run_and_repeat(build, tests, options, history, stamps):
    """Like run(), but repeats the tests in which LeakSanitizer crashed; returns the exit code of the last run."""
    outcome, crashed = run(build, tests, options, history, stamps)
    for _ in range(RUNS_AFTER_A_CRASH - 1):
        if not crashed:
            break
        print(f"LeakSanitizer crashed in {', '.join(crashed)}: again.", flush=True)
        outcome, crashed = run(build, [test for test in tests if test["name"] in crashed],
                               ["-R", f"^({'|'.join(map(re.escape, crashed))})$"], history, stamps)
    return outcome


def listed(build, options):
    """The tests that ctest would run, in its order. Without leak checks: the programs only list their tests."""
    quick = {**os.environ, "ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))}
    command = ["ctest", "--test-dir", build, "--show-only=json-v1", *options]
    return json.loads(subprocess.check_output(command, env=quick))["tests"]


def main():
    build, options = pathlib.Path(sys.argv[1]), sys.argv[2:]
    again = "--again" in options
    options = [option for option in options if option != "--again"]
    history, stamps = History(build), Stamps()
    tests = listed(build, options)
    if not options and not again:
        numbers = [n for n, test in enumerate(tests, 1) if history.passed.get(test["name"]) != stamps.of(test)]
        if len(numbers) < len(tests):
            print(f"{len(tests) - len(numbers)} tests passed before, and neither their programs nor the files that they read have "
                  "changed: they are left out (--again runs them).", flush=True)
        if not numbers:
            return 0
        tests = [tests[n - 1] for n in numbers]
        options = ["-I", ",".join(map(str, [0, 0, 0, *numbers]))]  # no range, then these alone
    try:
        return run_and_repeat(build, tests, options, history, stamps)
    finally:
        history.save()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
