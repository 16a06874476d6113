"""The program: found, of this version, and never left running."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import attoscope
from attoscope import program
from attoscope.__main__ import main
from support import ROOT, STAND_IN, Case, python


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
            self.skipTest("the program is beside the package: the path is not looked at")
        os.environ.pop("ATTOSCOPE", None)
        shutil.copy(STAND_IN, os.path.join(self.folder, "attoscope"))
        self.set(PATH=self.folder + os.pathsep + os.environ["PATH"])
        self.assertEqual(os.path.dirname(program.program()), self.folder)

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
