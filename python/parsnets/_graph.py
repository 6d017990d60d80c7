"""dask's side of parsnets.dask: blocks of its collections, and trees of tasks over them. dask is imported on first use.
"""

from __future__ import annotations

import uuid
from typing import Any, Callable, Dict, List

import numpy as np

from ._training import validated
from .errors import BadInputError

FAN_IN = 8  # results that one task adds up
RUNS = 64  # of partitions that are added up one after the other, where they are: so many at least keep workers busy


def array_module() -> Any:
    try:
        import dask.array
    except ImportError as error:
        raise ImportError("parsnets.dask needs dask, and distributed for a cluster: install Debian's packages "
                          "python3-dask and python3-distributed, or 'pip install dask distributed' "
                          f"({error})") from None
    return dask.array


def is_collection(values: Any) -> bool:
    return hasattr(values, "__dask_graph__")


def _is_frame(values: Any) -> bool:
    """Return whether values are a dask DataFrame or Series. A Delayed has all public attributes that one asks for."""
    return hasattr(values, "_meta_nonempty") and hasattr(values, "to_dask_array")


def single(key: str, value: Any) -> Any:
    """Return a lazy value. However many tasks need it, it is pickled once and sent to a worker once."""
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    return Delayed(key, HighLevelGraph.from_collections(key, {key: value}, dependencies=()))


def partitioned(estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> List[Any]:
    """Return X, y and, if there are any, weights as dask arrays whose blocks of rows belong together."""
    matrix = matrix_of(estimator, X, reset=reset)
    columns = [matrix, column_of(y, matrix, "y")]
    return columns if sample_weight is None else [*columns, column_of(sample_weight, matrix, "sample_weight")]


def matrix_of(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a dask array of blocks of whole rows, after scikit-learn's checks of the columns."""
    da = array_module()
    if _is_frame(X) and X.ndim == 2:
        example, matrix = X._meta_nonempty, X.to_dask_array()
    elif isinstance(X, da.Array):
        if X.ndim != 2 or np.isnan(X.shape[1]):
            raise BadInputError(f"X: expected 2 dimensions and a known number of columns, found shape {X.shape}")
        example, matrix = np.zeros((2, X.shape[1]), np.float32), X
    else:
        raise BadInputError(f"X: expected a dask array or DataFrame, found {type(X).__name__}")
    validated(estimator, example, dtype=np.float32, reset=reset)
    return matrix if matrix.numblocks[1] == 1 else matrix.rechunk({1: -1})


def column_of(values: Any, matrix: Any, what: str) -> Any:
    """Return labels or weights as a dask array whose blocks belong to those of `matrix`."""
    da = array_module()
    rows = matrix.chunks[0]
    if not is_collection(values):
        array = np.asarray(values)
        if np.isnan(rows).any():
            raise BadInputError(f"{what}: expected a dask array or Series, since the numbers of rows in the partitions "
                                f"of X are not known, found {type(values).__name__}")
        values = da.from_array(array, chunks=array.shape)
    column = values.to_dask_array() if _is_frame(values) else values
    if not isinstance(column, da.Array):
        raise BadInputError(f"{what}: expected a dask array or Series, found {type(values).__name__}")
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise BadInputError(f"{what}: expected one dimension, found shape {column.shape}")
    if np.isnan(rows).any() or np.isnan(column.chunks[0]).any():
        if len(column.chunks[0]) != len(rows):
            raise BadInputError(f"{what}: expected {len(rows)} partitions as in X, since their numbers of rows are not "
                                f"known, found {len(column.chunks[0])}; call compute_chunk_sizes() on the arrays, or "
                                "to_dask_array(lengths=True) on the data frames")
        return column
    if column.shape[0] != matrix.shape[0]:
        raise BadInputError(f"{what}: expected {matrix.shape[0]} values, one per row of X, found {column.shape[0]}")
    return column if column.chunks[0] == rows else column.rechunk((rows,))


def reduced(name: str, columns: List[Any], leaf: Callable[..., Any], combine: Callable[..., Any],
            shared: Any = None) -> Any:
    """Return what the workers make of all partitions, by a tree of tasks with the result at its root.

    leaf(blocks, number, shared, before): the result of a partition, with one block of each column, added to that of the
    partitions before it in a run, or None; combine: adds up a list of results. The tree depends on the number of
    partitions alone, so that workers that come, go or die do not change the rounding.
    """
    import dask
    from dask.core import flatten
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.optimization import fuse
    columns = list(dask.optimize(*columns))  # together: partitions of X and y may come from one file
    layer = f"parsnets-{name}-{uuid.uuid4().hex}"
    tasks: Dict[Any, Any] = {**HighLevelGraph.merge(*[column.__dask_graph__() for column in columns]),
                             layer + "-shared": shared}
    blocks = list(zip(*[flatten(column.__dask_keys__()) for column in columns]))
    run = min(FAN_IN, max(1, len(blocks) // RUNS))
    leaves = [(layer, 0, number) for number in range(len(blocks))]
    for number, keys in enumerate(blocks):
        tasks[leaves[number]] = (leaf, list(keys), number, layer + "-shared",
                                 leaves[number - 1] if number % run else None)
    # A partition is made and added up in one task: it never has to move to another worker.
    tasks, _ = fuse(tasks, leaves, ave_width=4, rename_keys=False)
    level = leaves[run - 1:-1:run] + leaves[-1:]
    depth = 0
    while len(level) > 1:
        depth, below, level = depth + 1, level, []
        for number in range(0, len(below), FAN_IN):
            level.append((layer, depth, number // FAN_IN))
            tasks[level[-1]] = (combine, below[number:number + FAN_IN])
    return Delayed(level[0], HighLevelGraph.from_collections(layer, tasks, dependencies=()), layer=layer).compute()
