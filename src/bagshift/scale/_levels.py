# SPDX-License-Identifier: BSD-3-Clause
"""How often the levels of columns of text occur, in one pass over all of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from bagshift.scale._expressions import value_of
from bagshift.scale._relation import relation
from bagshift.scale._streaming import stream
from bagshift.scale.rows import Rows

# DuckDB numbers the groupings of a statement by the bits of one number.
MOST_COLUMNS = 30


@dataclass(frozen=True)
class Levels:
    """Levels of a column.

    Attributes
    ----------
    most_frequent : tuple of (str, int)
        The most frequent ones with their number of rows; of equals the first in the alphabet.
    n_distinct : int
        How many there are.
    """

    most_frequent: tuple[tuple[str, int], ...] = ()
    n_distinct: int = 0


def count_levels(
    connection: Any,
    tables: list[Rows],
    types: list[dict[str, str]],
    names: list[str],
    most_levels: int,
) -> dict[str, Levels]:
    """Count the levels of columns over all tables together.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    tables : list of Rows
    types : list of dict
        Types of the columns of each table.
    names : list of str
        Columns of text.
    most_levels : int
        How many levels of a column to list.

    Returns
    -------
    dict of str to Levels
    """
    found: dict[str, Levels] = {}
    for start in range(0, len(names), MOST_COLUMNS):
        some = names[start : start + MOST_COLUMNS]
        found.update(_count_some(connection, tables, types, some, most_levels))
    return found


def _count_some(
    connection: Any,
    tables: list[Rows],
    types: list[dict[str, str]],
    names: list[str],
    most_levels: int,
) -> dict[str, Levels]:
    with ExitStack() as stack:
        readers = [stack.enter_context(relation(connection, table)) for table in tables]
        texts = [
            ", ".join(
                f"{value_of(name, own[name], 'text', table.name)} AS c{place}"
                for place, name in enumerate(names)
            )
            for table, own in zip(tables, types, strict=True)
        ]
        selects = [f"SELECT {t} FROM {r}" for t, r in zip(texts, readers, strict=True)]
        statement = _statement(" UNION ALL ".join(selects), len(names), most_levels)
        rows = [
            row
            for piece in stream(connection, statement, *tables, n_columns=4)
            for row in zip(*(column.to_pylist() for column in piece.columns), strict=True)
        ]
    by_place: dict[int, list[tuple[str, int]]] = {}
    distinct: dict[int, int] = {}
    for place, level, count, n_distinct in rows:
        by_place.setdefault(place, []).append((level, count))
        distinct[place] = n_distinct
    return {
        name: Levels(tuple(by_place.get(place, ())), distinct.get(place, 0))
        for place, name in enumerate(names)
    }


def _statement(texts: str, n_columns: int, most_levels: int) -> str:
    columns = [f"c{place}" for place in range(n_columns)]
    which = " ".join(f"WHEN grouping({column}) = 0 THEN {p}" for p, column in enumerate(columns))
    level = f"coalesce({', '.join(columns)})"
    return f"""
SELECT which, level, n, n_distinct FROM (
  SELECT *, count(*) OVER (PARTITION BY which) AS n_distinct,
    row_number() OVER (PARTITION BY which ORDER BY n DESC, level) AS place
  FROM (
    SELECT CASE {which} END AS which, {level} AS level, count(*) AS n
    FROM ({texts})
    GROUP BY GROUPING SETS ({", ".join(f"({column})" for column in columns)})
  )
  WHERE level IS NOT NULL
)
WHERE place <= {most_levels}
ORDER BY which, place
"""
