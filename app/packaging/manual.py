"""The manual page, made from the program's --help."""
import re
import subprocess

OPTION = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
SYNOPSIS = "attoscope [OPTIONS] [FILE...]\nattoscope COMMAND [OPTIONS]"
FILES = (("~/.local/state/attoscope/session*.json", "the sessions of windows ($XDG_STATE_HOME)"),
         ("$ATTOSCOPE_ASSETS", "lessons, presets and examples, where they are not beside the program"))
EXIT = (("0", "done; of judge: rounded; of check-gpu: as written"), ("1", "failed while running"), ("2", "wrong usage"),
        ("3", "of judge: wrong; of check-gpu: not as written"), ("4", "with --strict: a tensor has changed"))


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


def commands(text):
    """Names listed under "Subcommands:"."""
    _, found, listed = text.partition("Subcommands:")
    return [match.group(1).split()[0] for line in listed.splitlines() if found and (match := OPTION.match(line))]


def paragraphs(text):
    """Options of a help text under their headings, without usage and the list of commands, in roff."""
    lines = []
    for line in text.partition("Subcommands:")[0].splitlines():
        option = OPTION.match(line)
        if line.startswith("Usage:") or not line.strip():
            continue
        if option:
            lines += [".TP", "\\fB" + escaped(option.group(1)) + "\\fR", escaped(option.group(2) or "")]
        elif line.startswith(" "):
            lines.append(escaped(line.strip()))
        else:
            lines += [".PP", escaped(line)]
    return lines


def table(rows):
    return [word for name, what in rows for word in (".TP", "\\fB" + escaped(name) + "\\fR", escaped(what))]


def page(program, version):
    """The page in roff."""
    first = help_of(program)
    lines = [f'.TH ATTOSCOPE 1 "" "attoscope {version}" "User Commands"', ".SH NAME",
             "attoscope \\- shows what rounding does to attention kernels", ".SH SYNOPSIS", ".nf", escaped(SYNOPSIS), ".fi",
             ".SH DESCRIPTION", *paragraphs(first), ".SH COMMANDS"]
    for name in commands(first):
        lines += [f".SS attoscope {name}", *paragraphs(help_of(program, name))]
    return "\n".join([*lines, ".SH EXIT STATUS", *table(EXIT), ".SH FILES AND ENVIRONMENT", *table(FILES)]) + "\n"
