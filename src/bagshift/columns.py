# SPDX-License-Identifier: BSD-3-Clause
"""Which columns of two tables become features, and as what kind.

A column is used as one of three kinds: ``number`` (booleans count as 0 and 1), ``date`` or
``text``. The kind is agreed over source and target, stored with the model, and every later table
is brought to it by column name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Literal

import polars as pl

from bagshift.exceptions import TableError, name_some

Kind = Literal["number", "date", "text"]
STORED_AS: dict[Kind, pl.DataType] = {
    "number": pl.Float64(),
    "date": pl.Datetime("us"),
    "text": pl.String(),
}
REMEDIES: dict[Kind, str] = {
    "number": "write plain numbers and leave unknown ones empty",
    "date": "write every date like 2024-01-31 and leave unknown ones empty",
    "text": "store the column as text",
}
MISSING_WORDS = ("", "?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing")
ROW_NAMES = {"id", "index", "row", "rowid", "row_id", "uuid", "guid"}
MOST_DISTINCT_BY_CHANCE = 20
WRITTEN_DATE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d"
# Features are encoded in single precision, where larger numbers become infinite.
LARGEST_NUMBER = 3e38


@dataclass(frozen=True)
class NamedTable:
    """A table and what to call it in messages.

    Attributes
    ----------
    frame : polars.DataFrame
        The table.
    name : str
        Usually the name of its file.
    """

    frame: pl.DataFrame
    name: str


@dataclass(frozen=True)
class ColumnChoice:
    """The outcome of :func:`choose_columns`.

    Attributes
    ----------
    kinds : dict
        Column to kind ("number", "date", "text"), in the order of the target table.
    ignored : dict
        Column to the reason why it is not used.
    """

    kinds: dict[str, Kind]
    ignored: dict[str, str] = field(default_factory=dict)


def is_plain(values: pl.Series) -> bool:
    """Tell values that can be written as text (numbers, text, dates, booleans) from others.

    Parameters
    ----------
    values : polars.Series
        Any column.

    Returns
    -------
    bool
    """
    return _kind_of(values) is not None


def choose_columns(
    target: NamedTable,
    source: NamedTable | None = None,
    *,
    reserved: Mapping[str, str] | None = None,
    only: Collection[str] = (),
) -> ColumnChoice:
    """Decide which columns are features.

    Parameters
    ----------
    target : NamedTable
        Rows to classify.
    source : NamedTable, optional
        Labelled history; only columns of both tables can be used.
    reserved : mapping of str to str, optional
        Columns that play another part, and which ("bag id").
    only : collection of str, default=()
        Use exactly these columns and judge none of them.

    Returns
    -------
    ColumnChoice

    Raises
    ------
    TableError
        When no column is left, a column asked for is missing, or two tables disagree about what
        a column holds.
    """
    tables = [_dates_read(table) for table in (target, source) if table is not None]
    if only:
        missing = [name for name in only if any(name not in t.frame.columns for t in tables)]
        if missing:
            raise TableError(
                f"Columns asked for are not in {' and '.join(t.name for t in tables)}: "
                f"{name_some(missing)}."
            )
    kinds: dict[str, Kind] = {}
    ignored: dict[str, str] = {}
    for name in _in_order(tables):
        reason = _reason_to_ignore(name, tables, reserved or {}, only)
        if reason:
            ignored[name] = reason
        else:
            kinds[name] = _agreed_kind(name, tables)
    if not kinds:
        raise TableError(_nothing_left(tables, ignored))
    return ColumnChoice(kinds, ignored)


def as_kinds(table: NamedTable, kinds: Mapping[str, Kind]) -> pl.DataFrame:
    """Select columns by name and bring each to its kind.

    Parameters
    ----------
    table : NamedTable
        Any table that has these columns, in any order.
    kinds : mapping of str to {"number", "date", "text"}
        Columns and kinds, in the order wanted.

    Returns
    -------
    polars.DataFrame
        Numbers are Float64 with missing values as null, dates Datetime, everything else String.

    Raises
    ------
    TableError
        When a column is missing, cannot be read as its kind, or holds infinite numbers.
    """
    require_kinds(table.frame.columns, kinds, table.name)
    return pl.DataFrame([_converted(table, name, kind) for name, kind in kinds.items()])


def require_kinds(names: Collection[str], kinds: Collection[str], table: str) -> None:
    """Raise unless a table has the columns of a model.

    Parameters
    ----------
    names : collection of str
        Columns of the table.
    kinds : collection of str
        Columns of the model.
    table : str
        What to call the table.

    Raises
    ------
    TableError
        Naming the missing columns.
    """
    missing = [name for name in kinds if name not in names]
    if missing:
        raise TableError(
            f"{table} lacks {_columns(missing)} that the model was fitted on; add "
            f"{'it' if len(missing) == 1 else 'them'}, empty where unknown."
        )


def _in_order(tables: list[NamedTable]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table.frame.columns))


def _reason_to_ignore(
    name: str, tables: list[NamedTable], reserved: Mapping[str, str], only: Collection[str]
) -> str | None:
    if name in reserved:
        return reserved[name]
    if only:
        return None if name in only else "not asked for"
    if not name.strip():
        return "has no name"
    absent = [table.name for table in tables if name not in table.frame.columns]
    if absent:
        return f"not in {absent[0]}"
    return _reason_in_values([table.frame[name] for table in tables])


def _reason_in_values(parts: list[pl.Series]) -> str | None:
    if any(_kind_of(part) is None for part in parts):
        return f"holds {_plainest_type(parts)}, which cannot be a feature"
    parts = [part.drop_nans() if part.dtype.is_float() else part for part in parts]
    seen = {value for part in parts for value in part.drop_nulls().unique().head(2)}
    if not seen:
        return "empty"
    if len(seen) == 1:
        return "the same in every row"
    if all(_looks_like_row_id(part) for part in parts):
        return "a different value in every row, like an id"
    return None


def _looks_like_row_id(values: pl.Series) -> bool:
    values = values.drop_nulls()
    if values.len() < MOST_DISTINCT_BY_CHANCE or values.n_unique() < values.len():
        return False
    if values.dtype.is_integer():
        name = values.name.strip().casefold()
        return name in ROW_NAMES or name.endswith(("_id", " id", "-id"))
    if values.dtype != pl.String or _is_written_number(values):
        return False
    return not values.str.contains(r"\s").any()


def _kind_of(values: pl.Series) -> Kind | None:
    kind = values.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return "number"
    if kind in (pl.Date, pl.Datetime):
        return "date"
    if kind in (pl.String, pl.Categorical, pl.Enum):
        return "number" if _is_written_number(values.cast(pl.String)) else "text"
    return None


def _is_written_number(text: pl.Series) -> bool:
    """Tell numbers from text; 007 is text, because numbers do not start with a zero."""
    text = _without_missing_words(text).drop_nulls()
    if text.is_empty() or text.str.contains(r"^[+-]?0\d").any():
        return False
    return text.cast(pl.Float64, strict=False).null_count() == 0


def _dates_read(table: NamedTable) -> NamedTable:
    frame = table.frame.with_columns(_dates_out_of_text(values) for values in table.frame)
    return NamedTable(frame, table.name)


def _dates_out_of_text(values: pl.Series) -> pl.Series:
    """Read a column of dates written as text as the CSV reader would; return others as given."""
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return values
    text = _without_missing_words(values.cast(pl.String))
    written = text.drop_nulls().unique()
    if written.is_empty() or not written.str.contains(WRITTEN_DATE).all():
        return values
    csv = BytesIO(written.alias("date").to_frame().write_csv().encode())
    dates = pl.read_csv(csv, infer_schema_length=None, try_parse_dates=True)["date"]
    if dates.dtype not in (pl.Date, pl.Datetime):
        return values
    return text.replace_strict(written, dates, return_dtype=dates.dtype)


def _without_missing_words(text: pl.Series) -> pl.Series:
    plain = text.str.strip_chars()
    is_missing = plain.str.to_lowercase().is_in(MISSING_WORDS)
    return plain.set(is_missing.fill_null(True), None)


def _nothing_but_missing_words(values: pl.Series) -> pl.Series:
    """Return a column without one value as such; what it would hold cannot be seen from it."""
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return values
    text = _without_missing_words(values.cast(pl.String))
    return text if text.null_count() == text.len() else values


def _agreed_kind(name: str, tables: list[NamedTable]) -> Kind:
    kinds = [_kind_of(table.frame[name]) for table in tables]
    if None in kinds:
        raise TableError(f"Column {name!r} {_reason_in_values([t.frame[name] for t in tables])}.")
    told = [
        kind
        for kind, table in zip(kinds, tables, strict=True)
        if table.frame[name].null_count() < table.frame.height
    ]
    if len(set(told)) > 1:
        held = " but ".join(
            f"{_plural(k)} in {t.name}" for k, t in zip(kinds, tables, strict=True)
        )
        raise TableError(
            f"Column {name!r} holds {held}; make them the same, or leave the column out."
        )
    return told[0] or "text"


def _converted(table: NamedTable, name: str, kind: Kind) -> pl.Series:
    values = _nothing_but_missing_words(table.frame[name])
    if values.null_count() == values.len():
        return pl.Series(name, [None] * values.len(), dtype=STORED_AS[kind])
    if kind == "date":
        values = _dates_out_of_text(values)
    found = _kind_of(values)
    if kind == "text" and (found in ("number", "text") or values.dtype == pl.Date):
        return _without_missing_words(values.cast(pl.String))
    if found != kind:
        raise TableError(
            f"Column {name!r} holds {_plural(found)} in {table.name} but held {_plural(kind)} "
            f"when the model was fitted; {REMEDIES[kind]}."
        )
    if kind == "date":
        return _as_datetime(values)
    if values.dtype in (pl.String, pl.Categorical, pl.Enum):
        values = _without_missing_words(values.cast(pl.String))
    return _finite(values.cast(pl.Float64), table.name)


def _as_datetime(values: pl.Series) -> pl.Series:
    if getattr(values.dtype, "time_zone", None):
        values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return values.cast(STORED_AS["date"])


def _finite(numbers: pl.Series, table_name: str) -> pl.Series:
    numbers = numbers.fill_nan(None)
    n_infinite = int((numbers.abs() > LARGEST_NUMBER).sum())
    if n_infinite:
        raise TableError(
            f"Column {numbers.name!r} of {table_name} is infinite or too large in {n_infinite:,} "
            f"{'row' if n_infinite == 1 else 'rows'}; correct these or leave them empty."
        )
    return numbers


def _nothing_left(tables: list[NamedTable], ignored: Mapping[str, str]) -> str:
    if len(tables) == 2 and not set(tables[0].frame.columns) & set(tables[1].frame.columns):
        return f"{tables[0].name} and {tables[1].name} have no column in common."
    reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(ignored.items())[:5])
    names = " and ".join(table.name for table in tables)
    return f"No column of {names} is left to learn from ({reasons})."


def _plainest_type(parts: list[pl.Series]) -> str:
    strange = next(part for part in parts if _kind_of(part) is None)
    return f"{strange.dtype.base_type().__name__.lower()} values"


def _columns(names: list[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {name_some(names)}"


def _plural(kind: Kind | None) -> str:
    return f"{kind}s" if kind in ("number", "date") else "text"
