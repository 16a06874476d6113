#!/usr/bin/env python3
"""Tests tests/gpu/measure with fakes of the programs that need a GPU: the parts it runs, their order, time limits, continuing
in a later call, its files.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MEASURE = pathlib.Path(__file__).resolve().parent / "measure"
ORDER = ["check", "lost", "bench", "interop", "check-gpu", "memcheck", "racecheck", "synccheck", "initcheck"]
ROWS = {"schema": "attoscope.bench/1", "rows": [{"stage": "hw", "ms": 2.98, "gflops": 90055.0, "percent_of_limit": 38.1, "limit": "FMA"}]}


class Measured(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.at = pathlib.Path(self.scratch.name)
        self.build, self.out, self.ran = self.at / "build", self.at / "out", self.at / "ran"
        self.check("echo '12 passed, 0 failed'")
        self.program("tests/gpu/attoscope_gpu_interop", "echo '3 passed, 0 failed'", "interop")
        self.attoscope()
        self.program("sanitizer", "shift 3; echo \"$1\" >>RAN; shift; exec echo '5 passed, 0 failed'", None)

    def check(self, script):
        """Writes a fake attoscope_gpu_check; with --lose it always succeeds."""
        self.program("tests/gpu/attoscope_gpu_check",
                     f"[[ $1 == --lose ]] && {{ echo lost >>RAN; echo '2 passed, 0 failed'; exit; }}\necho check >>RAN\n{script}", None)

    def program(self, path, script, name):
        """Writes a fake program; it records its run under `name`, if given."""
        file = self.build / path
        file.parent.mkdir(parents=True, exist_ok=True)
        note = f"echo {name} >>{self.ran}\n" if name else ""
        file.write_text(f"#!/bin/bash\n{note}{script.replace('RAN', str(self.ran))}\n")
        file.chmod(0o755)

    def attoscope(self, bench=f"echo '{json.dumps(ROWS)}' >\"$5\"", knows_check_gpu=True):
        """Writes a fake attoscope with bench --device cuda --json FILE, and check-gpu with the same options."""
        adds = "echo '{\"adds_as\": \"h100\"}' >\"$5\"; echo 'this GPU adds as h100'" if knows_check_gpu else "exit 2"
        listed = "  check-gpu   how it adds" if knows_check_gpu else ""
        self.program("attoscope", f"[[ $1 == --help ]] && {{ echo 'no check-gpu'; echo '{listed}'; exit; }}\necho $1 >>RAN\n"
                     f"case $1 in bench) {bench};; check-gpu) {adds};; esac", None)

    def command(self, *more):
        return [str(MEASURE), "--build", str(self.build), "--out", str(self.out), *more]

    def environment(self, sanitizer=True):
        return {**os.environ, "PATH": f"{self.build}:{os.environ['PATH']}",
                "ATTOSCOPE_SANITIZER": str(self.build / "sanitizer") if sanitizer else ""}

    def measure(self, *more, sanitizer=True):
        """Runs measure; returns its exit code and the parts that ran."""
        self.ran.unlink(missing_ok=True)
        code = subprocess.run(self.command(*more), capture_output=True, text=True, env=self.environment(sanitizer)).returncode
        return code, self.ran.read_text().split() if self.ran.exists() else []

    def known(self):
        return json.loads((self.out / "measure.json").read_text())["parts"]

    def page(self):
        return (self.out / "measure.md").read_text()

    def test_runs_every_part_once_in_order_of_value(self):
        self.assertEqual(self.measure(), (0, ORDER))
        self.assertEqual(list(self.known()), ORDER)
        self.assertEqual({r["state"] for r in self.known().values()}, {"passed"})
        self.assertEqual((self.known()["check"]["passed"], self.known()["memcheck"]["passed"]), (12, 5))
        self.assertEqual(self.known()["check-gpu"]["result"], {"adds_as": "h100"})
        self.assertIn("| hw | 2.98 | 90055 | 38 % of FMA |", self.page())
        self.assertEqual(self.measure(), (0, []), "everything is known")
        self.assertEqual(self.measure("--again")[1], ORDER)

    def test_what_fails_is_named_and_the_rest_runs(self):
        self.program("tests/gpu/attoscope_gpu_interop", "echo 'FAILED: 37 x 5 | bf16'; echo '2 passed, 1 failed'; exit 1", "interop")
        self.assertEqual(self.measure(), (1, ORDER))
        self.assertEqual(self.known()["interop"]["state"], "failed")
        self.assertEqual(self.known()["interop"]["failures"], ["FAILED: 37 x 5 | bf16"])
        self.assertIn("- FAILED: 37 x 5 \\| bf16", self.page())
        self.assertEqual(self.measure(), (1, []), "a failure is a result")

    def test_a_part_beyond_its_limit_is_cut_off_with_all_that_it_began(self):
        self.check(f"sleep 40 & echo $! >{self.at}/child; echo 'golden: 4 passed, 0 failed'; wait")
        code, ran = self.measure("--limit", "1")
        self.assertEqual((code, ran), (1, ORDER))
        self.assertEqual(self.known()["check"]["state"], "cut off")
        self.assertEqual(self.known()["check"]["last_line"], "golden: 4 passed, 0 failed")
        child = pathlib.Path("/proc", (self.at / "child").read_text().strip(), "cmdline")
        self.assertFalse(child.exists() and b"sleep" in child.read_bytes(), "its child lives on")
        self.assertEqual(self.measure(), (1, []), "it would be cut off again")

    def test_goes_on_where_it_was_killed(self):
        self.attoscope(bench=f"[[ -e {self.at}/again ]] || sleep 40; echo '{{}}' >\"$5\"")
        process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, env=self.environment())
        self.addCleanup(process.kill)
        for _ in range(500):
            if self.ran.exists() and self.ran.read_text().split() == ORDER[:3]:
                break
            time.sleep(0.02)
        self.assertEqual(self.known()["bench"]["state"], "running")
        process.send_signal(signal.SIGTERM)
        process.wait()
        (self.at / "again").touch()
        self.assertEqual(self.measure(), (0, ORDER[2:]))

    def test_a_call_that_is_lent_for_a_while_leaves_the_rest_to_the_next(self):
        self.check("sleep 0.5")
        self.attoscope(bench=f"[[ -e {self.at}/again ]] || sleep 40; echo '{{}}' >\"$5\"")
        self.assertEqual(self.measure("--for", "6"), (3, ORDER[:3]))
        self.assertNotIn("bench", self.known(), "it was not its own time that was over")
        (self.at / "again").touch()
        self.assertEqual(self.measure("--for", "60"), (0, ORDER[2:]))
        self.assertEqual(self.known()["bench"]["state"], "passed")

    def test_a_part_that_takes_a_whole_call_is_cut_off_for_good(self):
        self.check("sleep 40")
        self.assertEqual(self.measure("--for", "1.2"), (1, ["check"]))
        self.assertEqual(self.known()["check"]["state"], "cut off")
        self.assertEqual(self.measure(), (1, ORDER[1:]))

    def test_other_programs_are_measured_anew(self):
        self.measure()
        self.program("tests/gpu/attoscope_gpu_interop", "echo '4 passed, 0 failed'", "interop")
        self.assertEqual(self.measure(), (0, ORDER))

    def test_another_gpu_is_measured_anew(self):
        for gpu in ("H100, 80 GB", "B200, 180 GB"):
            self.program("nvidia-smi", f"echo '{gpu}'", None)
            self.assertEqual(self.measure(), (0, ORDER))
            self.assertIn(f"- {gpu}", self.page())
        self.assertEqual(self.measure("--device", "cuda:1", "--only", "check"), (0, ["check"]))
        self.assertEqual(list(self.known()), ["check"])

    def test_without_the_check_nothing_is_measured(self):
        (self.build / "tests/gpu/attoscope_gpu_check").unlink()
        self.assertEqual(self.measure()[0], 1)
        self.assertEqual(self.known()["check"]["state"], "left out")

    def test_what_cannot_run_is_left_out_and_said(self):
        self.attoscope(knows_check_gpu=False)
        code, ran = self.measure(sanitizer=False)
        self.assertEqual((code, ran), (0, ["check", "lost", "bench", "interop"]))
        self.assertEqual(self.known()["memcheck"], {"state": "left out", "last_line": "compute-sanitizer is not installed"})
        self.assertIn("has no command check-gpu", self.page())
        self.assertEqual(self.measure(), (0, ORDER[5:]), "what is installed later runs later")

    def test_without_a_gpu_nothing_else_is_begun(self):
        self.check("echo 'SKIPPED: no device (none.) Nothing was compared; 0 passed, 0 failed'")
        self.assertEqual(self.measure(), (1, ["check"]))
        self.assertEqual(self.known()["bench"]["state"], "left out")
        self.assertIn("SKIPPED: no device", self.known()["bench"]["last_line"])

    def test_a_result_that_is_no_json_is_a_failure(self):
        self.attoscope(bench="echo '{\"rows\": [' >\"$5\"")
        self.assertEqual(self.measure()[0], 1)
        self.assertIn("bench-rows.json is no JSON", self.known()["bench"]["last_line"])

    def test_chosen_parts_alone_and_words_that_are_none(self):
        self.assertEqual(self.measure("--only", "interop,racecheck"), (0, ["interop", "racecheck"]))
        self.assertEqual(self.measure("--only", "check"), (0, ["check"]))
        self.assertEqual(sorted(self.known()), ["check", "interop", "racecheck"])
        self.assertEqual(self.measure("--only", "speed"), (2, []))


if __name__ == "__main__":
    sys.exit(unittest.main())
