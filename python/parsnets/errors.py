"""Exceptions for the engine's status codes. Messages say what was expected, what was found and what to do."""


class ParsNetsError(RuntimeError):
    """Base class; raised when the work itself fails: memory, disk, a solver."""


class BadInputError(ParsNetsError, ValueError):
    """A file or array is missing, malformed or inconsistent."""


class UsageError(ParsNetsError, ValueError):
    """An argument or option is invalid."""


class CancelledError(ParsNetsError):
    """The progress function asked to stop. (Ctrl-C raises KeyboardInterrupt.)"""
