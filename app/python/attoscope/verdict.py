"""Is an attention kernel's output rounded, or wrong? `attoscope judge` from Python."""
from __future__ import annotations

import html
import os
import re
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional

from .errors import BadOption, CouldNotRun, DeadLink
from .program import is_file_name, json_of, options_of, run_program, temporary_folder
from .tensors import check_attention, save_safetensors, tensor_of

WRONG = 3  #: exit code of `attoscope judge`


class Verdict:
    """What `judge` found. True where the output is rounded and no more."""

    def __init__(self, found: Dict[str, Any], report: Optional[str] = None, view: Optional[Callable[[], str]] = None,
                 kept: bool = False) -> None:
        self.json = found  #: all that the program said
        self.report = report  #: the report as one HTML page, where it was asked for
        self.kept = kept  #: whether the files that the program was given are there still
        self._view = view

    def view(self) -> str:
        """Shows exactly these tensors, at the worst head, in the running window, or starts one; see `attoscope.view`."""
        if self._view is None:
            raise BadOption("this verdict was made without its tensors: call attoscope.view with them")
        return self._view()

    @property
    def ok(self) -> bool:
        """Rounded, in every head."""
        return bool(self.json["ok"])

    @property
    def sentences(self) -> List[str]:
        """The conclusion, the evidence, and what to try."""
        return [_in_python(str(sentence)) for sentence in self.json["sentences"]]

    @property
    def sentence(self) -> str:
        """The conclusion."""
        return self.sentences[0]

    @property
    def derivation(self) -> List[str]:
        """How the tolerance follows."""
        return [str(line) for line in self.json.get("derivation", [])]

    @property
    def table(self) -> List[Dict[str, Any]]:
        """One row for each head: verdict, ratio (the largest error over its tolerance), suspects, where they lie, slip, ..."""
        return list(self.json["table"])

    @property
    def family(self) -> List[Dict[str, Any]]:
        """The correct kernels whose errors on these tensors the tolerance comes from."""
        return list(self.json.get("family", []))

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<attoscope.Verdict {self.json['verdict']}: {self.sentence}>"

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        """For notebooks: the sentences and the table of heads, and the whole report where there is one."""
        parts = [f"<p><b>{html.escape(self.sentence)}</b></p>"]
        parts += [f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences[1:]]
        if self.report is None:
            return "".join(parts) + _html_table(self.table)
        link = html.escape(str(self.json.get("link", "")))
        click = f'<p><a href="{link}">Show these tensors in the window</a></p>' if link and self.kept else ""
        frame = 'style="width:100%;height:640px;border:1px solid #8884" sandbox="allow-scripts"'
        return f'{click}<iframe srcdoc="{html.escape(self.report)}" {frame}></iframe>'


_COLUMNS = ("head", "verdict", "ratio", "suspects", "elements", "max_abs", "where", "slip")


def _in_python(sentence: str) -> str:
    """`--policy tile` as `policy="tile"`."""
    return re.sub(r"--(\w+) ([\w:.+-]*\w)", r'\1="\2"', sentence)


def _html_table(rows: List[Dict[str, Any]]) -> str:
    """The first rows, the suspicious ones before the others."""
    shown = sorted(rows, key=lambda row: row["verdict"] == "rounded")[:32]
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(row.get(column)))}</td>" for column in _COLUMNS) + "</tr>" for row in shown)
    more = f"<p>{len(rows) - len(shown)} more heads</p>" if len(rows) > len(shown) else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return str(value.get("text", value.get("kind", "")))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def judge(
    o: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Optional[str] = None,
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    alibi: Optional[float] = None,
    sink: Optional[float] = None,
    format: Optional[str] = None,
    policy: Optional[str] = None,
    like: Optional[str] = None,
    head: Optional[int] = None,
    layout: Optional[str] = None,
    scales: Optional[Mapping[str, Any]] = None,
    threads: Optional[int] = None,
    save: "os.PathLike[str] | str | None" = None,
    report: "os.PathLike[str] | str | bool | None" = None,
) -> Verdict:
    """Judges a kernel's output `o` on `q`, `k`, `v`, all heads at once.

    The tolerance is not given but derived: from the errors on these very tensors of the kernels that this one may be.

    Shapes are [n, d], [heads, n, d] or [batch, heads, n, d]; with `layout="bnhd"` heads stand after tokens. K and V may have fewer
    heads. `mask` is "causal", "window:W" (a query and the W - 1 keys before it), "padding:W" (causal without the first W keys) or
    None. `format` is what the kernel rounds P to ("bf16"; without it the type of Q). `policy` and `like` name the rounding policy or
    the whole kernel that it is (`attoscope presets` lists them).

    `scales` holds what stored tensors are multiplied by, such as {"k": k_scale, "v": 0.02}: numbers, tensors or names of files,
    one for all, or one for each head, token, channel or block, as the shape says.

    `save` keeps the tensors in that .safetensors file, so that the command of the verdict can be run again. `report` writes an HTML
    page into that file; True keeps it in the verdict alone, which is what a notebook does of itself; False makes none.

    Raises BadTensor, BadOption, ProgramMissing, OtherVersion or CouldNotRun, all of them AttoscopeError.
    """
    options = {"mask": mask, "scale": scale, "softcap": softcap, "alibi": alibi, "sink": sink, "format": format,
               "policy": policy, "like": like, "head": head, "layout": layout, "threads": threads}
    given = {"q": q, "k": k, "v": v, "o": o}
    in_memory = {name: tensor_of(value, name) for name, value in given.items() if not is_file_name(value)}
    check_attention(in_memory, layout == "bnhd")
    multipliers = _scales_of(scales or {})
    in_memory.update({name: tensor_of(value, name) for name, value in multipliers.items() if not is_file_name(value)})
    asked = _in_notebook() if report is None else report
    if save is None and in_memory and report is None and asked:
        save = _case_file()
    with temporary_folder(bool(in_memory and save is None) or asked is True) as folder:
        tensors_file = _path(save) if save is not None else os.path.join(folder, "tensors.safetensors") if folder else ""
        page = os.path.join(folder, "report.html") if asked is True else _path(asked) if asked else None
        if in_memory:
            save_safetensors(tensors_file, {name: value for name, value in {**given, **multipliers}.items() if name in in_memory})
        kept = not in_memory or save is not None
        places = {name: f"{tensors_file}:{name}" if name in in_memory else _path(value)
                  for name, value in {**given, **multipliers}.items()}
        words = options_of({**{_option_of(name): place for name, place in places.items()}, **options, "report": page, "unsaved": not kept})
        answer = run_program(["judge", "--json=-", "--quiet", *words], good=(0, WRONG))
        found = json_of(answer)
        _check(found, answer.code)
        return Verdict(found, _text_of(page) if page else None, lambda: _view(found, {**given, **multipliers}, options, kept), kept)


def _scales_of(scales: Mapping[str, Any]) -> Dict[str, Any]:
    """{"k": 0.5} as {"k_scale": [0.5]}."""
    for name in scales:
        if name not in ("q", "k", "v", "o"):
            raise BadOption(f"scales has {name!r}, expected q, k, v or o")
    return {f"{name}_scale": [value] if isinstance(value, (int, float)) else value for name, value in scales.items()}


def _option_of(name: str) -> str:
    """k_scale is given by --scale-k."""
    return "scale_" + name[0] if name.endswith("_scale") else name


def _case_file() -> str:
    """A file for the tensors of a notebook's verdict, there until Python ends, so that its link shows them in the window."""
    import atexit
    import shutil
    import tempfile

    if not _cases:
        _cases.append(tempfile.mkdtemp(prefix="attoscope-"))
        atexit.register(shutil.rmtree, _cases[0], True)
    return os.path.join(_cases[0], f"case-{len(os.listdir(_cases[0]))}.safetensors")


_cases: List[str] = []


def _view(found: Dict[str, Any], given: Dict[str, Any], options: Dict[str, Any], kept: bool) -> str:
    """The tensors that were judged, in the window."""
    if len(given) > 4 and not kept:
        raise BadOption("the window cannot show tensors whose scales are in no file: give judge a file for save")
    if len(given) > 4 or any(is_file_name(value) for value in given.values()):
        if not found.get("link"):
            raise BadOption("the window cannot show these files: call attoscope.view with the tensors")
        run_program(["open", str(found["link"])], failure=DeadLink)
        return str(found["link"])
    from .window import view

    worst = max(found["table"], key=lambda row: float(row["ratio"]))
    problem = {key: options[key] for key in ("mask", "scale", "softcap", "alibi", "sink", "format", "layout")}
    return view(given["q"], given["k"], given["v"], given["o"], head=int(worst["head"]), **problem)


def _path(value: Any) -> str:
    return os.path.abspath(os.fspath(value)) if hasattr(value, "__fspath__") else str(value)


def _text_of(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as page:
            return page.read()
    except OSError as error:
        raise CouldNotRun(f"{file} cannot be read: {error.strerror or error}") from error


def _check(found: Dict[str, Any], code: int) -> None:
    """A verdict that does not say what its exit code says is none."""
    expected = {"ok": bool, "verdict": str, "sentences": list, "table": list}
    for key, kind in expected.items():
        if not isinstance(found.get(key), kind):
            raise CouldNotRun(f"the program's verdict has no {key}, so that nothing follows from it")
    if found["ok"] != (code == 0) or not found["sentences"]:
        raise CouldNotRun(f"the program's verdict says ok: {found['ok']} and its exit code is {code}")


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def assert_attention_close(o: Any, q: Any, k: Any, v: Any, **options: Any) -> Verdict:
    """Raises AssertionError with three sentences (conclusion, evidence, what to try) where `judge` says wrong; else the verdict.

    Takes the keyword arguments of `judge`. With `report="kernel.html"` the report is there whether it fails or not.
    """
    __tracebackhide__ = True
    found = judge(o, q, k, v, **options)
    if not found.ok:
        raise AssertionError(str(found))
    return found


__all__ = ("Verdict", "assert_attention_close", "judge")
