#!/usr/bin/env python3
"""Makes the folder of static files with window and commands as WebAssembly: app/web/package_web.py OUT PROGRAM, PROGRAM: a native
program, whose digests are included. Without an emscripten that is new enough or can be fetched, prints one sentence and exits with
77."""
import gzip
import json
import pathlib
import shutil
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "packaging"))
sys.dont_write_bytecode = True

import commands  # noqa: E402
import experiments  # noqa: E402
import tree  # noqa: E402
import wheel  # noqa: E402

EMSCRIPTEN = (str(HERE / "emscripten"),)
LIBRARIES = tree.ROOT / ".cache" / "web-libraries"  # sources of zlib, libpng, libzip and FreeType
HEADERS = ("nlohmann", "CLI", "fmt", "xxhash.h")  # of header-only projects
WINDOW_PAGES = ("index.html", "window.mjs", "files.mjs", "far.mjs", "far_worker.mjs")
PAGES = ("bits.html", "attoscope.mjs", "bits.mjs", "client.mjs", "page.css", "worker.mjs")
WINDOW, COMMANDS = "window_module", "attoscope_module"
ASSETS = tree.ROOT / "assets"
FONTS = ("Inter:regular", "Inter:semibold", "Inter:italic", "JetBrains Mono:regular", "DejaVu Sans:book")  # of this machine
TOOLS = ("fonttools==4.60.1", "deflate==0.9.0")  # for the fonts; and gzip by libdeflate, 3 % smaller than zlib's
PACK = "import deflate, sys; sys.stdout.buffer.write(deflate.gzip_compress(sys.stdin.buffer.read(), 12))"
# Characters kept of the fallback font: signs that the other fonts lack, not letters of text.
SIGNS = "U+0020-007E,U+00A0-00FF,U+0370-03FF,U+2000-2BFF,U+1D400-1D7FF"
PRODUCTS = tree.ROOT / "tests" / "data" / "tensor_cores"
LARGEST = 20_000_000  # bytes of all files
LARGEST_FIRST = 5_000_000  # compressed bytes of the files for the first picture


def emscripten_root():
    """Folder of emscripten's own files."""
    done = subprocess.run([*EMSCRIPTEN, "em-config", "EMSCRIPTEN_ROOT"], stdout=subprocess.PIPE, text=True, cwd=tree.ROOT)
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    return done.stdout.strip()


def source(package):
    return commands.debian_source(package, LIBRARIES, "page", how=("--tar-only",))


def build_libraries(work, options, log):
    """Builds zlib, libpng, libzip (for deflated and stored files only) and FreeType in `work`/usr, and copies the headers."""
    commands.cmake(HERE / "libraries", work / "libraries", "install",
                   {**options, "ZLIB_SOURCE": source("zlib"), "PNG_SOURCE": source("libpng1.6")}, log, EMSCRIPTEN)
    commands.cmake(source("libzip"), work / "libzip", "install", {**options, **commands.LIBZIP, **zlib(work)}, log, EMSCRIPTEN)
    without = {f"FT_DISABLE_{part}": "ON" for part in ("BZIP2", "BROTLI", "HARFBUZZ", "PNG")}
    commands.cmake(source("freetype"), work / "freetype", "install", {**options, **without, **zlib(work), "CMAKE_INSTALL_LIBDIR": "lib"}, log, EMSCRIPTEN)
    include = work / "usr" / "include"
    for name in HEADERS:
        place = commands.SYSTEM / name
        shutil.copytree(place, include / name, dirs_exist_ok=True) if place.is_dir() else shutil.copy(place, include / name)


def zlib(work):
    return {"ZLIB_LIBRARY": work / "usr" / "lib" / "libz.a", "ZLIB_INCLUDE_DIR": work / "usr" / "include"}


def build(work):
    """Builds both modules in `work`/build."""
    work.mkdir(parents=True, exist_ok=True)
    log = work / "build.log"
    log.unlink(missing_ok=True)
    usr = work / "usr"
    options = {"CMAKE_TOOLCHAIN_FILE": emscripten_root() + "/cmake/Modules/Platform/Emscripten.cmake", "CMAKE_BUILD_TYPE": "Release",
               "CMAKE_INSTALL_PREFIX": usr, "CMAKE_C_FLAGS": "-fwasm-exceptions"}
    build_libraries(work, options, log)
    free_type = usr / "include" / "freetype2"
    commands.cmake(tree.ROOT, work / "build", "attoscope_web",
                   {**options, **zlib(work), "CMAKE_PROJECT_INCLUDE": HERE / "project.cmake", "ATTOSCOPE_WEB_LIBRARIES": usr,
                    "CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON", "ATTOSCOPE_GUI": "ON", "ATTOSCOPE_CUDA": "OFF", "ATTOSCOPE_MPI": "OFF",
                    "ATTOSCOPE_PARALLEL": "threads", "ATTOSCOPE_PACKAGED": "ON", "ATTOSCOPE_TOGETHER": "ON",
                    "PNG_LIBRARY": usr / "lib" / "libpng.a", "PNG_PNG_INCLUDE_DIR": usr / "include", "XXHASH_INCLUDE_DIR": usr / "include",
                    "FREETYPE_LIBRARY": usr / "lib" / "libfreetype.a", "FREETYPE_INCLUDE_DIR_ft2build": free_type,
                    "FREETYPE_INCLUDE_DIR_freetype2": free_type}, log, EMSCRIPTEN)


def font(name):
    """The file of a font of this machine; `name` such as "Inter:italic"."""
    found = subprocess.run(["fc-match", "-f", "%{family}\t%{file}", name], check=True, capture_output=True, text=True).stdout
    family, file = found.split("\t")
    if family.split(",")[0] != name.partition(":")[0]:
        raise SystemExit(f"app/package: the font {name} is missing: app/setup.sh names the packages")
    return pathlib.Path(file)


def pack_fonts(folder):
    """Writes the fonts without hints and unused tables, DejaVu Sans with signs only; returns the files."""
    program = tools() / "pyftsubset"
    folder.mkdir(exist_ok=True)
    files = []
    for name in FONTS:
        characters = SIGNS if name.startswith("DejaVu") else "*"
        files.append(folder / font(name).name)
        subprocess.run([program, font(name), f"--unicodes={characters}", "--no-hinting", "--layout-features=", "--drop-tables+=FFTM", f"--output-file={files[-1]}"], check=True)
    return files


def tools():
    """Folder of the programs that make fonts and compress, in their own Python environment."""
    return wheel.tools(tree.ROOT / ".cache" / "web-tools", TOOLS, "page")


def pack(data, file):
    """Writes data compressed by gzip, which the page unpacks. Its name has an ending without an encoding at servers."""
    file.write_bytes(subprocess.run([tools() / "python3", "-c", PACK], input=data, stdout=subprocess.PIPE, check=True).stdout)


def pack_files(out, work):
    """Writes first.packed (files for the start of the window), bundles that it loads later, and files.json, the list of all."""
    first = assets("presets", "texts") | {"/assets/figures.json": ASSETS / "figures.json"}
    first |= {f"/fonts/{file.name}": file for file in pack_fonts(work / "fonts")}
    bundles = {"first": first, "lessons": assets("lessons")}
    bundles |= {file.stem: {f"/assets/examples/{file.name}": file} for file in sorted((ASSETS / "examples").glob("*.safetensors"))}
    for name, files in bundles.items():
        pack(b"".join(file.read_bytes() for file in files.values()), out / f"{name}.packed")
    tree.put(json.dumps({name: [{"path": path, "size": file.stat().st_size} for path, file in files.items()] for name, files in bundles.items()}), out / "files.json")


def assets(*folders):
    """The files of these folders, keyed by their paths in the page."""
    return {f"/assets/{file.relative_to(ASSETS)}": file for folder in folders
            for file in sorted((ASSETS / folder).rglob("*")) if file.suffix not in (".py", ".css", ".mjs", "") and file.name != "README.md"}


def native_digests(program):
    """The native program's digests of every experiment."""
    table = []
    for words in experiments.experiments():
        done = subprocess.run([program, "run", *words, "--json", "-"], check=True, capture_output=True, text=True)
        answer = json.loads(done.stdout)
        backward = answer.get("backward")
        table.append({"words": words, "digests": answer["digests"], **({"backward": backward["digests"]} if backward else {})})
    return table


def product_sets():
    """Sets of recorded products: GPU, format and type of the sums of each."""
    sets = []
    for file in sorted(PRODUCTS.glob("*.safetensors")):
        with file.open("rb") as opened:
            header = json.loads(opened.read(struct.unpack("<Q", opened.read(8))[0]))
        sets += [{"gpu": file.stem, "format": name.partition(".")[0], "result": name[-3:]} for name in header if ".d_f" in name]
    return sets


def check_sizes(made, out):
    """Prints the size of the files made for `out`; fails if they are too large."""
    files = [file for file in made.rglob("*") if file.is_file()]
    everything = sum(file.stat().st_size for file in files)
    first = sum(len(gzip.compress((made / name).read_bytes(), 9))
                for name in (*WINDOW_PAGES, f"{WINDOW}.mjs", f"{WINDOW}.wasm.packed", "files.json", "first.packed"))
    print(f"{out}: {everything / 1e6:.1f} MB in all; {first / 1e6:.1f} MB compressed before the first picture", flush=True)
    if everything > LARGEST or first > LARGEST_FIRST:
        raise SystemExit(f"app/package: {out} is too large: expected at most {LARGEST / 1e6} MB, and {LARGEST_FIRST / 1e6} MB first")


def replace(made, out):
    """Puts all files of `made` into `out`, whose other files stay."""
    places = [out / file.relative_to(made) for file in made.rglob("*") if file.is_file()]
    parts = [place.with_name(f".{place.name}.part") for place in places]
    for place, part in zip(places, parts):
        tree.copy(made / place.relative_to(out), part)
    for place, part in zip(places, parts):
        part.replace(place)


def main():
    out, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(strict=True)
    if out.exists() and any(out.iterdir()) and not (out / f"{COMMANDS}.mjs").exists():
        raise SystemExit(f"app/package: {out} holds other files: expected an empty folder, or one that this command has made")
    work = tree.ROOT / "build" / "web"
    build(work)
    made = work / "folder"
    shutil.rmtree(made, ignore_errors=True)
    for name in (*PAGES, *WINDOW_PAGES):
        tree.copy(HERE / name, made / name)
    for module in (WINDOW, COMMANDS):
        tree.copy(work / "build" / "app" / "web" / f"{module}.mjs", made / f"{module}.mjs")
        pack((work / "build" / "app" / "web" / f"{module}.wasm").read_bytes(), made / f"{module}.wasm.packed")
    tree.copy(PRODUCTS / "README.md", made / "products" / "README.md")
    for file in PRODUCTS.glob("*.safetensors"):
        pack(file.read_bytes(), made / "products" / f"{file.name}.packed")
    tree.copy(ASSETS / "LICENSE", made / "LICENSE")
    pack_files(made, work)
    tree.put(json.dumps({"experiments": native_digests(program), "products": product_sets()}, indent=0), made / "bits.json")
    check_sizes(made, out)
    replace(made, out)


if __name__ == "__main__":
    main()
