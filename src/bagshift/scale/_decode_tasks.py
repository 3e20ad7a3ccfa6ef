# SPDX-License-Identifier: BSD-3-Clause
"""Parts of decoded rows one after the other: in the order of the files, or bag by bag."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.whole_bags import whole_bag_borders
from bagshift.exceptions import TableError
from bagshift.scale._files import is_address
from bagshift.scale._lookup import BagLookup, bag_lookup
from bagshift.scale._relation import count_rows, relation, row_order
from bagshift.scale._streaming import Progress, as_matrix, stream
from bagshift.scale.bag_index import BagIndex
from bagshift.scale.labels import LabelColumn, label_code, label_text, raise_other_label
from bagshift.scale.rows import Rows

# Files are read together up to this size: many at a time for the sake of speed, not all for the
# sake of going on after an interrupt, when the files begun are read again from their start.
GROUP_BYTES = 2**30

Arrays = dict[str, NDArray[Any]]
Part = tuple[dict[str, Any], Arrays]


@dataclass(frozen=True)
class DecodeTask:
    """What is to be decoded.

    Attributes
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows
    types : dict of str to str
        Types of its columns.
    values : list of str
        Columns of the table in their kinds.
    features : list of str
        An expression of these for every feature.
    labels : LabelColumn or None
    bags : BagIndex or None
    part_rows : int
        Most rows of a part.
    n_rows : int or None
        Rows of the table, if known.
    progress : callable or None
    """

    connection: Any
    rows: Rows
    types: dict[str, str]
    values: list[str]
    features: list[str]
    labels: LabelColumn | None
    bags: BagIndex | None
    part_rows: int
    n_rows: int | None
    progress: Progress | None

    @property
    def outputs(self) -> list[str]:
        """Arrays of every part."""
        beside = [("labels", self.labels), ("bags", self.bags)]
        return ["features", *(name for name, given in beside if given is not None)]

    def statement(
        self,
        reader: str,
        *,
        shown: Sequence[str] = (),
        hidden: Sequence[str] = (),
        condition: str = "true",
        end: str = "",
    ) -> str:
        """Return the query for some columns and the features in single precision.

        Parameters
        ----------
        reader : str
            The rows.
        shown, hidden : sequence of str
            Columns that come before the features, and columns h0, h1 and so on for `end`.
        condition : str
            Which rows are wanted.
        end : str
            What stands behind the query.
        """
        inner = [f"{column} AS b{place}" for place, column in enumerate(shown)]
        inner += [f"{column} AS h{place}" for place, column in enumerate(hidden)]
        outer = [f"b{place}" for place in range(len(shown))]
        outer += [f"CAST({feature} AS REAL)" for feature in self.features]
        return (
            f"SELECT {', '.join(outer)} FROM (SELECT {', '.join([*inner, *self.values])} "
            f"FROM {reader} WHERE {condition}) AS prepared {end}"
        )

    def tell(self, done: float, total: int) -> None:
        """Say how many rows are done."""
        if self.progress:
            self.progress(int(min(done, total)), total)


class _Buffer:
    """Collects rows until a part is full."""

    def __init__(self, task: DecodeTask, most_rows: int, beside_dtype: Any) -> None:
        self.features = np.empty((most_rows, len(task.features)), dtype=np.float32)
        self.beside = np.empty(most_rows, dtype=beside_dtype)
        self.beside_name = task.outputs[1] if len(task.outputs) > 1 else None
        self.n_rows = 0

    def take(self, features: NDArray[Any], beside: NDArray[Any], limit: int) -> int:
        """Take rows from the start of the arrays, up to a number of rows in all."""
        n = min(limit - self.n_rows, len(features))
        place = slice(self.n_rows, self.n_rows + n)
        self.features[place], self.beside[place] = features[:n], beside[:n]
        self.n_rows += n
        return n

    def empty(self) -> Arrays:
        """Return what was collected, and begin again."""
        arrays: Arrays = {"features": self.features[: self.n_rows]}
        if self.beside_name:
            arrays[self.beside_name] = self.beside[: self.n_rows]
        self.n_rows = 0
        return arrays


# In the order of the files --------------------------------------------------------------------


def row_by_row(task: DecodeTask, done: list[dict[str, Any]]) -> Generator[Part, None, None]:
    """Yield the parts that are not done yet, in the order of the files.

    Parameters
    ----------
    task : DecodeTask
    done : list of dict
        Parts that are done.

    Yields
    ------
    part : dict
        With ``n_rows``, the ``group`` of files, the ``end`` of the part in it, and whether the
        group ends there.
    arrays : dict of str to ndarray
    """
    total = task.n_rows or 0
    if task.progress and not total:
        total = count_rows(task.connection, task.rows)
    n_done = sum(part["n_rows"] for part in done)
    last = done[-1] if done else {"group": 0, "end": 0, "group_ends": False}
    first_group = last["group"] + 1 if last["group_ends"] else last["group"]
    start = 0 if last["group_ends"] else last["end"]
    lookup = None
    if task.bags is not None:
        lookup = bag_lookup(task.connection, task.rows, task.bags)
    buffer = _Buffer(task, task.part_rows, _beside_dtype(task))
    for group, rows in enumerate(_groups(task.rows)):
        if group < first_group:
            continue
        for part, arrays in _parts_of_group(task, rows, start, lookup, buffer):
            n_done += part["n_rows"]
            yield {**part, "group": group}, arrays
            task.tell(n_done, total)
        start = 0
    task.tell(total, total)


def _groups(rows: Rows) -> list[Rows]:
    """Cut a table into tables of some of its files."""
    if not rows.files or rows.types_differ:
        return [rows]
    groups: list[list[Any]] = []
    size, layout = 0, None
    for file in rows.files:
        own = 0 if is_address(file.path) else Path(file.path).stat().st_size
        same = layout == (file.columns, file.separator)
        if not groups or size + own > GROUP_BYTES or not same:
            groups.append([])
            size, layout = 0, (file.columns, file.separator)
        groups[-1].append(file)
        size += own
    return [replace(rows, files=tuple(files)) for files in groups]


def _parts_of_group(
    task: DecodeTask, rows: Rows, start: int, lookup: BagLookup | None, buffer: _Buffer
) -> Generator[Part, None, None]:
    beside, condition = "0", "true"
    if task.labels:
        beside = label_code(rows, task.types, task.labels)
        condition = f"{label_text(rows, task.types, task.labels.column)} IS NOT NULL"
    if lookup:
        beside = lookup.expression
    end = start
    with relation(task.connection, rows) as reader:
        end_of_query = f"LIMIT {2**62} OFFSET {start}"
        statement = task.statement(reader, shown=[beside], condition=condition, end=end_of_query)
        n_columns = len(task.features) + 1
        with closing(stream(task.connection, statement, rows, n_columns=n_columns)) as pieces:
            for piece in pieces:
                features = _finite_features(piece.columns[1:], rows)
                codes = lookup.find(piece.column(0)) if lookup else piece.column(0).to_numpy()
                if task.labels and (codes < 0).any():
                    pieces.close()
                    raise_other_label(task.connection, rows, task.labels)
                for _ in _fill(buffer, features, codes, task.part_rows):
                    end += buffer.n_rows
                    yield _part(buffer, end=end, group_ends=False)
    end += buffer.n_rows
    yield _part(buffer, end=end, group_ends=True)


def _fill(
    buffer: _Buffer, features: NDArray[Any], codes: NDArray[Any], part_rows: int
) -> Iterator[None]:
    """Put rows into a buffer, and stop each time that it is full."""
    taken = 0
    while taken < len(features):
        taken += buffer.take(features[taken:], codes[taken:], part_rows)
        if buffer.n_rows == part_rows:
            yield


def _part(buffer: _Buffer, **facts: Any) -> Part:
    part = {"n_rows": buffer.n_rows, **facts}
    return part, buffer.empty() if buffer.n_rows else {}


def _beside_dtype(task: DecodeTask) -> Any:
    if task.bags is None:
        return np.int8
    return np.int32 if len(task.bags.all_ids) < 2**31 else np.int64


# Bag by bag -----------------------------------------------------------------------------------


def bag_by_bag(task: DecodeTask, done: list[dict[str, Any]]) -> Generator[Part, None, None]:
    """Yield the parts that are not done yet, in order of the bag ids.

    Parameters
    ----------
    task : DecodeTask
    done : list of dict
        Parts that are done.

    Yields
    ------
    part : dict
        With ``n_rows`` and ``bags``, the first bag and the first one after the part.
    arrays : dict of str to ndarray
    """
    bags = task.bags
    assert bags is not None
    bounds = part_bounds(bags.n_rows, task.part_rows)[len(done) :]
    if not bounds:
        return
    sizes = [int(bags.n_rows[first:end].sum()) for first, end in bounds]
    buffer = _Buffer(task, max(sizes), _beside_dtype(task))
    total = int(bags.n_rows.sum())
    n_done = total - sum(sizes)
    places = iter(zip(bounds, sizes, strict=True))
    bound, size = next(places)
    with closing(_sorted_rows(task, bounds[0][0], n_done, total)) as pieces:
        for features, codes in pieces:
            taken = 0
            while taken < len(features):
                if not size:
                    raise _other_rows(task.rows)
                taken += buffer.take(features[taken:], codes[taken:], size)
                if buffer.n_rows == size:
                    n_done += size
                    yield _part(buffer, bags=list(bound))
                    # Half of the work was to sort.
                    task.tell((total + n_done) / 2, total)
                    bound, size = next(places, (bound, 0))
    if buffer.n_rows or n_done != total:
        raise _other_rows(task.rows)


def part_bounds(n_rows: NDArray[np.int64], part_rows: int) -> list[tuple[int, int]]:
    """Cut bags into parts of at most a number of rows, or of one bag.

    Parameters
    ----------
    n_rows : ndarray of shape (n_bags,)
        Rows of every bag.
    part_rows : int

    Returns
    -------
    list of (int, int)
        First bag, and first bag after the part.

    Examples
    --------
    >>> part_bounds(np.array([2, 2, 9, 1, 1]), 4)
    [(0, 2), (2, 3), (3, 5)]
    """
    borders = whole_bag_borders(np.append(0, np.cumsum(n_rows)), part_rows).tolist()
    return list(pairwise(borders))


def _sorted_rows(
    task: DecodeTask, first_bag: int, n_done: int, total: int
) -> Generator[tuple[NDArray[Any], NDArray[np.int64]], None, None]:
    """Yield features and bags of the rows from a bag on."""
    bags = task.bags
    assert bags is not None
    first = int(np.flatnonzero(bags.used)[first_bag])
    ends = np.cumsum(bags.all_n_rows[first:])
    codes_of = np.where(bags.used, np.cumsum(bags.used) - 1, -1)[first:]
    key = bags.key.expression
    seen = 0

    def waiting(share: float) -> None:
        if not seen:
            task.tell(n_done + (total - n_done) / 2 * share, total)

    with relation(task.connection, task.rows) as reader:
        order = row_order(task.rows, task.types)
        first_id = bags.key.literal(bags.all_ids[first])
        statement = task.statement(
            reader,
            hidden=[key, *order],
            condition=f"{key} IS NOT NULL AND {key} >= {first_id}",
            end=f"ORDER BY {', '.join(f'h{place}' for place in range(len(order) + 1))}",
        )
        pieces = stream(
            task.connection,
            statement,
            task.rows,
            n_columns=len(task.features),
            waiting=waiting,
        )
        with closing(pieces):
            for piece in pieces:
                features = _finite_features(piece.columns, task.rows)
                places = np.arange(seen, seen + len(features))
                seen += len(features)
                if seen > ends[-1]:
                    raise _other_rows(task.rows)
                codes = codes_of[np.searchsorted(ends, places, side="right")]
                if len(codes) and codes.min() < 0:
                    features, codes = features[codes >= 0], codes[codes >= 0]
                yield features, codes


def _finite_features(columns: list[Any], rows: Rows) -> NDArray[np.float32]:
    features: NDArray[np.float32] = as_matrix(columns, np.float32)
    if not np.isfinite(features).all():
        raise TableError(
            f"{rows.name} holds infinite numbers that were not there when the columns were "
            "prepared; correct these, or prepare the columns on these rows."
        )
    return features


def _other_rows(rows: Rows) -> TableError:
    return TableError(f"{rows.name} changed since its bags were counted; count them again.")
