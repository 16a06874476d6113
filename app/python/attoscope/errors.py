"""The exceptions of this package: each is one sentence: what happened, where, and what was expected."""
from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast


class AttoscopeError(RuntimeError):
    """Base class of all exceptions of this package."""


class ProgramMissing(AttoscopeError):
    """The program `attoscope` was not found, or cannot be started."""


class OtherVersion(AttoscopeError):
    """The program has another version than this package."""


class BadTensor(AttoscopeError, ValueError):
    """A tensor's type or shape is not supported, or its numbers cannot be copied."""


class NoRule(BadTensor):
    """A mask that matches no rule; it can still be written as a tensor."""


class BadOption(AttoscopeError, ValueError):
    """An option that the program does not have, or a value that it does not accept."""


class CouldNotRun(AttoscopeError):
    """The program failed while it ran, or a file could not be written."""


class DeadLink(CouldNotRun):
    """No window received the message, and none could be started."""


_Function = TypeVar("_Function", bound=Callable[..., Any])


def in_one_frame(function: _Function) -> _Function:
    """Removes the frames of this package from AttoscopeErrors of the function; pytest then shows only the caller's line."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*arguments, **keywords)
        except AttoscopeError as error:
            raise error.with_traceback(None)

    return cast(_Function, call)
