# SPDX-License-Identifier: BSD-3-Clause
"""Some whole bags with all their rows, and some labelled rows, in memory.

Settings are compared, and a search for a start is made, on so many rows only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import TableError
from bagshift.scale._decode_tasks import DecodeTask
from bagshift.scale._feature_sql import row_expressions, value_columns
from bagshift.scale._relation import column_types, relation, row_order
from bagshift.scale._streaming import Progress, as_matrix, stream
from bagshift.scale.bag_index import BagIndex
from bagshift.scale.preparation import Preparation
from bagshift.scale.rows import Rows


@dataclass(frozen=True)
class SampledBags:
    """Rows of some bags.

    Attributes
    ----------
    bags : ndarray of int64, shape (n_sampled,)
        Places of the bags among the used ones, in their order.
    features : ndarray of float32, shape (n_rows, n_features)
        Rows bag by bag, in the order of the files in each.
    bag_of_row : ndarray of int64, shape (n_rows,)
        Place of the bag of every row in `bags`.
    """

    bags: NDArray[np.int64]
    features: NDArray[np.float32]
    bag_of_row: NDArray[np.int64]


def draw_bags(bags: BagIndex, most_rows: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Draw whole bags, each with the same chance, up to a number of rows.

    Parameters
    ----------
    bags : BagIndex
    most_rows : int
        All bags are drawn when they have no more rows; two at least in any case.
    seed : int, default=0

    Returns
    -------
    ndarray of shape (n_sampled,)
        Places among the used bags, in their order.
    """
    n_rows = bags.n_rows
    if n_rows.sum() <= most_rows:
        return np.arange(len(n_rows))
    order = np.random.default_rng(seed).permutation(len(n_rows))
    n_drawn = int(np.searchsorted(np.cumsum(n_rows[order]), most_rows, side="right"))
    return np.sort(order[: max(n_drawn, min(2, len(order)))])


def sample_bags(
    connection: Any,
    rows: Rows,
    bags: BagIndex,
    preparation: Preparation,
    chosen: NDArray[np.int64],
    *,
    progress: Progress | None = None,
) -> SampledBags:
    """Read the rows of some bags as features.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        As :func:`~bagshift.scale.connection.connect` gives it.
    rows : Rows
        The target.
    bags : BagIndex
        Its bags.
    preparation : Preparation
        How rows become features.
    chosen : ndarray of shape (n_sampled,)
        Places of bags among the used ones, in their order.
    progress : callable, optional
        Called with the number of rows done and of all; DuckDB reads all to find these.

    Returns
    -------
    SampledBags

    Raises
    ------
    TableError
        When the rows changed since the bags were counted.
    """
    types = column_types(connection, rows)
    values = value_columns(preparation, types, rows.name)
    features = row_expressions(preparation)
    task = DecodeTask(connection, rows, types, values, features, None, bags, 1, None, None)
    sizes = bags.n_rows[chosen]
    n_rows = int(sizes.sum())
    read = np.empty((n_rows, len(preparation.features)), dtype=np.float32)
    place = 0

    def waiting(share: float) -> None:
        if progress:
            progress(int(min(share, 1.0) * n_rows), n_rows)

    with relation(connection, rows) as reader, _ids_of(connection, bags, chosen) as ids:
        key = bags.key.expression
        order = [key, *row_order(rows, types)]
        statement = task.statement(
            reader,
            hidden=order,
            condition=f"{key} IN (SELECT id FROM {ids})",
            end=f"ORDER BY {', '.join(f'h{place}' for place in range(len(order)))}",
        )
        pieces = stream(connection, statement, rows, n_columns=read.shape[1], waiting=waiting)
        with closing(pieces):
            for piece in pieces:
                found = as_matrix(piece.columns, np.float32)
                if place + len(found) > n_rows:
                    raise _other_rows(rows)
                read[place : place + len(found)] = found
                place += len(found)
    if place != n_rows or not np.isfinite(read).all():
        raise _other_rows(rows)
    waiting(1.0)
    return SampledBags(chosen, read, np.repeat(np.arange(len(chosen)), sizes))


@contextmanager
def _ids_of(connection: Any, bags: BagIndex, chosen: NDArray[np.int64]) -> Iterator[str]:
    """Give the ids of some bags as a table of the database, within the block."""
    import pyarrow as pa

    ids, kind = bags.ids, pa.int64() if bags.key.is_whole else pa.string()
    column = pa.array([ids[place] for place in chosen.tolist()], type=kind)
    connection.register("bagshift_sampled", pa.table({"id": column}))
    try:
        yield "bagshift_sampled"
    finally:
        connection.unregister("bagshift_sampled")


def _other_rows(rows: Rows) -> TableError:
    return TableError(f"{rows.name} changed since its bags were counted; count them again.")
