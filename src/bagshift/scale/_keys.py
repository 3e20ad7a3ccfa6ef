# SPDX-License-Identifier: BSD-3-Clause
"""Bag ids as keys to group and sort by, and the long lists of them.

Ids are whole numbers where the column holds such, and text otherwise; tables meet by what the ids
look like in writing, so that 12 of a Parquet file meets 12 of a CSV file, and 007 stays 007.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import TableError
from bagshift.scale._errors import explained
from bagshift.scale._relation import relation
from bagshift.scale._sql import (
    is_whole_decimal,
    number_literal,
    quoted,
    storage_of,
    text_literal,
)
from bagshift.scale.rows import Rows

# Above this, doubles do not tell neighbouring whole numbers apart.
LARGEST_EXACT = 2.0**53


@dataclass(frozen=True)
class Key:
    """What rows are grouped by.

    Attributes
    ----------
    column : str
        The column of ids.
    expression : str
        A whole number or a text, NULL where the id is blank.
    is_whole : bool
        Which of the two.
    """

    column: str
    expression: str
    is_whole: bool

    def text(self, expression: str | None = None) -> str:
        """Write the key, or what a column of keys is called, as text."""
        expression = expression or self.expression
        return f"CAST({expression} AS VARCHAR)" if self.is_whole else expression

    def literal(self, bag: int | str) -> str:
        """Write an id as the expression gives it."""
        return str(bag) if self.is_whole else text_literal(str(bag))


@dataclass(frozen=True)
class BagIds:
    """Ids of bags in their order, without an object for each.

    Attributes
    ----------
    numbers : ndarray of int64 or None
        The ids, if they are whole numbers.
    text : ndarray of uint8
        Otherwise all ids one behind the other, in UTF-8,
    ends : ndarray of int64
        and where each of them ends.
    """

    numbers: NDArray[np.int64] | None
    text: NDArray[np.uint8]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends if self.numbers is None else self.numbers)

    def __getitem__(self, place: int) -> int | str:
        place = range(len(self))[place]
        if self.numbers is not None:
            return int(self.numbers[place])
        start = self.ends[place - 1] if place else 0
        return self.text[start : self.ends[place]].tobytes().decode()

    def __iter__(self) -> Iterator[int | str]:
        return (self[place] for place in range(len(self)))

    @property
    def n_bytes(self) -> int:
        """Size in memory."""
        kept = self.ends.nbytes + self.text.nbytes
        return kept if self.numbers is None else self.numbers.nbytes


@dataclass(frozen=True)
class SomeIds(Sequence[int | str]):
    """Some of the ids, looked up when they are asked for.

    Attributes
    ----------
    ids : BagIds
    places : ndarray of int64
        Which of them.
    """

    ids: BagIds
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: Any) -> Any:
        return self.ids[int(self.places[place])]


def ids_from_pieces(pieces: list[Any], is_whole: bool) -> BagIds:
    """Join columns of ids.

    Parameters
    ----------
    pieces : list of pyarrow.Array
    is_whole : bool
        Whether they are whole numbers.

    Returns
    -------
    BagIds
    """
    nothing = np.empty(0, dtype=np.int64)
    if is_whole:
        numbers = [piece.to_numpy(zero_copy_only=False).astype(np.int64) for piece in pieces]
        return BagIds(np.concatenate([nothing, *numbers]), nothing.astype(np.uint8), nothing)
    texts, lengths = [nothing.astype(np.uint8)], [nothing]
    for piece in pieces:
        encoded = [bag.encode() for bag in piece.to_pylist()]
        texts.append(np.frombuffer(b"".join(encoded), dtype=np.uint8))
        lengths.append(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))
    return BagIds(None, np.concatenate(texts), np.cumsum(np.concatenate(lengths)))


def key_of(connection: Any, rows: Rows, types: dict[str, str], column: str) -> Key:
    """Find out what to group by.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows
        The table.
    types : dict of str to str
        Types of its columns.
    column : str
        The column of ids.

    Returns
    -------
    Key

    Raises
    ------
    TableError
        When the values cannot be ids.
    """
    type_name, name = types[column], quoted(column)
    storage = storage_of(type_name)
    if storage is None:
        raise TableError(
            f"Column {column!r} of {rows.name} holds values of type {type_name[:40]} and cannot "
            "be an id; ids are numbers, text or dates."
        )
    if storage == "whole" or is_whole_decimal(type_name):
        expression = name if storage == "whole" else f"CAST({name} AS BIGINT)"
        return Key(column, expression, is_whole=True)
    if storage == "float":
        number = f"CASE WHEN abs({name}) < {number_literal(LARGEST_EXACT)} THEN {name} END"
        if _are_whole(connection, rows, name):
            return Key(column, f"CAST({number} AS BIGINT)", is_whole=True)
    return Key(column, id_text(name, type_name), is_whole=False)


def id_text(expression: str, type_name: str) -> str:
    """Write an id as text, NULL where it is blank.

    Parameters
    ----------
    expression : str
        The id.
    type_name : str
        Its type.

    Returns
    -------
    str
    """
    text = expression if type_name == "VARCHAR" else f"CAST({expression} AS VARCHAR)"
    if storage_of(type_name) == "float":
        is_whole = f"{expression} = floor({expression})"
        is_whole += f" AND abs({expression}) < {number_literal(LARGEST_EXACT)}"
        whole = f"CAST(CAST({expression} AS BIGINT) AS VARCHAR)"
        nan = "CAST('NaN' AS DOUBLE PRECISION)"
        return f"CASE WHEN {is_whole} THEN {whole} WHEN {expression} <> {nan} THEN {text} END"
    return f"CASE WHEN trim({text}) <> '' THEN {text} END"


def _are_whole(connection: Any, rows: Rows, name: str) -> bool:
    """Tell whether all ids are whole; missing ones make a column of floats out of whole ids."""
    large = number_literal(LARGEST_EXACT)
    is_odd = f"{name} <> floor({name}) OR (abs({name}) >= {large} AND NOT isnan({name}))"
    with relation(connection, rows) as table, explained(rows):
        statement = f"SELECT count(CASE WHEN {is_odd} THEN 1 END) FROM {table}"
        return not connection.sql(statement).fetchall()[0][0]
