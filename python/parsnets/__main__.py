"""python -m parsnets, or parsnets: runs the command line tool in place of this process."""

import os
import signal
import sys
from pathlib import Path
from typing import Iterator, Optional


def _candidates() -> Iterator[Path]:
    """Beside this file, on the PATH, in the build of the source tree."""
    here = Path(__file__).resolve().parent
    yield here / "parsnets"
    for folder in os.get_exec_path():
        yield Path(folder, "parsnets")
    yield here.parents[1] / "build" / "parsnets"


def _is_program(file: Path) -> bool:
    """Scripts do not count: one of them would be this package's own, which would start itself for ever."""
    try:
        with open(file, "rb") as opened:
            return os.access(file, os.X_OK) and opened.read(2) != b"#!"
    except OSError:
        return False


def find_tool() -> Optional[str]:
    """$PARSNETS_CLI alone where it is set, else the first program among the candidates."""
    given = os.environ.get("PARSNETS_CLI")
    return next((str(file) for file in ([Path(given)] if given else _candidates()) if _is_program(file)), None)


def main() -> int:
    """Returns only when there is no tool to run."""
    tool = find_tool()
    if tool is None:
        given = os.environ.get("PARSNETS_CLI")
        print(f"parsnets: PARSNETS_CLI: expected the command line tool, a program and not a script, found {given}; set "
              "it to the tool, or not at all" if given else
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
