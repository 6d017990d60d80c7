"""Puts what a script makes between two marks of a page in docs/."""
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def fill_page(name, begin, end, make, usage):
    """Fills docs/NAME between `begin` and `end` with make(argument of the command line). Returns the exit code."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(usage, file=sys.stderr)
        return 2
    page = DOCS / name
    try:
        before, rest = page.read_text("utf-8").split(begin)
        _, after = rest.split(end)
        made = make(Path(sys.argv[1]))
    except (OSError, ValueError, KeyError) as error:
        print(f"{Path(sys.argv[0]).name}: {error!r}", file=sys.stderr)
        return 3
    page.write_text(f"{before}{begin}\n\n{made}\n\n{end}{after}", "utf-8")
    return 0
