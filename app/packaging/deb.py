"""The Debian package."""
import gzip
import pathlib
import re
import shutil
import subprocess

import licences
import tree

LOADED = ("libglfw3", "libegl1", "libgl1")  # loaded by name at run time, so dpkg-shlibdeps does not find them
CONTROL = """Package: attoscope
Version: {version}
Architecture: {architecture}
Maintainer: Attoscope maintainers <attoscope@localhost>
Installed-Size: {size}
Depends: {depends}
Recommends: gnuplot-nox, python3
Suggests: zenity | kdialog
Section: science
Priority: optional
Description: explorer of attention arithmetic
 Shows what rounding does to attention kernels, element by element and tile
 by tile, and says whether a kernel's output is rounded or wrong: in a
 window, from the command line and from Python.
"""


def architecture():
    return subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()


def needed(program, work):
    """Packages, with versions, of the shared libraries that the program links."""
    tree.put("Source: attoscope\n\nPackage: attoscope\nArchitecture: any\n", work / "debian" / "control")
    done = subprocess.run(["dpkg-shlibdeps", "-O", f"-e{program}"], cwd=work, check=True, capture_output=True, text=True)
    return re.search(r"shlibs:Depends=(.*)", done.stdout).group(1)


def copyright_text():
    """Our licence, and the licences of third-party code that is compiled in."""
    parts = [(tree.ROOT / "assets" / "LICENSE").read_text(encoding="utf-8")]
    for name, file in licences.of_toolkit(tree.ROOT / ".cache" / "imgui-bundle" / "external").items():
        parts.append(f"--- {name}\n\n{file.read_text(encoding='utf-8', errors='replace')}")
    return "\n".join(parts)


def fill(root, stage, version):
    """Fills the folder with the files to be installed."""
    usr = root / "usr"
    shutil.copytree(stage, usr)
    tree.add_python(usr / "lib" / "python3" / "dist-packages")
    tree.add_desktop(usr / "share", stage / "bin" / "attoscope", version)
    page = usr / "share" / "man" / "man1" / "attoscope.1"
    page.with_suffix(".1.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
    page.unlink()
    tree.put(copyright_text(), usr / "share" / "doc" / "attoscope" / "copyright")


def make(stage, work, out, version):
    root = work / "deb"
    fill(root, stage, version)
    files = [path for path in root.rglob("*") if path.is_file()]
    depends = ", ".join([needed(stage / "bin" / "attoscope", work), *LOADED, *licences.FONTS])
    size = sum(path.stat().st_size for path in files) // 1024
    tree.put(CONTROL.format(version=version, architecture=architecture(), size=size, depends=depends), root / "DEBIAN" / "control")
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path == root / "usr" / "bin" / "attoscope" else 0o644)
    file = pathlib.Path(out) / f"attoscope_{version}_{architecture()}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, file], check=True, stdout=subprocess.DEVNULL)
    return file
