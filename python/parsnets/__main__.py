"""`python -m parsnets`, or `parsnets`: runs the command line tool in place of this process."""

import os
import signal
import sys
from pathlib import Path
from typing import Iterator, Optional


def _candidates() -> Iterator[Path]:
    """Yield files in this folder, on the PATH, and in the source tree's build."""
    here = Path(__file__).resolve().parent
    yield here / "parsnets"
    for folder in os.get_exec_path():
        yield Path(folder, "parsnets")
    yield here.parents[1] / "build" / "parsnets"


def _is_program(file: Path) -> bool:
    """Return whether a file is a program and not a script: a script may be this package's own, which would call itself.
    """
    try:
        with open(file, "rb") as opened:
            return os.access(file, os.X_OK) and opened.read(2) != b"#!"
    except OSError:
        return False


def find_tool() -> Optional[str]:
    """Return $PARSNETS_CLI if it is set, otherwise the first program among the candidates."""
    given = os.environ.get("PARSNETS_CLI")
    return next((str(file) for file in ([Path(given)] if given else _candidates()) if _is_program(file)), None)


def main() -> int:
    """Run the tool. Returns only if it cannot be run."""
    tool = find_tool()
    if tool is None:
        given = os.environ.get("PARSNETS_CLI")
        print(f"parsnets: PARSNETS_CLI: expected the command line tool, a program and not a script, found {given}; set "
              "it to the tool, or unset it" if given else
              "parsnets: the command line tool was not found; install it or set PARSNETS_CLI to it", file=sys.stderr)
        return 1
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; the tool would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(tool, [tool, *sys.argv[1:]])
    except OSError as error:
        print(f"parsnets: cannot run {tool}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
