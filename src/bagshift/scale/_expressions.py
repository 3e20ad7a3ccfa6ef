# SPDX-License-Identifier: BSD-3-Clause
"""A column as number, date or text, as an expression of SQL.

Missing words ("?", "n/a" and the like), blank text and NaN are NULL. Text that is no number where
a number should be is an error of the database, never a silent NULL.

Lists of words are written as CASE and not as IN, which DuckDB makes a join of: that is slow, and
does not keep rows in their order.
"""

from __future__ import annotations

from bagshift.columns import MISSING_WORDS, REMEDIES, Kind
from bagshift.exceptions import TableError
from bagshift.scale._sql import quoted, storage_of, text_literal

# What trim() of DuckDB takes away: all separators of the kind of a space.
BLANKS = " \u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
NAN = "CAST('NaN' AS DOUBLE PRECISION)"


def value_of(name: str, type_name: str, kind: Kind, table: str, *, may_be_nan: bool = True) -> str:
    """Return a column in its kind: a double, or a text without blanks around it.

    Parameters
    ----------
    name : str
        The column.
    type_name : str
        Type in the table.
    kind : {"number", "date", "text"}
        What it is to be; dates become seconds since 1970.
    table : str
        What to call the table.
    may_be_nan : bool, default=True
        Whether NaN is looked for, which takes time.

    Returns
    -------
    str

    Raises
    ------
    TableError
        When a column of this type cannot be of that kind.
    """
    storage = storage_of(type_name)
    if kind == "text" and storage in ("text", "whole"):
        return _text_of(name, type_name)
    if kind == "date" and storage in ("text", "date"):
        moment = quoted(name)
        if storage == "text":
            moment = f"CAST({_text_of(name, type_name)} AS TIMESTAMP)"
        return f"CAST(extract(epoch FROM {moment}) AS DOUBLE PRECISION)"
    if kind == "number" and storage not in (None, "date"):
        return _number_of(name, type_name, may_be_nan)
    held = f"{storage}s" if storage == "date" else f"values of type {type_name[:40]}"
    raise TableError(
        f"Column {name!r} holds {held} in {table} but is to be {kind}; {REMEDIES[kind]}."
    )


def quick_text_of(name: str, type_name: str) -> str:
    """Return a column as text where blanks behind a number do not matter.

    Parameters
    ----------
    name : str
        A column that is stored as text.
    type_name : str
        Its type.

    Returns
    -------
    str
    """
    column = _as_text(name, type_name)
    return (
        f"CASE WHEN {_begins_with_digit(column)} THEN {column} "
        f"ELSE {_without_missing_words(column)} END"
    )


def indicator(condition: str) -> str:
    """Return 1 where a condition holds, and 0 elsewhere."""
    return f"CASE WHEN {condition} THEN 1e0 ELSE 0e0 END"


def is_other(text: str, levels: list[str]) -> str:
    """Return 1 where a text is there and none of the levels, and 0 elsewhere."""
    known = " ".join(f"WHEN {text_literal(level)} THEN 0e0" for level in levels)
    other = f"CASE {text} {known} ELSE 1e0 END" if levels else "1e0"
    return f"CASE WHEN {text} IS NULL THEN 0e0 ELSE {other} END"


def _number_of(name: str, type_name: str, may_be_nan: bool) -> str:
    storage, column = storage_of(type_name), quoted(name)
    if storage == "boolean":
        return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
    number = f"CAST({column} AS DOUBLE PRECISION)"
    if storage == "text":
        number = _written_number(_as_text(name, type_name))
    is_guarded = may_be_nan and storage in ("float", "text")
    return f"nullif({number}, {NAN})" if is_guarded else number


def _written_number(column: str) -> str:
    text = _without_missing_words(column)
    return (
        f"CASE WHEN {_begins_with_digit(column)} THEN CAST({column} AS DOUBLE PRECISION) "
        f"ELSE CASE lower({text}) WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0 "
        f"ELSE CAST({text} AS DOUBLE PRECISION) END END"
    )


def _begins_with_digit(text: str) -> str:
    """Tell texts that are no missing word at a glance, which takes a sixth of the time."""
    return f"{text} >= '0' AND {text} < ':' OR {text} >= '-0' AND {text} < '-:'"


def _text_of(name: str, type_name: str) -> str:
    return _without_missing_words(_as_text(name, type_name))


def _as_text(name: str, type_name: str) -> str:
    column = quoted(name)
    return column if type_name == "VARCHAR" else f"CAST({column} AS VARCHAR)"


def _without_missing_words(column: str) -> str:
    plain = f"trim({column})"
    words = " ".join(f"WHEN {text_literal(word)} THEN NULL" for word in MISSING_WORDS)
    return f"CASE lower({plain}) {words} ELSE {plain} END"
