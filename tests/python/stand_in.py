#!/usr/bin/env -S python3 -IS
"""Stands in for the program where a test needs one that fails: it says, and ends as, the variables $STAND_IN_* tell it to.

VERSION: what --version prints. OUT, ERR, CODE: of every other command. LOG: a file that gets a line of JSON for each command, with its
arguments, its process and the folder of its temporary files. SLEEP: seconds before it ends. REPORT: what --report's file gets. STEPS: how many
lines about progress it writes, ten a second, where its standard error is a terminal.
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
