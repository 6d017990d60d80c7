"""python -m parsnets: runs the command line tool in place of this process."""

import os
import shutil
import sys
from pathlib import Path
from typing import Optional


def find_tool() -> Optional[str]:
    """$PARSNETS_CLI, else beside this file, on the PATH, or in the build of the source tree."""
    given = os.environ.get("PARSNETS_CLI")
    if given:
        return given
    here = Path(__file__).resolve().parent
    beside, built = here / "parsnets", here.parents[1] / "build" / "parsnets"
    for file in (str(beside), shutil.which("parsnets"), str(built)):
        if file and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None


def main() -> int:
    """Returns only when there is no tool to run."""
    tool = find_tool()
    if tool is not None:
        try:
            os.execv(tool, [tool, *sys.argv[1:]])
        except OSError as error:
            print(f"parsnets: cannot run {tool}: {error.strerror}", file=sys.stderr)
            return 1
    print("parsnets: the command line tool was not found; install it or set PARSNETS_CLI to it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
