"""The documentation site: Sphinx reads the pages as they are. `make docs` builds it into build/docs/site."""
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
project = "ParsNets"
copyright = "the ParsNets authors"  # noqa: A001 - a name that Sphinx wants
release = re.search(r"project\(\w+ VERSION ([\d.]+)", (HERE.parent / "CMakeLists.txt").read_text("utf-8")).group(1)

extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "index"
html_theme = "furo"  # no fonts and no scripts of other sites: the pages work without a network
html_title = f"ParsNets {release}"
html_show_sourcelink = html_copy_source = False
highlight_language = "none"
suppress_warnings = ["myst.header"]
nitpicky = True

OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#\s]+)(?:#[^)\s]*)?\)")
ENTRY = re.compile(r"^- \[[^\]]*\]\(([\w-]+)\.md\)", re.M)


def read(_, page, source):
    """What only the source tree has becomes text, and the lists of index.md become the contents of the site."""
    text = re.sub(r"<!--.*?-->\n?", "", source[0], flags=re.S)
    text = OUTSIDE.sub(lambda link: f"{link[1]} (`{link[2]}` in the source tree)", text)
    if page == root_doc:
        for section in text.split("\n## ")[1:]:
            pages = "\n".join(ENTRY.findall(section))
            if pages:
                title = section.partition("\n")[0]
                text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"
    source[0] = text


def setup(app):
    app.connect("source-read", read)
