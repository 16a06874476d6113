"""The exceptions of this package: each says in one sentence what happened, where, and what was expected."""
from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast


class AttoscopeError(RuntimeError):
    """Whatever this package raises."""


class ProgramMissing(AttoscopeError):
    """The program `attoscope` is nowhere to be found, or cannot be started."""


class OtherVersion(AttoscopeError):
    """The program that was found is of another version than this package."""


class BadTensor(AttoscopeError, ValueError):
    """A tensor's type or shape is none that is understood, or its numbers cannot be copied."""


class BadOption(AttoscopeError, ValueError):
    """An option that the program does not know, or a value that it does not take."""


class CouldNotRun(AttoscopeError):
    """The program failed while it ran, or a file could not be written."""


class DeadLink(CouldNotRun):
    """No window took what was sent, and none could be started."""


_Function = TypeVar("_Function", bound=Callable[..., Any])


def in_one_frame(function: _Function) -> _Function:
    """The function, whose AttoscopeErrors come without the frames inside this package; pytest shows the caller's line alone."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*arguments, **keywords)
        except AttoscopeError as error:
            raise error.with_traceback(None)

    return cast(_Function, call)
