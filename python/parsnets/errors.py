"""What the engine's status codes become. Messages are the engine's: what was expected, what was found, what to do."""


class ParsNetsError(RuntimeError):
    """The work itself failed: memory, disk, a solver."""


class BadInput(ParsNetsError, ValueError):
    """A file or array is missing, malformed or inconsistent."""


class Usage(ParsNetsError, ValueError):
    """An argument or option is impossible."""


class Cancelled(ParsNetsError):
    """The progress function asked to stop. (Ctrl-C raises KeyboardInterrupt.)"""
