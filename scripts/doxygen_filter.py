#!/usr/bin/env python3
"""Prints a header as Doxygen reads it: the comments stay short in the source, and each member still gets its own.

  - the comment at the top of a file describes the file;
  - in C headers, a comment above a declaration or behind a member is its documentation;
  - a comment above or behind `double u, s, h;` is that of all three;
  - macros of one line without a comment that take arguments are left out: they expand the tables of the device file.

Line numbers stay. docs/Doxyfile uses it as INPUT_FILTER.
"""

import re
import sys

MEMBERS = re.compile(r"^(\s+)((?:const )?[\w:]+(?:<[\w:<>, ]+>)?) (\*?\w+(?: = [^,;]+)?(?:, \*?\w+(?: = [^,;]+)?)+);")
EXPANDS = re.compile(r"#define PNRT_\w+\(")
BEHIND = re.compile(r"(///<|/\*\*<)")


def with_file_comment(text, name):
    text = re.sub(r"\A/\* ", f"/** @file {name} ", text)
    return re.sub(r"\A#pragma once\n((?://.*\n)+)",
                  lambda match: f"/// @file {name}\n" + re.sub("^//", "///", match.group(1), flags=re.M), text)


def with_documentation_marks(line):
    """`/* … */` as Doxygen's own comments; rulers such as `/* ---- Models ---- */` stay as they are."""
    if re.match(r"\s*/\* (?!----)", line):
        return line.replace("/* ", "/** ", 1)
    return re.sub(r"(\S\s+)/\* ", r"\1/**< ", line, count=1)


def comment_above(lines, number):
    """The lines of the `///` comment right above a line."""
    first = number
    while re.match(r"\s*///(?!<)", lines[first - 1]):
        first -= 1
    return range(first, number)


def comment_behind(lines, number):
    """The lines of the `///<` comment that starts on a line."""
    end = number + 1
    while re.match(r"\s*///<", lines[end]):
        end += 1
    return range(number, end) if BEHIND.search(lines[number]) else range(0)


def one_by_one(lines):
    """Declarations of several members as one declaration each, all with the comment above or behind them."""
    lines = list(lines)
    for number, line in enumerate(lines):
        if EXPANDS.match(line) and not line.endswith("\\") and "*/" not in lines[number - 1] + line:
            lines[number] = ""
        members = MEMBERS.match(line)
        comment = members and (comment_behind(lines, number) or comment_above(lines, number))
        if not comment:
            continue
        indent, kind, names = members.groups()
        words = " ".join(re.sub(r".*?(?:///<?|/\*\*<)|\*/", "", lines[place]).strip() for place in comment)
        for place in comment:
            lines[place] = ""
        all_names = re.sub(r" = [^,]+|\*", "", names)
        lines[number] = indent + " ".join(f"{kind} {name};  /**< {all_names}: {words} */" for name in names.split(", "))
    return lines


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = with_file_comment(file.read(), path.rsplit("/", 1)[-1])
    print("\n".join(one_by_one(map(with_documentation_marks, text.split("\n")))), end="")


if __name__ == "__main__":
    main()
