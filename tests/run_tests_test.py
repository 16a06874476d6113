#!/usr/bin/env python3
"""tests/run_tests.py on builds of three tests: tests with a crash of LeakSanitizer run again, failed tests do not."""
import pathlib
import subprocess
import sys
import tempfile

RUN_TESTS = pathlib.Path(__file__).resolve().parent / "run_tests.py"
CRASH = "echo ==1==LeakSanitizer has encountered a fatal error.; exit 1"


def outcome(**commands):
    """Exit code and output of run_tests.py, and the number of runs of each test."""
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / "CTestTestfile.cmake").write_text("".join(
            f'add_test({name} "sh" "-c" "echo >>{build}/{name}; {command}")\n' for name, command in commands.items()))
        ended = subprocess.run([sys.executable, RUN_TESTS, folder], capture_output=True, text=True)
        return ended.returncode, ended.stdout, {name: len((build / name).read_text().split("\n")) - 1 for name in commands}


def main():
    code, said, runs = outcome(crashes_once=f"test $(wc -l <crashes_once) -gt 1 && exit 0; {CRASH}", passes="exit 0")
    assert (code, runs) == (0, {"crashes_once": 2, "passes": 1}), said
    assert "LeakSanitizer crashed in crashes_once: again." in said, said

    code, said, runs = outcome(crashes=CRASH, passes="exit 0")
    assert code != 0 and runs == {"crashes": 3, "passes": 1}, said

    code, said, runs = outcome(crashes=CRASH, fails="exit 1")
    assert code != 0 and runs == {"crashes": 1, "fails": 1}, said


if __name__ == "__main__":
    main()
