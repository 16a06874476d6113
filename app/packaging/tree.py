"""Folders of files for packages."""
import pathlib
import shutil
import subprocess

import icon
import licences
import manual

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def put(text, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def copy(source, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, file)


def install(build, prefix):
    """Runs `cmake --install`: the program and its assets, as under /usr."""
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True, stdout=subprocess.DEVNULL)


def add_python(folder):
    """Copies the Python package into a folder of modules."""
    source = ROOT / "app" / "python" / "attoscope"
    for file in [*source.glob("*.py"), source / "py.typed"]:
        copy(file, folder / "attoscope" / file.name)


def add_desktop(share, program, version):
    """Adds desktop entry, icon, MIME type and manual page to a share folder."""
    for entry in ("attoscope.desktop", "attoscope-link.desktop"):
        copy(HERE / entry, share / "applications" / entry)
    copy(HERE / "attoscope.xml", share / "mime" / "packages" / "attoscope.xml")
    put(icon.svg(), share / "icons" / "hicolor" / "scalable" / "apps" / "attoscope.svg")
    put(manual.page(program, version), share / "man" / "man1" / "attoscope.1")


def add_fonts(assets):
    """Copies the window's fonts, for machines that lack them, with their licences."""
    for package, files in licences.FONTS.items():
        for name in files:
            font = pathlib.Path("/usr/share/fonts") / name
            if not font.is_file():
                raise SystemExit(f"app/package: {font} is missing: install the package {package}")
            copy(font, assets / "fonts" / font.name)
        copy(licences.of_package(package), assets / "fonts" / f"{package}.copyright")
