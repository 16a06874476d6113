#!/usr/bin/env python3
"""Runs the tests of the Python package.

  tests/python/run_all.py PROGRAM [FILE.py ...]   the package of this tree with PROGRAM, without the tests of these files
  tests/python/run_all.py                         the installed package with the program that it finds
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main():
    sys.dont_write_bytecode = True
    if len(sys.argv) > 1:
        os.environ["ATTOSCOPE"] = os.path.abspath(sys.argv[1])
        sys.path.insert(0, str(HERE.parent.parent / "app" / "python"))
    else:
        os.environ.pop("ATTOSCOPE", None)
    sys.path.insert(0, str(HERE))
    found = unittest.TestSuite()
    for file in sorted(HERE.glob("*_test.py")):
        if file.name not in sys.argv[2:]:
            found.addTests(unittest.defaultTestLoader.loadTestsFromName(file.stem))
    outcome = unittest.TextTestRunner(verbosity=1).run(found)
    return 0 if outcome.wasSuccessful() and outcome.testsRun > 50 else 1


if __name__ == "__main__":
    sys.exit(main())
