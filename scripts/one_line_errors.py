"""Programs that end with one line, not a traceback, when they are interrupted or a file cannot be read or written."""

import errno
import os
import sys


def run(main):
    """Exit codes as those of parsnets: 130 interrupted, 3 bad input."""
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        sys.exit(3)


def check_folder(folder):
    """Raises OSError if files cannot be written to `folder`, which may be missing. Creates nothing."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    code = errno.ENOTDIR if not there.is_dir() else 0 if os.access(there, os.W_OK | os.X_OK) else errno.EACCES
    if code:
        raise OSError(code, f"expected a folder that can be written: {os.strerror(code)}", str(there))
