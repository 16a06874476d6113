"""Licences of third-party code in the packages."""
import pathlib
import re
import subprocess

FONTS = {"fonts-inter": ("opentype/inter/Inter-Regular.otf", "opentype/inter/Inter-SemiBold.otf", "opentype/inter/Inter-Italic.otf"),
         "fonts-jetbrains-mono": ("truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",), "fonts-dejavu-core": ("truetype/dejavu/DejaVuSans.ttf",)}
OTHERS = ("nlohmann-json3-dev", "libcli11-dev", "libxxhash-dev")  # compiled in
LOADED = ("libglfw3",)  # by name
NOT_COMPILED = {"imgui_test_engine", "examples", "platform", "test", "Roboto"}
NAMES = re.compile(r"(?i)^(licen[sc]e|copying|gust-font-license|third_party)[\w.-]*$")


def of_package(package):
    """Debian's copyright file of a package."""
    return pathlib.Path("/usr/share/doc", package, "copyright")


def of_libraries(program):
    """{library name without .so: Debian's copyright file} for all libraries that the program links."""
    found = {}
    for line in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow and path.startswith("/"):
            owner = package_of(path.split()[0])
            if owner and of_package(owner).is_file():
                found[name.partition(".so")[0]] = of_package(owner)
    return found


def package_of(path):
    """The package of a file, which dpkg may list under /lib or /usr/lib."""
    real = str(pathlib.Path(path).resolve())
    for name in (path, real, path.removeprefix("/usr"), real.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.partition(":")[0]
    return ""


def of_toolkit(bundle):
    """{name: licence file} of the sources that are compiled in."""
    return {"-".join(dict.fromkeys(file.relative_to(bundle).parts[1:])): file for file in sorted(pathlib.Path(bundle).rglob("*"))
            if NAMES.match(file.name) and file.is_file() and not NOT_COMPILED & set(file.relative_to(bundle).parts)}
