"""The examples in the package's own text run, and say what they show."""
import doctest
import importlib
import pathlib

import attoscope


def load_tests(loader, tests, pattern):
    files = sorted(pathlib.Path(attoscope.__file__).parent.glob("[a-z]*.py"))
    for name in ["attoscope", *(f"attoscope.{file.stem}" for file in files)]:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name)))
    return tests
