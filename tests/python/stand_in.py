#!/usr/bin/env -S python3 -IS
"""Stands in for the program in tests that need a failing one: the variables $STAND_IN_* set its output and exit code.

VERSION: output of --version. OUT, ERR, CODE: output, errors and exit code of other commands. LOG: a file with a line of JSON per command: its
arguments, process and folder of temporary files. SLEEP: seconds before it ends. REPORT: contents of the file of --report. STEPS: number of
progress lines, ten a second, if its standard error is a terminal.
"""
import json
import os
import sys
import time


def told(name, otherwise=""):
    return os.environ.get("STAND_IN_" + name, otherwise)


def main():
    if sys.argv[1:] == ["--version"]:
        print(told("VERSION", "attoscope 0.1.0"))
        return 0
    if told("LOG"):
        with open(told("LOG"), "a") as log:
            log.write(json.dumps({"arguments": sys.argv[1:], "process": os.getpid()}) + "\n")
    time.sleep(float(told("SLEEP", "0")))
    steps = int(told("STEPS", "0")) if sys.stderr.isatty() else 0
    for step in range(steps):
        sys.stderr.write(f"\r{step + 1} of {steps} heads\x1b[K")
        sys.stderr.flush()
        time.sleep(0.1)
    sys.stderr.write("\r\x1b[K" if steps else "")
    for argument in sys.argv[1:]:
        if argument.startswith("--report=") and told("REPORT"):
            with open(argument.partition("=")[2], "w") as page:
                page.write(told("REPORT"))
    sys.stdout.write(told("OUT"))
    sys.stderr.write(told("ERR"))
    return int(told("CODE", "0"))


if __name__ == "__main__":
    sys.exit(main())
