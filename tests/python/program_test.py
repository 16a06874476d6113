"""Finding the program, checking its version, showing its progress, and ending it."""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
import tty
import unittest
from unittest import mock

import attoscope
from attoscope import program, progress
from attoscope.__main__ import main
from support import ROOT, ROUNDED, STAND_IN, Case, python


class Finding(Case):
    def test_a_named_program_is_the_one(self):
        self.stand_in()
        self.assertEqual(program.program(), STAND_IN)

    def test_a_named_program_that_is_none(self):
        self.set(ATTOSCOPE="/no/such/program")
        self.assertIn("/no/such/program", self.sentence_of(attoscope.ProgramMissing, program.program))
        text = os.path.join(self.folder, "text")
        pathlib.Path(text).write_text("")
        os.chmod(text, 0o755)
        self.set(ATTOSCOPE=text)
        self.assertIn("cannot be started", self.sentence_of(attoscope.ProgramMissing, program.program))

    def test_a_program_on_the_path(self):
        if any(os.access(place, os.X_OK) for place in list(program._places())[:3]):
            self.skipTest("the package contains the program: PATH is not searched")
        os.environ.pop("ATTOSCOPE", None)
        shutil.copy(STAND_IN, os.path.join(self.folder, "attoscope"))
        self.set(PATH=self.folder + os.pathsep + os.environ["PATH"])
        self.assertEqual(os.path.dirname(program.program()), self.folder)

    def test_the_command_that_pip_makes_is_no_program(self):
        script = os.path.join(self.folder, "attoscope")
        pathlib.Path(script).write_text(f"#!{sys.executable}\nimport sys\nfrom attoscope.__main__ import main\nmain()\n")
        os.chmod(script, 0o755)
        with mock.patch.dict(os.environ, PATH=self.folder), mock.patch.object(program, "_own", lambda: "/no/such"), \
                mock.patch.object(sys, "executable", os.path.join(self.folder, "python")):
            os.environ.pop("ATTOSCOPE", None)
            self.assertIn("neither", self.sentence_of(attoscope.ProgramMissing, program.program))
        self.set(ATTOSCOPE=script)
        self.assertIn(script, self.sentence_of(attoscope.ProgramMissing, program.program))

    def test_no_program_at_all(self):
        os.environ.pop("ATTOSCOPE", None)
        real, program._places = program._places, lambda: iter(())
        self.addCleanup(setattr, program, "_places", real)
        self.assertIn("$PATH", self.sentence_of(attoscope.ProgramMissing, program.program))

    def test_another_version_is_refused(self):
        for said, kind in (("attoscope 9.9.9", attoscope.OtherVersion), ("something else", attoscope.ProgramMissing), ("", attoscope.ProgramMissing)):
            self.stand_in(version=said)
            program._known_versions.clear()
            self.addCleanup(program._known_versions.clear)
            self.assertIn(STAND_IN, self.sentence_of(kind, attoscope.run))

    def test_the_package_is_of_the_version_of_the_program(self):
        cmake = ROOT / "CMakeLists.txt"
        self.assertEqual(re.search(r"VERSION ([\d.]+) LANG", cmake.read_text()).group(1), attoscope.__version__)


class Running(Case):
    def test_exit_codes_are_exceptions(self):
        for code, kind, err, said in ((1, attoscope.CouldNotRun, "noise\nattoscope: a disk is full\n", "a disk is full"),
                                      (2, attoscope.BadOption, "attoscope: --n has 'x'\n", "--n has 'x'"),
                                      (1, attoscope.CouldNotRun, "", "the program ended with code 1 and said nothing"),
                                      (1, attoscope.CouldNotRun, "a\nlast line\n", "last line")):
            self.stand_in(code=code, err=err)
            self.assertEqual(self.sentence_of(kind, attoscope.run), said)

    def test_what_is_no_json(self):
        for out in ("", "[]", "{", "12"):
            self.stand_in(out)
            self.assertIn("JSON", self.sentence_of(attoscope.CouldNotRun, attoscope.run))

    def test_a_program_that_is_killed(self):
        self.stand_in(sleep=20)
        code, _, err = python(
            "import attoscope, json, os, signal, threading, time\n"
            "def kill():\n"
            "  while not os.path.exists(os.environ['STAND_IN_LOG']): time.sleep(0.01)\n"
            "  time.sleep(0.1); os.kill(json.loads(open(os.environ['STAND_IN_LOG']).readline())['process'], signal.SIGKILL)\n"
            "threading.Thread(target=kill, daemon=True).start()\n"
            "try: attoscope.run()\n"
            "except attoscope.CouldNotRun as error: assert 'signal 9' in str(error), error\n")
        self.assertEqual((code, err), (0, ""))

    def test_ctrl_c_ends_the_program_and_leaves_nothing(self):
        self.stand_in(sleep=20)
        code = ("import attoscope, signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
                "attoscope.judge(*[[[1.0]]] * 4, report=True)")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, start_new_session=True) as child:
            self.addCleanup(child.kill)
            until = time.monotonic() + 30
            while not self.commands():
                self.assertLess(time.monotonic(), until, "the program was not started")
                time.sleep(0.01)
            self.assertNotEqual(os.listdir(self.temporary), [])
            child.send_signal(signal.SIGINT)
            self.assertIn(b"KeyboardInterrupt", child.communicate()[1])
        with open(self.log) as log:
            process = json.loads(log.readline())["process"]
        self.assertFalse(os.path.exists(f"/proc/{process}"), "the program still runs, or is a zombie")

    def test_no_zombies_after_many_calls(self):
        self.stand_in("{}")
        for _ in range(3):
            attoscope.run()
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_the_module_is_the_program(self):
        self.stand_in("as it is", code=7)
        code, out, _ = python("import sys; from attoscope.__main__ import main; sys.argv = ['attoscope', 'x', '--y']; main()")
        self.assertEqual((code, out, self.commands()), (7, "as it is", [["x", "--y"]]))
        self.set(ATTOSCOPE="/no/such/program")
        with self.assertRaises(SystemExit) as caught, mock.patch("sys.stderr") as error:
            main()
        self.assertEqual(caught.exception.code, 1)
        self.assertIn("attoscope: $ATTOSCOPE is", error.write.call_args_list[0][0][0])


class Progress(Case):
    """Progress lines of the program appear on a terminal and nowhere else."""

    AT_ONCE = "import attoscope.progress\nattoscope.progress._PATIENCE = 0\n"
    JUDGE = "import attoscope\nfound = attoscope.judge(*[[[1.0, 2.0]]] * 4)\nprint(found.sentence)\n"

    def on_a_terminal(self, code):
        """Runs Python with a terminal as standard error; returns the terminal's text, the output and the exit code."""
        ours, its_end = pty.openpty()
        tty.setraw(its_end)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=its_end) as child:
            os.close(its_end)
            seen = b""
            with contextlib.suppress(OSError):
                while part := os.read(ours, 4096):
                    seen += part
            out = child.stdout.read().decode()
        os.close(ours)
        return seen.decode(), out, child.returncode

    def test_a_terminal_has_one_line_that_goes(self):
        self.stand_in(ROUNDED, steps=4)
        seen, out, code = self.on_a_terminal(self.AT_ONCE + self.JUDGE)
        self.assertEqual((out.strip(), code), (ROUNDED["sentences"][0], 0))
        shown = re.findall("\r([^\r]*)\x1b\\[K", seen)
        self.assertRegex(" ".join(shown), r"\d of 4 heads")
        self.assertEqual((shown[-1], "".join(f"\r{text}\x1b[K" for text in shown)), ("", seen))

    def test_a_short_command_shows_nothing(self):
        self.stand_in(ROUNDED, steps=2)
        self.assertEqual(self.on_a_terminal(self.AT_ONCE.replace("= 0", "= 1000") + self.JUDGE)[0], "")
        self.assertEqual(progress._PATIENCE, 0.5)

    def test_without_pseudo_terminals_there_is_no_progress(self):
        self.stand_in(ROUNDED, steps=2)
        with mock.patch.object(progress, "line", progress.Line), mock.patch("pty.openpty", side_effect=OSError("out of pty devices")):
            self.assertTrue(attoscope.judge(*[[[1.0]]] * 4).ok)

    def test_errors_are_exceptions_on_terminals_too(self):
        self.stand_in(code=1, err="attoscope: a disk is full\n", steps=2)
        seen, out, code = self.on_a_terminal(self.AT_ONCE + "try: attoscope.judge(*[[[1.0]]] * 4)\n"
                                             "except attoscope.CouldNotRun as error: print(error)")
        self.assertEqual((out.strip(), code), ("a disk is full", 0))
        self.assertNotIn("disk", seen)

    def test_a_long_answer_is_whole(self):
        answer = {**ROUNDED, "table": ROUNDED["table"] * 5000}
        self.set(ANSWER=os.path.join(self.folder, "answer"))
        pathlib.Path(os.environ["ANSWER"]).write_text(json.dumps(answer))
        script = os.path.join(self.folder, "program")
        pathlib.Path(script).write_text('#!/bin/sh\n[ "$1" = --version ] && echo attoscope 0.1.0 || cat "$ANSWER"\n')
        os.chmod(script, 0o755)
        self.set(ATTOSCOPE=script)
        self.assertEqual(self.on_a_terminal(self.JUDGE + "print(len(found.table))")[1].split()[-1], "5000")

    def test_elsewhere_nothing_is_written(self):
        self.stand_in(ROUNDED, steps=2)
        self.assertEqual(python(self.AT_ONCE + self.JUDGE)[2], "")

    def test_a_cell_has_one_line_that_is_rewritten(self):
        self.stand_in(ROUNDED, steps=4)
        code, out, err = python(self.AT_ONCE + "import sys, types\nshown = []\n"
                                "class Handle:\n  def update(self, data, raw): shown.append(data['text/plain'])\n"
                                "def display(data, raw, display_id): shown.append(data['text/plain']); made.append(1); return Handle()\n"
                                "made = []\n"
                                "sys.modules['ipykernel'] = types.ModuleType('ipykernel')\n"
                                "sys.modules['IPython'] = types.ModuleType('IPython')\n"
                                "sys.modules['IPython.display'] = types.ModuleType('display'); sys.modules['IPython.display'].display = display\n"
                                "import attoscope\nattoscope.judge(*[[[1.0, 2.0]]] * 4, report=False)\nprint(len(made), *shown)\n")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, "^1( [1-4] of 4 heads)+ \n$")

    def test_the_program_itself_tells_its_heads(self):
        code = ("import random, attoscope\nsource = random.Random(1)\n"
                "q = [[[source.gauss(0, 1) for _ in range(32)] for _ in range(96)] for _ in range(24)]\n"
                "attoscope.judge(q, q, q, q, threads=1)\n")
        self.assertRegex(self.on_a_terminal(self.AT_ONCE + code)[0], r"\d+ of 24 heads")


class Importing(Case):
    def test_import_takes_less_than_50_ms(self):
        seconds = []
        for _ in range(5):
            _, out, _ = python("import time; a = time.process_time(); import attoscope; print(time.process_time() - a)")
            seconds.append(float(out))
        self.assertLess(min(seconds), 0.05)
        print(f"import attoscope: {min(seconds) * 1000:.1f} ms", file=sys.stderr)

    def test_import_loads_nothing_that_takes_time(self):
        _, out, _ = python("import sys; before = set(sys.modules); import attoscope; print(*set(sys.modules) - before)")
        loaded = set(out.split())
        self.assertIn("attoscope", loaded)
        self.assertFalse(loaded & {"ctypes", "html", "importlib.util", "json", "numpy", "shutil", "subprocess", "tempfile", "threading", "torch"})

    def test_every_public_name_is_there_and_documented(self):
        for name in attoscope.__all__:
            self.assertTrue(getattr(attoscope, name).__doc__, name)
        self.assertLessEqual(set(attoscope.__all__), set(dir(attoscope)))
        with self.assertRaises(AttributeError):
            attoscope.no_such_name

    def test_every_exception_is_an_attoscope_error(self):
        kinds = [getattr(attoscope, name) for name in attoscope.__all__ if isinstance(getattr(attoscope, name), type)
                 and issubclass(getattr(attoscope, name), BaseException)]
        self.assertEqual(len(kinds), 7)
        self.assertTrue(all(issubclass(kind, attoscope.AttoscopeError) for kind in kinds))
        self.assertTrue(issubclass(attoscope.AttoscopeError, RuntimeError))
        self.assertTrue(issubclass(attoscope.BadTensor, ValueError) and issubclass(attoscope.BadOption, ValueError))


if __name__ == "__main__":
    unittest.main()
