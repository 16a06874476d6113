"""The commands' wheel: no window, for every Linux with glibc 2.28 or later.

zig, from the Python package index, compiles and links against that glibc, with a C++ library of its own. Loops run on the standard
library's threads: a shared oneTBB throws exceptions of the system's C++ library, which the program cannot catch."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import licences
import tree
import wheel

GLIBC = "2.28"  # of RHEL 8; Ubuntu 20.04 and Amazon Linux 2023 have later versions
ZIG = ("ziglang==0.17.1",)  # with clang
HEADERS = ("nlohmann", "CLI", "fmt", "xxhash.h", "zlib.h", "zconf.h", "png.h", "pngconf.h", "pnglibconf.h")
LINKED = ("libfmt-dev", "libpng-dev", "zlib1g-dev", "libzip-dev")
LIBZIP = {"BUILD_SHARED_LIBS": "OFF", "CMAKE_INSTALL_LIBDIR": "lib", **{f"BUILD_{part}": "OFF" for part in ("TOOLS", "REGRESS", "EXAMPLES", "DOC")},
          **{f"ENABLE_{part}": "OFF" for part in ("COMMONCRYPTO", "GNUTLS", "MBEDTLS", "OPENSSL", "BZIP2", "LZMA", "ZSTD")}}
ZIG_LIBRARIES = ("libcxx", "libcxxabi", "libunwind")
CACHE = tree.ROOT / ".cache" / "zig"  # the compiler, its compiled libraries, and libzip's source
SYSTEM = pathlib.Path("/usr/include")
# -O2, which later options replace, keeps zig from building its libraries a second time, for debugging. With fmt's functions in its
# headers, no library of the system's C++ is linked.
COMPILER = """#!/bin/sh
# {zig_version}: the compiler's cache knows a compiler by this file
exec env ZIG_GLOBAL_CACHE_DIR='{cache}' '{zig}' {language} -target {machine}-linux-gnu.{glibc} -O2 -fno-sanitize=undefined \\
  -DFMT_HEADER_ONLY "$@"
"""
# Hides the system's headers, which belong to its glibc: the compiler sees only the headers above.
PROJECT = """list(APPEND CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES {system})
list(APPEND CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES {system})
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES {headers})
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES {headers})
set(CMAKE_LIBRARY_ARCHITECTURE {machine}-linux-gnu)
"""


def zig():
    """Path of the program zig."""
    programs = wheel.tools(CACHE / "tools", ZIG, f"wheel for glibc {GLIBC}")
    found, = programs.parent.glob("lib/python3*/site-packages/ziglang/zig")
    return found


def compiler(work, name, language, machine):
    """Makes a command that compiles for the old glibc; ccache recognises the kind of compiler by its name."""
    text = COMPILER.format(zig_version=ZIG[0], cache=CACHE / "libraries", zig=zig(), language=language, machine=machine, glibc=GLIBC)
    tree.put(text, work / name)
    (work / name).chmod(0o755)
    return work / name


def link_headers(folder, machine):
    """Makes links to the headers of other projects, and to no other headers of the system."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in HEADERS:
        places = [place / name for place in (SYSTEM, SYSTEM / f"{machine}-linux-gnu") if (place / name).exists()]
        if not places:
            raise SystemExit(f"app/package: {SYSTEM / name} is missing: app/setup.sh names the packages")
        (folder / name).symlink_to(places[0])


def debian_source(package, cache, made, system=pathlib.Path("/"), how=()):
    """Folder of the source of a Debian package, which apt fetches once into the cache. Exits if it cannot; `made` names what
    is not made then."""
    places = cache / package
    if not list(places.glob("*/CMakeLists.txt")):
        shutil.rmtree(places, ignore_errors=True)
        (places / "lists" / "partial").mkdir(parents=True)
        for file in [system / "etc/apt/sources.list", *(system / "etc/apt/sources.list.d").glob("*.[ls]*")]:
            if file.suffix in (".list", ".sources") and file.is_file():
                tree.put(re.sub(r"^((Types: *)?)deb\b(?!-)", r"\1deb-src", file.read_text(), flags=re.M), places / "parts" / file.name)
        apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={places / 'parts'}",
               "-o", f"Dir::State::lists={places / 'lists'}", "-o", f"Dir::Cache={places}"]
        with (places / "log").open("w") as told:
            done = [subprocess.run([*apt, *words], cwd=places, stdout=told, stderr=told).returncode
                    for words in (("update",), ("source", *how, package))]
        if done[-1] != 0:
            print(f"app/package: there is no {made}: apt cannot fetch the source of {package} ({places / 'log'})", file=sys.stderr)
            raise SystemExit(wheel.NO_TOOLS)
        for archive in places.glob("*.orig.tar.*"):
            if how:  # apt has not unpacked it
                subprocess.run(["tar", "-xf", archive], cwd=places, check=True)
    return next(places.glob("*/CMakeLists.txt")).parent


def cmake(source, folder, target, options, log, runner=()):
    """Configures and builds, both run by `runner`; sets the environment of ccache and pkg-config."""
    environment = {**os.environ, "CCACHE_BASEDIR": str(tree.ROOT), "CCACHE_NOHASHDIR": "1", "CCACHE_COMPILERCHECK": "content",
                   "PKG_CONFIG_LIBDIR": str(folder.parent / "usr" / "lib" / "pkgconfig")}
    with log.open("a") as told:
        for command in (["cmake", "-G", "Ninja", "-S", source, "-B", folder, *(f"-D{name}={value}" for name, value in options.items())],
                        ["cmake", "--build", folder, "--target", target, "--parallel", str(os.cpu_count())]):
            if subprocess.run([*runner, *command], env=environment, stdout=told, stderr=told).returncode != 0:
                raise SystemExit(f"app/package: {target} of {source} cannot be compiled: {log} says why")


def build(work, machine):
    """Builds libzip for deflated and stored files only, and the program in `work`/build."""
    link_headers(work / "headers", machine)
    tree.put(PROJECT.format(system=SYSTEM, machine=machine, headers=work / "headers"), work / "project.cmake")
    tree.put("add_library(fmt::fmt INTERFACE IMPORTED)\n", work / "fmt" / "fmt-config.cmake")
    log = work / "build.log"
    log.unlink(missing_ok=True)
    options = {"CMAKE_C_COMPILER": compiler(work, "clang", "cc", machine), "CMAKE_CXX_COMPILER": compiler(work, "clang++", "c++", machine),
               "CMAKE_PROJECT_INCLUDE": work / "project.cmake", "CMAKE_BUILD_TYPE": "Release", "ZLIB_LIBRARY": wheel.library("libz.a")}
    cmake(debian_source("libzip", CACHE, f"wheel for glibc {GLIBC}"), work / "libzip", "install",
          {**options, **LIBZIP, "CMAKE_INSTALL_PREFIX": work / "usr"}, log)
    cmake(tree.ROOT, work / "build", "attoscope",
          {**options, "CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON", "ATTOSCOPE_GUI": "OFF", "ATTOSCOPE_CUDA": "OFF", "ATTOSCOPE_MPI": "OFF",
           "ATTOSCOPE_PARALLEL": "threads", "ATTOSCOPE_PACKAGED": "ON", "ATTOSCOPE_TOGETHER": "ON", "PNG_LIBRARY": wheel.library("libpng.a"),
           "fmt_DIR": work / "fmt"}, log)


def make(work, out, version, machine):
    """Builds the program in `work` and makes the wheel in `out`."""
    build(work, machine)
    stage, folder = work / "installed", work / "wheel"
    for old in (stage, folder):
        shutil.rmtree(old, ignore_errors=True)
    tree.install(work / "build", stage)
    wheel.fill(folder, stage, version)
    target = folder / f"attoscope-{version}.dist-info" / "licenses"
    wheel.add_copyrights(target, (*licences.OTHERS, *LINKED))
    tree.copy(zig().parent / "LICENSE", target / "zig.LICENSE")
    for name in ZIG_LIBRARIES:
        tree.copy(zig().parent / "lib" / name / "LICENSE.TXT", target / f"{name}.LICENSE.TXT")
    tag = f"py3-none-manylinux_{GLIBC.replace('.', '_')}_{machine}"
    file = out / f"attoscope-{version}-{tag}.whl"
    wheel.pack(folder, file, version, tag)
    return file
