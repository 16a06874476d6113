#!/usr/bin/env python3
"""Makes the packages of a built program: app/packaging/make_packages.py BUILD OUT [--without-commands]. `app/package` builds it, then
runs this."""
import pathlib
import platform
import re
import shutil
import sys

sys.dont_write_bytecode = True

import commands  # noqa: E402
import deb  # noqa: E402
import tree  # noqa: E402
import wheel  # noqa: E402


def version():
    """The project's version; the Python package must have the same."""
    found = re.search(r"project\(attoscope VERSION ([\d.]+)", (tree.ROOT / "CMakeLists.txt").read_text()).group(1)
    package = re.search(r'__version__ = "([\d.]+)"', (tree.ROOT / "app" / "python" / "attoscope" / "__init__.py").read_text()).group(1)
    if package != found:
        raise SystemExit(f"app/package: CMakeLists.txt has version {found}, app/python/attoscope/__init__.py {package}: expected the same")
    return found


def tell(file):
    print(f"{file} ({file.stat().st_size / 1e6:.1f} MB)", flush=True)


def main():
    build, out = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    number, machine = version(), platform.machine()
    work, stage = build / "packages", build / "packages" / "usr"
    shutil.rmtree(work, ignore_errors=True)
    tree.install(build, stage)
    out.mkdir(parents=True, exist_ok=True)
    for old in [*out.glob("attoscope-*.whl"), *out.glob("attoscope_*.deb"), *out.glob("attoscope-*.tgz")]:
        old.unlink()
    made = [deb.make(stage, work, out, number), wheel.make(stage, work, out, number, machine)]
    made.append(wheel.make_archive(work / "full", stage, out, number, machine))
    shutil.rmtree(work)
    for file in made:
        tell(file)
    if "--without-commands" not in sys.argv:
        tell(commands.make(build.parent / "commands", out, number, machine))


if __name__ == "__main__":
    main()
