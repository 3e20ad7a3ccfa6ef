# SPDX-License-Identifier: BSD-3-Clause
"""What the columns of two tables hold, found without having either in memory.

One pass looks at every value of every column, one more over the columns of text alone counts
their levels. The kinds are those of :mod:`bagshift.columns` and agreed over both tables: a model
has to read the same column in the same way on either side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bagshift.columns import Kind
from bagshift.exceptions import TableError, name_some
from bagshift.scale._levels import Levels, count_levels
from bagshift.scale._relation import column_types, count_rows, require_columns
from bagshift.scale._sql import storage_of
from bagshift.scale._statistics_sql import Numbers, Seen, look_at
from bagshift.scale._streaming import Progress
from bagshift.scale.rows import Rows


@dataclass(frozen=True)
class ColumnStatistics:
    """What a column holds in all tables together.

    Attributes
    ----------
    kind : {"number", "date", "text"}
        Booleans are the numbers 0 and 1, dates seconds since 1970.
    n_rows, n_missing : int
        Rows, and those without a value; NaN and words such as "n/a" are no value.
    n_nan, n_infinite : int
        Missing values that are NaN, and numbers that are infinite or too large for single
        precision.
    mean, deviation : float
        Of the finite numbers; the deviation divides by their number.
    minimum, maximum : float
        Of the finite numbers.
    levels : tuple of (str, int)
        The most frequent texts and how often they occur, the most frequent first.
    n_levels : int
        How many different texts there are.
    """

    kind: Kind
    n_rows: int
    n_missing: int
    n_nan: int = 0
    n_infinite: int = 0
    mean: float = float("nan")
    deviation: float = float("nan")
    minimum: float = float("nan")
    maximum: float = float("nan")
    levels: tuple[tuple[str, int], ...] = ()
    n_levels: int = 0

    @property
    def n_other(self) -> int:
        """Rows of a text that is not among `levels`."""
        counted = sum(count for _, count in self.levels)
        return self.n_rows - self.n_missing - counted if self.levels else 0


@dataclass(frozen=True)
class TableStatistics:
    """What the columns of the tables hold.

    Attributes
    ----------
    columns : dict of str to ColumnStatistics
        Columns that can be learned from, in the order of the first table.
    ignored : dict of str to str
        The other columns, and the reason.
    names : tuple of str
        What the tables are called.
    n_rows : tuple of int
        Their rows.
    """

    columns: dict[str, ColumnStatistics]
    ignored: dict[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    n_rows: tuple[int, ...] = ()


def column_statistics(
    connection: Any,
    target: Rows,
    source: Rows | None = None,
    *,
    reserved: Mapping[str, str] | None = None,
    only: Collection[str] = (),
    most_levels: int = 40,
    progress: Progress | None = None,
) -> TableStatistics:
    """Look at every value of every column of the target and the source.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        As :func:`~bagshift.scale.connection.connect` gives it.
    target : Rows
        Rows to classify.
    source : Rows, optional
        Labelled history; only columns of both tables can be used.
    reserved : mapping of str to str, optional
        Columns that play another part, and which ("bag id").
    only : collection of str, default=()
        Use exactly these columns and judge none of them.
    most_levels : int, default=40
        How many levels of a column of text are listed.
    progress : callable, optional
        Called with the number of rows read and of all.

    Returns
    -------
    TableStatistics

    Raises
    ------
    TableError
        When there are no rows, no column is left, one asked for is missing, or the tables
        disagree about what a column holds.
    """
    tables = [table for table in (target, source) if table is not None]
    types = [column_types(connection, table) for table in tables]
    ignored = _reasons_by_name(tables, types, reserved or {}, only)
    names = [name for name in dict.fromkeys([*types[0], *types[-1]]) if name not in ignored]
    seen = _look_at_all(connection, tables, types, names, progress)
    kinds = {}
    for name in names:
        parts = [part[name] for _, part in seen]
        reason = None if name in only else _reason_in(parts)
        if reason:
            ignored[name] = reason
        else:
            kinds[name] = _agreed_kind(name, parts, tables)
    texts = [name for name, kind in kinds.items() if kind == "text"]
    levels = count_levels(connection, tables, types, texts, most_levels)
    constant = [name for name in texts if levels[name].n_distinct < 2 and name not in only]
    ignored.update(dict.fromkeys(constant, "the same in every row"))
    n_rows = [n for n, _ in seen]
    columns = {
        name: _joined(kind, [part[name] for _, part in seen], sum(n_rows), levels.get(name))
        for name, kind in kinds.items()
        if name not in ignored
    }
    if not columns:
        raise TableError(_nothing_left(tables, ignored))
    return TableStatistics(
        columns, _in_order(ignored, types), tuple(t.name for t in tables), tuple(n_rows)
    )


def _reasons_by_name(
    tables: list[Rows],
    types: list[dict[str, str]],
    reserved: Mapping[str, str],
    only: Collection[str],
) -> dict[str, str]:
    """Return the columns that need not be looked at, and why."""
    for table, own_types in zip(tables, types, strict=True):
        require_columns(own_types, list(only), table)
    ignored = {}
    for name in dict.fromkeys([*types[0], *types[-1]]):
        absent = [t.name for t, own in zip(tables, types, strict=True) if name not in own]
        strange = [own[name] for own in types if name in own and storage_of(own[name]) is None]
        if name in reserved:
            ignored[name] = reserved[name]
        elif only and name not in only:
            ignored[name] = "not asked for"
        elif not name.strip():
            ignored[name] = "has no name"
        elif absent:
            ignored[name] = f"not in {absent[0]}"
        elif strange:
            ignored[name] = f"holds values of type {strange[0][:40]}, which cannot be a feature"
    clash = [name for name in only if name in ignored]
    if clash:
        raise TableError(f"Column {clash[0]!r} cannot be learned from: {ignored[clash[0]]}.")
    return ignored


def _look_at_all(
    connection: Any,
    tables: list[Rows],
    types: list[dict[str, str]],
    names: list[str],
    progress: Progress | None,
) -> list[tuple[int, dict[str, Seen]]]:
    totals = [count_rows(connection, table) for table in tables] if progress else []
    found = []
    for place, (table, own) in enumerate(zip(tables, types, strict=True)):
        wanted = {name: own[name] for name in names}

        def waiting(share: float, place: int = place) -> None:
            if progress:
                progress(int(sum(totals[:place]) + share * totals[place]), sum(totals))

        found.append(look_at(connection, table, wanted, waiting if progress else None))
        if found[-1][0] == 0:
            raise TableError(f"{table.name} has no rows; it needs at least one.")
        waiting(1.0)
    return found


def _reason_in(parts: list[Seen]) -> str | None:
    numbers = Numbers()
    for part in parts:
        numbers = numbers.joined(part.numbers)
    if not any(part.n_present for part in parts):
        return "empty"
    is_infinite = any(part.n_infinite for part in parts)
    if numbers.n and numbers.minimum == numbers.maximum and not is_infinite:
        return "the same in every row"
    if all(part.differs_by_row for part in parts):
        is_text = any(part.kind == "text" for part in parts)
        return f"a different value in {'nearly ' if is_text else ''}every row, like an id"
    return None


def _agreed_kind(name: str, parts: list[Seen], tables: list[Rows]) -> Kind:
    told = {part.kind for part in parts if part.kind is not None}
    if len(told) > 1:
        held = " but ".join(
            f"{'text' if part.kind == 'text' else f'{part.kind}s'} in {table.name}"
            for part, table in zip(parts, tables, strict=True)
        )
        raise TableError(
            f"Column {name!r} holds {held}; make them the same, or leave the column out."
        )
    return next(iter(told), None) or "text"


def _joined(kind: Kind, parts: list[Seen], n_rows: int, levels: Levels | None) -> ColumnStatistics:
    n_present = sum(part.n_present for part in parts)
    if kind == "text":
        listed = levels or Levels()
        return ColumnStatistics(
            kind,
            n_rows,
            n_rows - n_present,
            levels=listed.most_frequent,
            n_levels=listed.n_distinct,
        )
    numbers = Numbers()
    for part in parts:
        numbers = numbers.joined(part.numbers)
    return ColumnStatistics(
        kind,
        n_rows,
        n_rows - n_present,
        sum(part.n_nan for part in parts),
        sum(part.n_infinite for part in parts),
        numbers.mean,
        (numbers.square_sum / max(numbers.n, 1)) ** 0.5,
        numbers.minimum,
        numbers.maximum,
    )


def _in_order(ignored: dict[str, str], types: list[dict[str, str]]) -> dict[str, str]:
    names = dict.fromkeys([*types[0], *types[-1]])
    return {name: ignored[name] for name in names if name in ignored}


def _nothing_left(tables: list[Rows], ignored: Mapping[str, str]) -> str:
    reasons = name_some([f"{name}: {reason}" for name, reason in ignored.items()])
    names = " and ".join(table.name for table in tables)
    return f"No column of {names} is left to learn from ({reasons})."
