# SPDX-License-Identifier: BSD-3-Clause
"""The labels of history that may not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bagshift.exceptions import TableError, name_some
from bagshift.scale._errors import explained
from bagshift.scale._expressions import value_of
from bagshift.scale._keys import id_text
from bagshift.scale._relation import column_types, relation, require_columns
from bagshift.scale._sql import quoted, storage_of, text_literal
from bagshift.scale.rows import Rows

MOST_LISTED = 1000


@dataclass(frozen=True)
class LabelColumn:
    """A column of two labels; rows without a label are left out.

    Attributes
    ----------
    column : str
        Its name.
    negative, positive : str, int, float or bool
        The two labels. They meet those of the column as they are written: 1 is 1.0, and True is
        true in small or large letters.
    """

    column: str
    negative: Any
    positive: Any


def label_counts(connection: Any, rows: Rows, column: str) -> dict[str, int]:
    """Count how often every label occurs.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows
        Labelled history.
    column : str
        Its column of labels.

    Returns
    -------
    dict of str to int
        Labels as they are written, the most frequent first, at most a thousand of them.

    Raises
    ------
    TableError
        When there is no such column, or it cannot hold labels.
    """
    text = label_text(rows, column_types(connection, rows), column)
    with relation(connection, rows) as table, explained(rows):
        found = connection.sql(
            f"SELECT {text} AS label, count(*) AS n FROM {table} WHERE {text} IS NOT NULL "
            f"GROUP BY 1 ORDER BY n DESC, label LIMIT {MOST_LISTED}"
        ).fetchall()
    return dict(found)


def label_text(rows: Rows, types: dict[str, str], column: str) -> str:
    """Return an expression for a label as text, NULL where there is none.

    Parameters
    ----------
    rows : Rows
    types : dict of str to str
        Types of their columns.
    column : str

    Returns
    -------
    str

    Raises
    ------
    TableError
        When there is no such column, or it cannot hold labels.
    """
    require_columns(types, [column], rows)
    type_name = types[column]
    storage = storage_of(type_name)
    if storage is None:
        raise TableError(
            f"Column {column!r} of {rows.name} holds values of type {type_name[:40]}, which "
            "cannot be labels."
        )
    if storage == "text":
        return value_of(column, type_name, "text", rows.name)
    return id_text(quoted(column), type_name)


def label_code(rows: Rows, types: dict[str, str], labels: LabelColumn) -> str:
    """Return an expression that is 1, 0, or -1 for what is neither of the two labels.

    Parameters
    ----------
    rows : Rows
    types : dict of str to str
        Types of their columns.
    labels : LabelColumn

    Returns
    -------
    str
    """
    text = label_text(rows, types, labels.column)
    cases = " ".join(
        f"WHEN {_like(text, label)} THEN {code}"
        for label, code in ((labels.positive, 1), (labels.negative, 0))
    )
    return f"CASE {cases} ELSE -1 END"


def raise_other_label(connection: Any, rows: Rows, labels: LabelColumn) -> None:
    """Raise because the column holds a third label.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows
    labels : LabelColumn

    Raises
    ------
    TableError
        Naming labels that are neither of the two.
    """
    two = [_written(labels.negative), _written(labels.positive)]
    others = [label for label in label_counts(connection, rows, labels.column) if label not in two]
    raise TableError(
        f"Column {labels.column!r} of {rows.name} holds labels other than {labels.negative!r} "
        f"and {labels.positive!r}: {name_some(others)}; leave these rows out, or empty the label."
    )


def _written(label: Any) -> str:
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _like(text: str, label: Any) -> str:
    if isinstance(label, bool):
        text = f"lower({text})"
    return f"{text} = {text_literal(_written(label))}"
