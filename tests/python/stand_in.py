#!/usr/bin/env -S python3 -IS
"""Stands in for the program where a test needs one that fails: it says, and ends as, the variables $STAND_IN_* tell it to.

VERSION: what --version prints. OUT, ERR, CODE: of every other command. LOG: a file that gets a line of JSON for each command, with its
arguments, its process and the folder of its temporary files. SLEEP: seconds before it ends. REPORT: what --report's file gets.
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
    for argument in sys.argv[1:]:
        if argument.startswith("--report=") and told("REPORT"):
            with open(argument.partition("=")[2], "w") as page:
                page.write(told("REPORT"))
    sys.stdout.write(told("OUT"))
    sys.stderr.write(told("ERR"))
    return int(told("CODE", "0"))


if __name__ == "__main__":
    sys.exit(main())
