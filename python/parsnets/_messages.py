"""Translation of the engine's messages into Python terms."""

from __future__ import annotations

import difflib
import re
from typing import Callable, Sequence

# Terms of the command line and of C, and their replacements. Remaining flags are training options; _training replaces
# them by the names of an estimator's parameters.
_SAID = [
    (r"^struct parsnets_[a-z_]+, ", ""),
    (r"parsnets_options_describe and docs/options\.md list them", "docs/options.md lists them"),
    (r"add it to the model file with 'parsnets classes add'", "add it with add_class()"),
    (r"see 'parsnets classes list'", "see classes_"),
    (r"['`]parsnets export['`]", "export()"),
    (r"(')parsnets (?=data |train )", r"\1python -m parsnets "),
    (r"--allow-trained-samples", "allow_trained_samples=True"),
    (r"--missing attribute-mean", 'missing="attribute-mean"'),
    (r"--(features|semantics) NAME", r"\1=NAME"),
    (r"(?<!\S)--c-name", "name"),
    (r"(?<!\S)--(data|features|missing|precision|rank|semantics|split)\b(?!-)", r"\1"),
    (r"(?<!\S)--max-(bytes|drop)\b", r"max_\1"),
    (r"--int8", 'precision="int8"'),
    (r"(?<!\S)--([a-z-]*[a-z])", r"'\1'"),
]


def in_python(message: str, option_names: Callable[[], Sequence[str]]) -> str:
    """Return the engine's message with the names used in Python. option_names: returns the names of training options.
    """
    for pattern, replacement in _SAID:
        message = re.sub(pattern, replacement, message)
    return _with_close_names(message, option_names)


def _with_close_names(message: str, option_names: Callable[[], Sequence[str]]) -> str:
    """Add similar names to the message about an unknown option."""
    unknown = re.match("option '(.*)': expected an option of training, found no such name", message, re.S)
    close = difflib.get_close_matches(unknown[1], option_names(), n=3) if unknown else []
    return f"{message}; did you mean {' or '.join(map(repr, close))}?" if close else message
