#!/usr/bin/env python3
"""Runs the recipes of app/python/README.md unchanged, with the attoscope, pytest and numpy of this interpreter.

  VENV/bin/python tests/python/recipes.py [WHEEL]

WHEEL was made by app/package: the recipe for continuous integration installs it.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

README = pathlib.Path(__file__).resolve().parents[2] / "app" / "python" / "README.md"
WHEEL = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def recipes():
    """{heading: [(language, text)]} of the sections with recipes."""
    parts = re.split(r"^## Recipe: (.*)$", README.read_text(encoding="utf-8"), flags=re.M)
    return {heading: FENCED.findall(text.partition("\n## ")[0]) for heading, text in zip(parts[1::2], parts[2::2])}


def has(module):
    import importlib.util

    return importlib.util.find_spec(module) is not None


class Recipes(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="attoscope-test-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def blocks(self, heading):
        """Writes the recipe's files into the folder, named by their first line; returns {name or language: text}."""
        found = {}
        for language, text in recipes()[heading]:
            name = re.match(r"# (\S+)\n", text)
            found[name.group(1) if name else language] = text
            if name:
                (self.folder / name.group(1)).write_text(text)
        return found

    def run_in_folder(self, *command):
        environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
        environment.pop("ATTOSCOPE", None)
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_there_are_four(self):
        self.assertEqual(list(recipes()), ["a test of your kernel", "a notebook", "a model's attention", "continuous integration"])

    def test_pytest(self):
        blocks = self.blocks("a test of your kernel")
        said = self.run_in_folder(sys.executable, "-m", *blocks[""].split())
        self.assertIn("4 passed", said)

    @unittest.skipUnless(has("nbclient") and has("ipykernel"), "nbclient and ipykernel are not here")
    def test_notebook(self):
        import nbclient
        import nbformat

        own = {name: str(self.folder / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR")}
        patch = mock.patch.dict(os.environ, own)
        patch.start()
        self.addCleanup(patch.stop)
        notebook = nbformat.v4.new_notebook()
        notebook.cells = [nbformat.v4.new_code_cell(self.blocks("a notebook")["notebook"])]
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(self.folder)}}).execute()
        output, = notebook.cells[0].outputs
        self.assertIn("<iframe srcdoc=", output["data"]["text/html"])
        self.assertIn("Verdict rounded", output["data"]["text/plain"])

    def test_capture(self):
        blocks = self.blocks("a model's attention")
        said = self.run_in_folder(sys.executable, "capture.py")
        self.assertIn("second attention.safetensors 1 1", said)
        self.assertTrue((self.folder / "attention.safetensors").exists())
        if has("torch"):
            self.run_in_folder(sys.executable, "capture_torch.py")
        else:
            compile(blocks["capture_torch.py"], "capture_torch.py", "exec")
            print("SKIPPED: the recipe's part for torch, which is not installed", file=sys.stderr)

    @unittest.skipUnless(WHEEL, "no wheel was named")
    def test_continuous_integration(self):
        text = self.blocks("continuous integration")["yaml"]
        (self.folder / "tools").mkdir()
        for wheel in pathlib.Path(WHEEL).parent.glob("attoscope-*.whl"):  # pip takes this machine's
            shutil.copy(wheel, self.folder / "tools")
        install, judge = re.findall(r"run: \|\n((?: {10}.*\n)+)", text)
        for steps in (install, judge):
            self.run_in_folder("bash", "-euxc", steps)
        self.assertEqual(json.loads((self.folder / "verdict.json").read_text())["ok"], True)
        self.assertTrue((self.folder / "report.html").exists())
        self.assertIn("path: report.html", text)
        wrong = judge.replace("--mask causal", "--mask none")
        environment = {key: value for key, value in os.environ.items() if key != "ATTOSCOPE"}
        self.assertEqual(subprocess.run(["bash", "-euc", wrong], cwd=self.folder, env=environment, capture_output=True, timeout=300).returncode, 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
