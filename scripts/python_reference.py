#!/usr/bin/env python3
"""The reference of the Python package as one HTML page, from its docstrings (numpydoc style) and signatures.

  python_reference.py FILE    imports python/parsnets, with the engine of build/ or of $PARSNETS_LIBRARY
"""

import html
import inspect
import re
import sys
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")
STYLE = """body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
h3, h4 { font-family: monospace; margin-bottom: 0; } h4 { margin-left: 2em; } section { margin-left: 2em; }
code, pre { background: #f3f3f3; } pre { padding: .5em; overflow-x: auto; } dt { font-family: monospace; }"""


class Entry(typing.NamedTuple):
    """An entry of a list such as Parameters: `X, y : array-like, default=None` and the lines below it."""

    names: typing.List[str]
    kind: str
    text: str

    @property
    def default(self):
        """The default as it is written, or None."""
        found = re.search(r"default=(.+)$", self.kind)
        return found.group(1) if found else None


def sections(docstring):
    """The parts of a docstring by heading; what comes before the first heading is under ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring or "") + "\n", flags=re.M)
    return {"": parts[0].strip(), **{name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2])}}


def entries(text):
    found = []
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        found.append(Entry([name.strip() for name in names.split(",")], kind.strip(), inspect.cleandoc(body)))
    return found


def parameters(callable_object):
    """The parameters of a function, a method or a class's constructor, without self, by the name in a docstring."""
    if inspect.isclass(callable_object):
        callable_object = callable_object.__init__
        if not inspect.isfunction(callable_object):  # that of a built-in type
            return {}
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {marks.get(one.kind, "") + name: one for name, one in inspect.signature(callable_object).parameters.items()
            if name not in ("self", "cls")}


def public_modules():
    import parsnets
    return [getattr(parsnets, name) for name in parsnets._MODULES]


def public_objects(module):
    """The classes and functions of a module by name: those of __all__, or those it defines.

    What has a name of the package but is something else is called by its module, too: dask.ParsNetsClassifier.
    """
    import parsnets
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__ and callable(value)]
    found = {name: getattr(module, name) for name in names}
    return {name if getattr(parsnets, name, value) is value else f"{module.__name__.partition('.')[2]}.{name}": value
            for name, value in found.items()}


def public_members(cls):
    """The methods and properties that a class defines, by name."""
    return {name: value for name, value in vars(cls).items()
            if not name.startswith("_") and inspect.isfunction(function_of(value))
            and function_of(value).__module__.startswith("parsnets")}  # scikit-learn adds some of its own


def function_of(member):
    """The function behind a property, a class method or scikit-learn's `available_if`; other members themselves."""
    for wrapper in ("fget", "__func__", "fn"):
        member = getattr(member, wrapper, member)
    return inspect.unwrap(member) if callable(member) else member


def inline(text):
    linked = re.sub(r":\w+:`([^`]+)`", r'<a href="#\1">\1</a>', html.escape(text, quote=False))
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", linked)


def prose(text):
    return "".join(f"<p>{inline(paragraph)}</p>\n" for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip())


def described(docstring):
    parts = sections(docstring)
    page = prose(parts.pop(""))
    for name, text in parts.items():
        page += f"<p><b>{name}</b></p>\n"
        if name in LISTS:
            page += "<dl>" + "".join(
                f"<dt>{html.escape(', '.join(one.names))}{html.escape(' : ' + one.kind) if one.kind else ''}</dt>"
                f"<dd>{prose(one.text)}</dd>\n" for one in entries(text)) + "</dl>\n"
        else:
            page += f"<pre>{html.escape(text)}</pre>\n" if name == "Examples" else prose(text)
    return page


def signature(name, callable_object):
    values = ", ".join(key if one.default is one.empty else f"{key}={one.default!r}"
                       for key, one in parameters(callable_object).items())
    return html.escape(f"{name}({values})")


def class_page(name, cls):
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base.__module__.startswith("parsnets"))
    inherited = f"<p>Inherits from {bases}.</p>\n" if bases else ""
    title = signature(name, cls) if "Parameters" in sections(cls.__doc__) else name  # others are results of functions
    page = f'<h3 id="{name}">class {title}</h3>\n<section>\n{inherited}{described(cls.__doc__)}</section>\n'
    for key, member in public_members(cls).items():
        function = function_of(member)
        title = key if isinstance(member, property) else signature(key, function)
        page += f'<h4 id="{name}.{key}">{title}</h4>\n<section>{described(function.__doc__)}</section>\n'
    return page


def module_page(module):
    page = f'<h2 id="{module.__name__}">{module.__name__}</h2>\n{prose(inspect.cleandoc(module.__doc__))}'
    for name, value in public_objects(module).items():
        page += class_page(name, value) if inspect.isclass(value) else (
            f'<h3 id="{name}">{signature(name, value)}</h3>\n<section>{described(value.__doc__)}</section>\n')
    return page


def contents(modules):
    lines = (f"<li>{module.__name__}: " + ", ".join(f'<a href="#{name}">{name}</a>' for name in public_objects(module))
             for module in modules)
    return "<ul>\n" + "</li>\n".join(lines) + "</li>\n</ul>\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, str(ROOT / "python"))
    modules = public_modules()
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>ParsNets: Python</title>\n'
                    f'<style>{STYLE}</style>\n<h1>ParsNets: Python</h1>\n<p><a href="../index.html">C++ and C</a></p>\n'
                    + contents(modules) + "".join(map(module_page, modules)) + "</html>\n", encoding="utf-8")


if __name__ == "__main__":
    main()
