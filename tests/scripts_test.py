#!/usr/bin/env python3
"""The shell scripts where they cannot go on: in a read-only tree, with a fuzzer that does not start, and so on. They run on
copies of themselves, with fakes of the programs that they start.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOBODY = 65534


class Scripts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.at = pathlib.Path(scratch.name)
        self.tree, self.cache = self.at / "tree", self.at / "cache"
        self.cache.mkdir()
        self.copy("app/setup.sh")

    def copy(self, script):
        (self.tree / script).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / script, self.tree / script)

    def fake(self, name, text):
        """Writes a program that the scripts find first."""
        file = self.at / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/bash\n{text}\n")
        file.chmod(0o755)

    def said(self, script, *arguments, user=None):
        """Exit code and output of a script; `user`: who runs it, if this is root."""
        environment = {**os.environ, "PATH": f"{self.at}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.cache)}
        ended = subprocess.run([self.tree / script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                               stdin=subprocess.DEVNULL, user=user if os.getuid() == 0 else None)
        return ended.returncode, ended.stdout

    def test_the_format_of_a_read_only_tree_is_not_called_wrong(self):
        self.copy("tests/format")
        self.fake("python3", "echo no package index; exit 1")
        for folder in (self.at, self.cache):
            folder.chmod(0o777)
        self.tree.chmod(0o555)
        code, said = self.said("tests/format", user=NOBODY)
        self.assertEqual(code, 77, said)
        log = self.cache / "attoscope/build/clang-format.log"
        self.assertIn(f"see {log}", said)
        self.assertEqual(log.read_text(), "no package index\n")
        shutil.rmtree(self.cache / "attoscope")
        self.cache.chmod(0o555)
        self.assertEqual(self.said("tests/format", user=NOBODY)[0], 77)

    def test_a_fuzzer_that_does_not_start_is_a_failure(self):
        self.copy("tests/fuzz/run")
        fuzzer = f"{self.tree}/build/clang/tests/attoscope_fuzz"
        for name in ("clang++", "ninja"):
            self.fake(name, "")
        self.fake("cmake", f"mkdir -p {os.path.dirname(fuzzer)}; cp {self.at}/bin/fuzzer {fuzzer}")
        seeds = "[[ -z ${ATTOSCOPE_SEEDS:-} ]] || { mkdir -p $ATTOSCOPE_SEEDS/zips; echo >$ATTOSCOPE_SEEDS/zips/seed-0; echo zips; exit; }\n"
        self.fake("fuzzer", seeds + "echo 'stat::number_of_executed_units: 7'; echo '#7 DONE cov: 3'")
        code, said = self.said("tests/fuzz/run", "--executions", "7")
        self.assertEqual(code, 0, said)
        self.fake("fuzzer", seeds + "echo 'no libFuzzer'; exit 127")
        code, said = self.said("tests/fuzz/run", "--executions", "7")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"(?m)^zips +none +0 +0\nno libFuzzer$")

    def test_a_debian_that_was_not_finished_is_made_anew(self):
        self.copy("tests/elsewhere")
        self.fake("id", "echo 0")
        self.fake("unshare", 'shift 3; exec "$@"')  # without its options
        self.fake("apt-get", "")
        self.fake("debootstrap", f"ls -A {self.at}/debian; touch {self.at}/debian/half; echo no mirror; exit 1")
        for _ in range(2):
            code, said = self.said("tests/elsewhere", str(self.at / "debian"), "program")
            self.assertEqual((code, said.split("\n")[1:3]), (1, ["etc", "no mirror"]), said)
        (self.at / "debian/etc/elsewhere").unlink()
        self.assertIn("is not empty, and was not made by this script", self.said("tests/elsewhere", str(self.at / "debian"))[1])

    def test_the_packages_options_may_stand_anywhere(self):
        self.copy("app/package")
        for name in ("dpkg-query", "cmake", "ninja"):
            self.fake(name, "")
        for script in ("ui/toolkit/fetch", "app/packaging/make_packages.py"):
            (self.tree / script).parent.mkdir(parents=True)
            shutil.copy(self.at / "bin/ninja", self.tree / script)
        (self.tree / "app/packaging/make_packages.py").write_text("#!/bin/bash\necho made: ${@:2}\n")
        self.fake("comm", "")  # no package is missing
        for arguments in (["out", "--without-commands"], ["--without-commands", "out"]):
            self.assertRegex(self.said("app/package", *arguments)[1], r"(?m)^made: out --without-commands$")
        self.assertRegex(self.said("app/package")[1], rf"(?m)^made: {self.tree}/build/packages$")
        code, said = self.said("app/package", "--help")
        self.assertEqual((code, "app/package [--without-commands] [DIRECTORY]" in said, "made:" in said), (0, True, False), said)
        for arguments in (["--with-commands"], ["one", "two"]):
            code, said = self.said("app/package", *arguments)
            self.assertEqual((code, said.count("\n"), "made:" in said), (2, 1, False), said)


if __name__ == "__main__":
    sys.exit(unittest.main())
