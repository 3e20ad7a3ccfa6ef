# SPDX-License-Identifier: BSD-3-Clause
"""Mean features of every bag: one statement of SQL, here or in a warehouse.

The target side of the proportion machines needs no more of its rows than this: one row per bag.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import TableError, name_bags
from bagshift.scale._feature_sql import mean_expressions, value_columns
from bagshift.scale._keys import Key
from bagshift.scale._manifest import begin, digest
from bagshift.scale._npy import RowWriter, map_array
from bagshift.scale._relation import column_types, file_marks, named, relation
from bagshift.scale._sql import quoted
from bagshift.scale._streaming import Progress, as_matrix, stream
from bagshift.scale.bag_index import BagIndex
from bagshift.scale.connection import memory_limit
from bagshift.scale.preparation import Preparation
from bagshift.scale.rows import Rows

TABLE = "target"
STATEMENT = """\
SELECT
  {means}
FROM (
  SELECT
    {values}
  FROM {table}
  WHERE {conditions}
) AS prepared
GROUP BY bag_id
ORDER BY bag_id"""
MEANS_FILE = "means.npy"

# What DuckDB holds for every group while it groups, measured with 1 to 100 columns.
BYTES_PER_GROUP, BYTES_PER_MEAN = 100, 28
SHARE_OF_LIMIT = 0.5


@dataclass(frozen=True)
class BagMeans:
    """Mean features of bags.

    Attributes
    ----------
    bags : BagIndex
        The bags, their shares and sizes.
    means : ndarray of shape (n_bags, n_features)
        A row for each used bag, in order of the ids; read from its file when it is used.
    names : list of str
        Names of the features.
    file : Path
        The file of the means.
    n_passes : int
        How often the rows were read.
    rows_per_second : float
        Rows over the seconds of this call; NaN when nothing was left to do.
    """

    bags: BagIndex
    means: NDArray[Any]
    names: list[str]
    file: Path
    n_passes: int
    rows_per_second: float


def bag_means_sql(
    preparation: Preparation,
    bag: str | Key,
    *,
    types: Mapping[str, str] | None = None,
    table: str = TABLE,
    first: int | str | None = None,
    last: int | str | None = None,
) -> str:
    """Return the statement that computes the mean features of every bag.

    It is read by DuckDB and by PostgreSQL and what is related to them; nothing in it is special
    to this library, so it can be run where the rows are, and only its result be carried here.
    DuckDB overlooks NaN in a Parquet file whose extremes leave it out, as they should, unless it
    is told before: ``SET disabled_optimizers = 'statistics_propagation'``.

    Parameters
    ----------
    preparation : Preparation
        How rows become features.
    bag : str or Key
        The column of bag ids, of whole numbers or text without blank ids.
    types : mapping of str to str, optional
        Types of the columns in the words of DuckDB; if not given, numbers, dates and text as the
        preparation has them.
    table : str, default="target"
        Name of the table of rows.
    first, last : int or str, optional
        Only bags from this id to that one.

    Returns
    -------
    str
        With columns ``bag_id``, ``n_rows`` and the features, in order of the id.

    Raises
    ------
    TableError
        When the table lacks a column, or has one of a type that cannot be read as its kind.
    """
    key = bag if isinstance(bag, Key) else Key(bag, quoted(bag), is_whole=False)
    values = [f"{key.expression} AS bag_id", *value_columns(preparation, types, table, quick=True)]
    means = ["bag_id", "count(*) AS n_rows"]
    means += [
        f"{mean} AS {quoted(name)}"
        for mean, name in zip(mean_expressions(preparation), preparation.names, strict=True)
    ]
    conditions = [f"{key.expression} IS NOT NULL"]
    if first is not None:
        conditions.append(f"{key.expression} >= {key.literal(first)}")
    if last is not None:
        conditions.append(f"{key.expression} <= {key.literal(last)}")
    return STATEMENT.format(
        means=",\n  ".join(means),
        values=",\n    ".join(values),
        table=quoted(table),
        conditions=" AND ".join(conditions),
    )


def bag_means(
    connection: Any,
    rows: Rows,
    bags: BagIndex,
    preparation: Preparation,
    folder: str | Path,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    progress: Progress | None = None,
) -> BagMeans:
    """Compute the mean features of every bag by the statement of `bag_means_sql`.

    Where the groups would not fit into the memory of DuckDB, Parquet files are read in several
    passes, each for a range of ids: that takes half the time of spilling. Every pass that was
    finished is kept, and the next call goes on from there.

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
    folder : str or Path
        Folder of the result; it is made if it is not there.
    dtype : {"float32", "float64"}, default="float32"
        Of the result. Sums are doubles in either case.
    progress : callable, optional
        Called with the number of rows done and of all.

    Returns
    -------
    BagMeans
        The last digit of a double depends on the order in which threads add up rows.

    Raises
    ------
    TableError
        When the rows changed since the bags were counted, hold what they did not when the
        columns were prepared, or the folder holds something else.
    """
    types = column_types(connection, rows)
    value_columns(preparation, types, rows.name)  # in errors the rows go by their own name
    settings = {
        "result": "bag means",
        "dtype": dtype,
        "statement": digest(bag_means_sql(preparation, bags.key, types=types)),
        "bags": bags.mark,
    }
    manifest = begin(folder, settings, file_marks(rows) if rows.files else None)
    file = manifest.folder / MEANS_FILE
    work = _Work(connection, rows, bags, preparation, types, progress)
    start = manifest.parts[-1]["last_bag"] if manifest.parts else 0
    began = time.monotonic()
    n_passes = 0
    shape = (bags.n_bags, len(preparation.features))
    with RowWriter(file, shape, dtype, int(bags.used[:start].sum())) as writer:
        for first, last in _ranges(connection, rows, bags, preparation, start):
            _run_pass(work, first, last, writer)
            manifest.check_inputs(file_marks(rows) if rows.files else None)
            manifest = manifest.with_part({"last_bag": last})
            n_passes += 1
    n_rows = int(bags.all_n_rows[start:].sum())
    seconds = time.monotonic() - began
    speed = n_rows / seconds if n_passes else math.nan
    means = map_array(file)
    return BagMeans(bags, means, preparation.names, file, n_passes, speed)


@dataclass(frozen=True)
class _Work:
    """What every pass needs."""

    connection: Any
    rows: Rows
    bags: BagIndex
    preparation: Preparation
    types: dict[str, str]
    progress: Progress | None


def _ranges(
    connection: Any, rows: Rows, bags: BagIndex, preparation: Preparation, start: int
) -> Iterator[tuple[int, int]]:
    """Cut the bags that are left into ranges whose groups fit into the memory of DuckDB."""
    n_left = len(bags.all_ids) - start
    group_bytes = BYTES_PER_GROUP + BYTES_PER_MEAN * len(preparation.features)
    n_passes = math.ceil(n_left * group_bytes / (SHARE_OF_LIMIT * memory_limit(connection)))
    if rows.kind == "csv":  # reading text again takes longer than spilling
        n_passes = 1
    ends = np.linspace(start, len(bags.all_ids), max(n_passes, 1) + 1).astype(int).tolist()
    return ((first, last) for first, last in pairwise(ends) if first < last)


def _run_pass(work: _Work, first: int, last: int, writer: RowWriter) -> None:
    """Compute the means of a range of bags and append them to the file."""
    bags, n_rows = work.bags, int(work.bags.all_n_rows.sum())
    before, own = (int(bags.all_n_rows[part].sum()) for part in (slice(first), slice(first, last)))

    def tell(share: float) -> None:
        if work.progress:
            work.progress(int(before + min(share, 1.0) * own), n_rows)

    place = first
    with relation(work.connection, work.rows) as reader:
        statement = named(TABLE, reader, _statement(work, first, last))
        n_columns = len(work.preparation.features) + 2
        pieces = stream(work.connection, statement, work.rows, n_columns=n_columns, waiting=tell)
        with closing(pieces):
            for piece in pieces:
                part = slice(place, place + piece.num_rows)
                if not np.array_equal(piece.column(1).to_numpy(), bags.all_n_rows[part]):
                    raise _other_rows(work.rows)
                means = as_matrix(piece.columns[2:], writer.dtype)
                _check_finite(work, means, place)
                writer.append(means[bags.used[part]])
                place += piece.num_rows
    if place != last:
        raise _other_rows(work.rows)
    writer.flush()
    tell(1.0)


def _statement(work: _Work, first: int, last: int) -> str:
    ids = work.bags.all_ids
    return bag_means_sql(
        work.preparation,
        work.bags.key,
        types=work.types,
        first=ids[first] if first else None,
        last=ids[last - 1] if last < len(ids) else None,
    )


def _other_rows(rows: Rows) -> TableError:
    return TableError(f"{rows.name} changed since its bags were counted; count them again.")


def _check_finite(work: _Work, means: NDArray[Any], start: int) -> None:
    if not np.isfinite(means).all():
        row, place = np.argwhere(~np.isfinite(means))[0]
        feature = work.preparation.features[place]
        raise TableError(
            f"Column {feature.column!r} of {work.rows.name} holds NaN or infinite numbers in "
            f"{name_bags([work.bags.all_ids[start + int(row)]])}, which it did not when the "
            "columns were prepared; prepare them on these rows."
        )
