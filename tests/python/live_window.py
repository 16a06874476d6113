#!/usr/bin/env python3
"""attoscope.view with a real window under Xvfb: the first view starts the window, the second changes its picture.

Exit code 77 if Xvfb is missing.
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import attoscope
from attoscope import program

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from support import plain_attention, random_matrix  # noqa: E402

PATIENCE = 60  # seconds


@contextlib.contextmanager
def display(folder):
    """Xvfb with its screen as a file in the folder."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-fbdir", folder, "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        os.close(write)
        with os.fdopen(read) as told:
            number = told.readline().strip()
        try:
            yield ":" + number
        finally:
            server.terminate()


def windows(runtime):
    """The program's processes of this test, identified by their runtime directory."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "exe") == os.path.realpath(program.program()) and \
                    f"XDG_RUNTIME_DIR={runtime}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def picture(folder):
    return hashlib.sha256((pathlib.Path(folder) / "Xvfb_screen0").read_bytes()).hexdigest()


def settled(folder, other_than):
    """The picture once it stays for a second and is another one."""
    until = time.monotonic() + PATIENCE
    last, since = picture(folder), time.monotonic()
    while time.monotonic() < until:
        time.sleep(0.1)
        now = picture(folder)
        if now != last:
            last, since = now, time.monotonic()
        if now != other_than and time.monotonic() - since > 1:
            return now
    raise SystemExit(f"the window shows nothing else after {PATIENCE} s")


def watch(folder):
    """Two views in turn: the picture must change and the window must be the same."""
    q, k, v = (random_matrix(64, 16, seed) for seed in range(3))
    right, unmasked = plain_attention(q, k, v, "causal"), plain_attention(q, k, v)
    empty = picture(folder)
    attoscope.view(q, k, v, right, mask="causal", format="fp32")
    first = settled(folder, empty)
    window = windows(folder)
    assert len(window) == 1, f"{len(window)} windows after the first view"
    began = time.monotonic()
    attoscope.view(q, k, v, unmasked, mask="causal", format="fp32")
    returned = time.monotonic() - began
    settled(folder, first)
    assert windows(folder) == window, f"other windows after the second view: {windows(folder)}"
    assert returned < 5, f"the second view returned after {returned:.1f} s"
    print(f"a second view changed the picture of the same window, and returned after {returned * 1000:.0f} ms")


def main():
    if not shutil.which("Xvfb"):
        print("SKIPPED: there is no Xvfb (package xvfb)", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(prefix="attoscope-test-") as folder, display(folder) as name:
        os.chmod(folder, 0o700)
        os.environ.update(DISPLAY=name, XDG_RUNTIME_DIR=folder, XDG_STATE_HOME=folder + "/state", XDG_CACHE_HOME=folder + "/cache",
                          LIBGL_ALWAYS_SOFTWARE="1")
        os.environ.pop("WAYLAND_DISPLAY", None)
        try:
            watch(folder)
        finally:
            for process in windows(folder):
                os.kill(process, signal.SIGTERM)
            until = time.monotonic() + 10
            while windows(folder) and time.monotonic() < until:
                time.sleep(0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main())
