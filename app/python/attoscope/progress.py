"""Shows the program's progress in one line of the terminal or a notebook's cell, which is overwritten; elsewhere nothing."""
from __future__ import annotations

import sys
import time
from typing import Any, Optional

_PATIENCE = 0.5  #: seconds before the first line


def in_notebook() -> bool:
    return "ipykernel" in sys.modules


class Line:
    """Shows texts, from half a second on, until it is cleared."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._is_shown = False

    def show(self, text: str) -> None:
        if time.monotonic() - self._begin >= _PATIENCE and text:
            self._write(text)
            self._is_shown = True

    def clear(self) -> None:
        if self._is_shown:
            self._write("")
        self._is_shown = False

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()


class _CellLine(Line):
    """The line in a notebook's cell."""

    _handle: Any = None

    def _write(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call,unused-ignore]
        else:
            self._handle.update(shown, raw=True)


def line() -> Optional[Line]:
    """The line that shows progress; None if there is none."""
    if in_notebook():
        return _CellLine()
    try:
        return Line() if sys.stderr.isatty() else None
    except (AttributeError, ValueError):  # no standard error, or a closed one
        return None
