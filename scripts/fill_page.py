"""Puts what a script makes between two marks of a page in docs/."""
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def fill_page(name, begin, end, make, usage, most_files=1):
    """Fills docs/NAME between `begin` and `end` with make(*files of the command line). Returns the exit code."""
    files = sys.argv[1:]
    if not 1 <= len(files) <= most_files or any(file.startswith("-") for file in files):
        print(usage, file=sys.stderr)
        return 2
    page = DOCS / name
    try:
        before, rest = page.read_text("utf-8").split(begin)
        _, after = rest.split(end)
        made = make(*map(Path, files))
    except (OSError, ValueError, KeyError) as error:
        print(f"{Path(sys.argv[0]).name}: {error!r}", file=sys.stderr)
        return 3
    page.write_text(f"{before}{begin}\n\n{made}\n\n{end}{after}", "utf-8")
    return 0
