"""The exceptions of this package: each says in one sentence what happened, where, and what was expected."""


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
