"""The licences of what is in the packages and not ours."""
import pathlib
import re
import subprocess

FONTS = {"fonts-inter": ("opentype/inter/Inter-Regular.otf", "opentype/inter/Inter-SemiBold.otf", "opentype/inter/Inter-Italic.otf"),
         "fonts-jetbrains-mono": ("truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",), "fonts-dejavu-core": ("truetype/dejavu/DejaVuSans.ttf",)}
OTHERS = ("nlohmann-json3-dev", "libcli11-dev", "libxxhash-dev", "libglfw3")  # compiled in; loaded by name
NOT_COMPILED = {"imgui_test_engine", "examples", "platform", "test", "Roboto"}
NAMES = re.compile(r"(?i)^(licen[sc]e|copying|gust-font-license|third_party)[\w.-]*$")


def of_package(package):
    """Debian's account of a package's licences."""
    return pathlib.Path("/usr/share/doc", package, "copyright")


def of_libraries(program):
    """{the first part of a library's name: Debian's account of its licence} for all that the program loads."""
    found = {}
    for line in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow and path.startswith("/"):
            owner = package_of(path.split()[0])
            if owner and of_package(owner).is_file():
                found[name.partition(".so")[0]] = of_package(owner)
    return found


def package_of(path):
    """The package that a file is of; files are known by the name before or after /lib became a link to /usr/lib."""
    real = str(pathlib.Path(path).resolve())
    for name in (path, real, path.removeprefix("/usr"), real.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.partition(":")[0]
    return ""


def of_toolkit(bundle):
    """{name: file} of the sources that are compiled in."""
    return {"-".join(dict.fromkeys(file.relative_to(bundle).parts[1:])): file for file in sorted(pathlib.Path(bundle).rglob("*"))
            if NAMES.match(file.name) and file.is_file() and not NOT_COMPILED & set(file.relative_to(bundle).parts)}
