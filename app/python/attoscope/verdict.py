"""The verdict of `judge`: its sentences, its table, its display in a notebook."""
from __future__ import annotations

import html
import os
import re
from typing import Any, Callable, Dict, List, Optional

from .errors import BadOption, in_one_frame


class Verdict:
    """The verdict of `judge`. True if the output is only rounded."""

    def __init__(self, found: Dict[str, Any], report: Optional[str] = None, view: Optional[Callable[[], str]] = None,
                 file: Optional[str] = None) -> None:
        self.json = found  #: the program's JSON; without command and link if its files were temporary
        self.report = report  #: the report as one HTML page, if requested
        self._view = view
        self._file = file

    @property
    def kept(self) -> bool:
        """True while the judged files exist; a notebook's files are removed at its next verdict."""
        return self._file is not None and (not self._file or os.path.exists(self._file))

    @in_one_frame
    def view(self) -> str:
        """Shows exactly these tensors, at the worst head, in the running window, or starts one; see `attoscope.view`."""
        if self._view is None:
            raise BadOption("this verdict was made without its tensors: call attoscope.view with them")
        return self._view()

    @property
    def ok(self) -> bool:
        """True if every head is only rounded."""
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
        """Lines on the derivation of the tolerance."""
        return [str(line) for line in self.json.get("derivation", [])]

    @property
    def table(self) -> List[Dict[str, Any]]:
        """One row for each head: verdict, ratio (the largest error over its tolerance), suspects, their place, slip, `keys`
        (first and last of each run of wrong keys, if the slip has them), ..."""
        return [_with_numbers(row) for row in self.json["table"]]

    @property
    def gradients(self) -> List[Dict[str, Any]]:
        """One row for each judged gradient: tensor, verdict, ratio, suspects, where, head, slip. Empty without gradients."""
        return [_with_numbers(row) for row in self.json.get("gradients", [])]

    @property
    def lse(self) -> Optional[Dict[str, Any]]:
        """The log-sum-exp: verdict, base ("e" or "2"), ratio, as, suspects, where, head, row, slip. None if it was not given."""
        return _with_numbers(self.json["lse"]) if self.json.get("lse") else None

    @property
    def family(self) -> List[Dict[str, Any]]:
        """The correct kernels whose errors on these tensors give the tolerance."""
        return list(self.json.get("family", []))

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<attoscope.Verdict {self.json['verdict']}: {self.sentence}>"

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        """For notebooks: the sentences and the table of heads, or the whole report if there is one."""
        parts = [f"<p><b>{html.escape(self.sentence)}</b></p>"]
        parts += [f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences[1:]]
        if self.report is None:
            return "".join(parts) + _html_table(self.table)
        link = html.escape(str(self.json.get("link", "")))
        click = f'<p><a href="{link}">Show these tensors in the window</a></p>' if link and self.kept else ""
        frame = 'style="width:100%;height:640px;border:1px solid #8884" sandbox="allow-scripts"'
        return f'{click}<iframe srcdoc="{html.escape(self.report)}" {frame}></iframe>'


def _with_numbers(row: Dict[str, Any]) -> Dict[str, Any]:
    """Converts ratios to floats: JSON has no infinity, so the program writes "inf", and null for NaN.

    >>> _with_numbers({"head": 0, "ratio": "inf", "slip": {"ratio": None}})
    {'head': 0, 'ratio': inf, 'slip': {'ratio': nan}}
    """
    found: Dict[str, Any] = {key: _with_numbers(value) if isinstance(value, dict) else value for key, value in row.items()}
    return {**found, "ratio": float("nan" if found["ratio"] is None else found["ratio"])} if "ratio" in found else found


_COLUMNS = ("head", "verdict", "ratio", "suspects", "elements", "max_abs", "where", "keys", "slip")


def _in_python(sentence: str) -> str:
    """Rewrites `--policy tile` as `policy="tile"`. A value ends a clause, except the words that --empty-rows takes.

    >>> _in_python("If it is meant: --mask window:3:0. Or --empty-rows nan.")
    'If it is meant: mask="window:3:0". Or empty_rows="nan".'
    >>> _in_python("compare with --policy if the kernel rounds, where --empty-rows nan asks for NaN")
    'compare with policy if the kernel rounds, where empty_rows="nan" asks for NaN'
    """
    def keyword(found: "re.Match[str]") -> str:
        name = found[1].replace("-", "_")
        return f'{name}="{found[2]}"' if found[2] else name

    return re.sub(r"--([a-z][a-z-]*)(?: (nan\b|zeros\b|[\w:.+-]*\w(?=[.,;)]|$)))?", keyword, sentence)


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
    if isinstance(value, list):
        return _runs(value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _runs(runs: List[List[int]]) -> str:
    """Runs as ranges of numbers.

    >>> _runs([[0, 15], [40, 40]])
    '0-15, 40'
    """
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs[:4])
    return shown + (", ..." if len(runs) > 4 else "")
