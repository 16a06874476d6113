"""Runs the examples in the package's docstrings and compares their output."""
import doctest
import importlib
import pathlib

import attoscope


def load_tests(loader, tests, pattern):
    files = sorted(pathlib.Path(attoscope.__file__).parent.glob("[a-z]*.py"))
    for name in ["attoscope", *(f"attoscope.{file.stem}" for file in files)]:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name)))
    return tests
