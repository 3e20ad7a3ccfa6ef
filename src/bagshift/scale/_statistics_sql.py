# SPDX-License-Identifier: BSD-3-Clause
"""One pass over a table that looks at every value of every column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bagshift.columns import LARGEST_NUMBER, MOST_DISTINCT_BY_CHANCE, ROW_NAMES, Kind
from bagshift.scale._expressions import quick_text_of, value_of
from bagshift.scale._relation import count_rows, file_marks, relation
from bagshift.scale._sql import number_literal, quoted, storage_of
from bagshift.scale._streaming import stream
from bagshift.scale.rows import Rows

# Whether values differ in every row is judged on about this many of them.
SAMPLED_VALUES = 100_000
NEARLY_ALL = 0.9
BYTES_PER_CSV_ROW = 50
# The planner's time grows with the square of the sums; CSV files are read again for each batch.
MOST_SUMS = {"csv": 800, "other": 200}
LEADING_ZERO = " OR ".join(
    f"({{text}} >= '{sign}00' AND {{text}} < '{sign}0:')" for sign in ("", "-", "+")
)
WRITTEN_DATE = "{text} LIKE '____-__-__%'"
WRITTEN_BOOLEAN = "lower({text}) IN ('true', 'false')"


@dataclass(frozen=True)
class Numbers:
    """Mean and spread of the finite numbers of a column.

    Attributes
    ----------
    n : int
        How many there are.
    mean, square_sum : float
        Mean, and sum of the squared distances from it.
    minimum, maximum : float
        NaN where there is no number.
    """

    n: int = 0
    mean: float = 0.0
    square_sum: float = 0.0
    minimum: float = float("nan")
    maximum: float = float("nan")

    def joined(self, other: Numbers) -> Numbers:
        """Return what holds of the numbers of two tables together."""
        if not self.n or not other.n:
            return self if self.n else other
        n, step = self.n + other.n, other.mean - self.mean
        return Numbers(
            n,
            self.mean + step * (other.n / n),
            self.square_sum + other.square_sum + step * step * (self.n / n) * other.n,
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
        )


@dataclass(frozen=True)
class Seen:
    """What one table holds in a column.

    Attributes
    ----------
    kind : {"number", "date", "text"} or None
        None where every value is missing.
    n_present : int
        Values that are not missing.
    n_nan, n_infinite : int
        NaN (which count as missing) and numbers that are infinite or too large.
    numbers : Numbers
        Of numbers and dates.
    differs_by_row : bool
        Whether (nearly) every row has a value of its own, as an id has.
    """

    kind: Kind | None
    n_present: int
    n_nan: int
    n_infinite: int
    numbers: Numbers
    differs_by_row: bool


def look_at(
    connection: Any,
    rows: Rows,
    types: dict[str, str],
    waiting: Callable[[float], None] | None = None,
) -> tuple[int, dict[str, Seen]]:
    """Look at every value of some columns of a table.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows
        The table.
    types : dict of str to str
        Columns to look at, and their types; all of types that can be features.
    waiting : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    n_rows : int
    seen : dict of str to Seen
    """
    n_classes = max(1, _rough_count(connection, rows) // SAMPLED_VALUES)
    found: dict[str, Seen] = {}
    n_rows = 0
    most = MOST_SUMS["csv" if rows.kind == "csv" else "other"]
    for names in _batches(types, most) or [[]]:
        some = {name: types[name] for name in names}

        def tell(share: float, start: int = len(found), n: int = len(names)) -> None:
            if waiting:
                waiting((start + share * n) / len(types))

        n_rows, seen = _look_at_some(connection, rows, some, n_classes, tell)
        found.update(seen)
    return n_rows, found


def _batches(types: dict[str, str], most: int) -> list[list[str]]:
    """Cut columns into lists of which each has a number of sums, or one column."""
    batches: list[list[str]] = []
    n_sums = most + 1
    for name, type_name in types.items():
        own = len(_Column(name, type_name, "c", 1).sums)
        if n_sums + own > most:
            batches.append([])
            n_sums = 0
        batches[-1].append(name)
        n_sums += own
    return batches


def _look_at_some(
    connection: Any,
    rows: Rows,
    types: dict[str, str],
    n_classes: int,
    waiting: Callable[[float], None],
) -> tuple[int, dict[str, Seen]]:
    columns = [
        _Column(name, type_name, f"c{place}", n_classes)
        for place, (name, type_name) in enumerate(types.items())
    ]
    sums = ["count(*)", *(part for column in columns for part in column.sums)]
    with relation(connection, rows) as table:
        # One step after the other: the planner takes long over what is written out many times.
        for step in ("read", "converted", "finite"):
            parts = [part for column in columns for part in getattr(column, step)]
            table = f"(SELECT {', '.join(['1 AS one', *parts])} FROM {table})"
        listed = ", ".join(f"{part} AS s{place}" for place, part in enumerate(sums))
        pieces = stream(
            connection,
            f"SELECT {listed} FROM {table}",
            rows,
            n_columns=len(sums),
            waiting=waiting,
        )
        found = [value for piece in pieces for (value,) in map(_values, piece.columns)]
    values = iter(found)
    n_rows = int(next(values))
    return n_rows, {column.name: column.seen(values) for column in columns}


def _values(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _rough_count(connection: Any, rows: Rows) -> int:
    if rows.kind != "csv":
        return count_rows(connection, rows)
    return int(sum(size for _, size, _ in file_marks(rows))) // BYTES_PER_CSV_ROW


@dataclass(frozen=True)
class _Column:
    """What is computed of a column, step by step, and the sums that are taken of it."""

    name: str
    type_name: str
    alias: str
    n_classes: int

    @property
    def is_text(self) -> bool:
        return storage_of(self.type_name) == "text"

    @property
    def is_named_like_ids(self) -> bool:
        name = re.sub(r"\s+", " ", self.name.strip().casefold())
        return name in ROW_NAMES or name.endswith(("_id", " id", "-id"))

    @property
    def has_sample(self) -> bool:
        return self.is_text or self.is_named_like_ids

    @property
    def read(self) -> list[str]:
        """Text, or the column itself and as a number."""
        if self.is_text:
            return [f"{quick_text_of(self.name, self.type_name)} AS {self.alias}"]
        kind: Kind = "date" if storage_of(self.type_name) == "date" else "number"
        number = value_of(self.name, self.type_name, kind, "")
        return [f"{quoted(self.name)} AS {self.alias}", f"{number} AS {self.alias}_number"]

    @property
    def converted(self) -> list[str]:
        """Text as number and as seconds."""
        text = self.alias
        if not self.is_text:
            return [text, f"{text}_number"]
        moment = f"epoch(TRY_CAST({text} AS TIMESTAMP))"
        truth = f"CASE WHEN {WRITTEN_BOOLEAN.format(text=text)} THEN lower({text}) = 'true' END"
        return [
            text,
            f"{truth} AS {text}_truth",
            f"coalesce(CAST({truth} AS DOUBLE), TRY_CAST({text} AS DOUBLE)) AS {text}_number",
            f"CASE WHEN {WRITTEN_DATE.format(text=text)} THEN {moment} END AS {text}_seconds",
        ]

    @property
    def finite(self) -> list[str]:
        """The same, the finite numbers, and some values; NaN is above every number for DuckDB."""
        names = [part.rpartition(" ")[2] for part in self.converted]
        own, number = self.alias, f"{self.alias}_number"
        limit = number_literal(LARGEST_NUMBER)
        names.append(f"CASE WHEN abs({number}) <= {limit} THEN {number} END AS {own}_finite")
        if self.has_sample:
            # Equal values are in the same class of a hash, so the ratio of distinct values to
            # values in one class is that of the whole column, and exactly 1 when all differ.
            is_in = f"{own} IS NOT NULL AND hash({own}) % {self.n_classes} = 0"
            names.append(f"CASE WHEN {is_in} THEN hash({own}) END AS {own}_some")
        return names

    @property
    def sums(self) -> list[str]:
        """What is summed up over all rows, in the order in which `seen` reads it."""
        own, finite = self.alias, f"{self.alias}_finite"
        sums = [f"count({own})", f"count({own}_number)", *_number_sums(finite)]
        if self.is_text:
            zero = LEADING_ZERO.format(text=own)
            sums += [f"count({own}_truth)", f"count(CASE WHEN {zero} THEN 1 END)"]
            sums += [f"count({own}_seconds)", *_number_sums(f"{own}_seconds")]
        if self.has_sample:
            sums += [f"count({own}_some)", f"count(DISTINCT {own}_some)"]
        return sums

    def seen(self, values: Iterator[Any]) -> Seen:
        """Read the sums."""
        n_raw, n_numbers, numbers = int(next(values)), int(next(values)), _numbers(values)
        if self.is_text:
            return self._seen_text(n_raw, n_numbers, numbers, values)
        n_infinite = n_numbers - numbers.n
        differs = self.is_named_like_ids and _all_differ(values, 1.0)
        differs &= storage_of(self.type_name) == "whole"
        kind: Kind = "date" if storage_of(self.type_name) == "date" else "number"
        n_nan = n_raw - n_numbers
        return Seen(kind if n_numbers else None, n_numbers, n_nan, n_infinite, numbers, differs)

    def _seen_text(
        self, n_present: int, n_numbers: int, numbers: Numbers, values: Iterator[Any]
    ) -> Seen:
        n_truths, n_zeros, n_dates = (int(next(values)) for _ in range(3))
        dates = _numbers(values)
        is_number = n_numbers == n_present and not n_zeros and n_truths in (0, n_present)
        differs = _all_differ(values, 1.0 if is_number else NEARLY_ALL)
        if not n_present:
            return Seen(None, 0, 0, 0, Numbers(), False)
        if is_number:
            differs &= self.is_named_like_ids
            return Seen("number", n_present, 0, n_present - numbers.n, numbers, differs)
        if n_dates == n_present:
            return Seen("date", n_present, 0, 0, dates, False)
        return Seen("text", n_present, 0, 0, Numbers(), differs)


def _number_sums(number: str) -> list[str]:
    # favg keeps the digits that avg loses where the mean is large and the deviation small.
    return [f"{name}({number})" for name in ("count", "favg", "var_pop", "min", "max")]


def _all_differ(values: Iterator[Any], share: float) -> bool:
    n_sampled, n_distinct = int(next(values)), int(next(values))
    return n_distinct >= share * n_sampled and n_sampled >= MOST_DISTINCT_BY_CHANCE


def _numbers(values: Iterator[Any]) -> Numbers:
    n, mean, variance, minimum, maximum = (next(values) for _ in range(5))
    return Numbers(int(n), mean, variance * n, minimum, maximum) if n else Numbers()
