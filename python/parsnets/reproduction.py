"""Several methods on every data set under a folder (docs/researcher.md), and tables of results."""

from __future__ import annotations

import ctypes
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from . import _library
from ._library import call, text, unsigned
from ._model import PathLike
from ._progress import ProgressCallback, Watch
from ._training import seed_of, threads_of
from .errors import BadInputError


class ResultTable:
    """Table of results: rows are methods, columns are accuracies or other numbers by data set.

    Parameters
    ----------
    contents : mapping
        What `tables/NAME.json` of `reproduce`, or `--table NAME.json` of the command line tool, contains.
    """

    def __init__(self, contents: Mapping[str, Any]) -> None:
        self._json = json.dumps(contents)
        self._text("json")  # raises BadInputError unless it is a table
        self.contents: Dict[str, Any] = dict(contents)

    @classmethod
    def load(cls, file: PathLike) -> ResultTable:
        """Read a table from a JSON file.

        Parameters
        ----------
        file : str or path-like
            File of `reproduce`, or of `--table` with the ending .json.

        Returns
        -------
        table : ResultTable
            The table.
        """
        with open(file, encoding="utf-8") as opened:
            try:
                contents = json.load(opened)
            except ValueError as error:
                raise BadInputError(f"{os.fspath(file)}: expected a table of results as JSON, found {error}; write it "
                                    "again") from error
        return cls(contents)

    @property
    def name(self) -> str:
        """Name of the table, e.g. "zsl"."""
        return str(self.contents["name"])

    @property
    def caption(self) -> str:
        """Sentence that says what is measured."""
        return str(self.contents["caption"])

    def _text(self, form: str) -> str:
        length = ctypes.c_size_t()
        given = text(self._json, "contents")
        call("table_text", given, form.encode(), None, 0, ctypes.byref(length))
        buffer = ctypes.create_string_buffer(length.value + 1)
        call("table_text", given, form.encode(), buffer, len(buffer), ctypes.byref(length))
        return buffer.value.decode("utf-8")

    def to_latex(self) -> str:
        """Return the table for LaTeX.

        Returns
        -------
        text : str
            A table environment for the package booktabs: best bold, second underlined, ± over seeds.
        """
        return self._text("tex")

    def to_markdown(self) -> str:
        """Return the table for Markdown.

        Returns
        -------
        text : str
            Caption, table and notes.
        """
        return self._text("md")

    def to_csv(self) -> str:
        """Return the table as comma-separated values.

        Returns
        -------
        text : str
            A column of means and one of standard deviations for each column of the table.
        """
        return self._text("csv")

    def to_frame(self) -> Any:
        """Return a pandas DataFrame. Needs pandas.

        Returns
        -------
        frame : pandas.DataFrame
            Rows are indexed by the heads of the rows and by `source` ("measured", "own" or "published"). Columns are
            indexed by data set, metric and statistic ("mean" or "sd").
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas: install the package pandas") from error
        heads: List[str] = [*self.contents["row_heads"], "source"]
        rows = self.contents["rows"]
        index = pandas.MultiIndex.from_tuples([(*row["heads"], row["source"]) for row in rows], names=heads)
        columns = pandas.MultiIndex.from_tuples(
            [(column["group"], column["name"], statistic)
             for column in self.contents["columns"] for statistic in ("mean", "sd")],
            names=["data", "metric", "statistic"])
        values = [[cell[statistic] for cell in row["cells"] for statistic in ("mean", "sd")] for row in rows]
        return pandas.DataFrame(values, index=index, columns=columns, dtype=float)

    def __repr__(self) -> str:
        return f"ResultTable({self.name!r}, {len(self.contents['rows'])} rows)"


@dataclass(frozen=True)
class Reproduction:
    """Result of `reproduce`.

    Attributes
    ----------
    tables : dict of str to ResultTable
        "zsl", "gzsl", "ablation", "sparsity", "costs", "intervals", "comparisons" and "data", as far as they were run.
    out : Path
        Folder of results, models, tables and the report.
    report : Path or None
        The report page.
    summary : dict
        Contents of `reproduce.json`: number of runs, data sets, and the files that public data sets lack.
    """

    tables: Dict[str, ResultTable]
    out: Path
    report: Optional[Path]
    summary: Dict[str, Any]


def reproduce(root: PathLike, out: PathLike = "reproduction", *, methods: Optional[str] = None, seeds: int = 3,
              ablation: bool = True, sparsity: bool = True, report: bool = True, points: int = 1000,
              own_rows: Optional[PathLike] = None, random_state: Any = 1, n_jobs: Optional[int] = -1,
              progress: Optional[ProgressCallback] = None) -> Reproduction:
    """Compare methods on every data set under a folder.

    What an earlier call with the same `out` has finished is not run again, so that interrupted work goes on.

    Parameters
    ----------
    root : str or path-like
        Folder that is searched for data sets, three levels deep.
    out : str or path-like, default="reproduction"
        Folder for results, models, tables and the report. It is created if missing.
    methods : str, default=None
        Comma-separated: "paper", "default", "auto" or methods with options as in `parsnets bench`. None means the
        baselines and these three. The first is the baseline of the paired test.
    seeds : int, default=3
        Number of seeds.
    ablation, sparsity : bool, default=True
        Whether to also train the parts of the method, and models with other numbers of active networks. Both use the
        first seed alone.
    report : bool, default=True
        Whether to write the report page.
    points : int, default=1000
        Maximum number of points of the t-SNE maps of the report.
    own_rows : str or path-like, default=None
        CSV or JSON file with rows of your own (docs/report.md), shown as not measured here.
    random_state : int, RandomState instance or None, default=1
        First seed.
    n_jobs : int, default=-1
        Number of threads. -1 means one per core, None means 1.
    progress : callable, default=None
        Called with (stage, done, total, unit). A true result stops the work, which raises CancelledError.

    Returns
    -------
    reproduction : Reproduction
        Tables and paths.
    """
    options = _library.ReproduceOptions(
        ctypes.sizeof(_library.ReproduceOptions), None if methods is None else text(methods, "methods"),
        unsigned(seeds, "seeds", 32), seed_of(random_state), int(bool(ablation)), int(bool(sparsity)),
        int(bool(report)), unsigned(points, "points", 32),
        None if own_rows is None else text(os.fspath(own_rows), "own_rows"))
    folder = Path(out)
    with Watch(progress) as watch:
        call("reproduce", text(os.fspath(root), "root"), text(os.fspath(out), "out"), ctypes.byref(options),
             threads_of(n_jobs), watch.function, None)
    with open(folder / "reproduce.json", encoding="utf-8") as opened:
        summary = json.load(opened)
    if summary["failed"]:
        warnings.warn(f"{summary['failed']} rows failed; the notes of the tables say why", stacklevel=2)
    tables = {name: ResultTable.load(folder / "tables" / (name + ".json")) for name in summary["tables"]}
    page = folder / "report.html"
    return Reproduction(tables, folder, page if page.is_file() else None, summary)
