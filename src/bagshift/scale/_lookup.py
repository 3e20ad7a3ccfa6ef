# SPDX-License-Identifier: BSD-3-Clause
"""Find the place of a bag by its id, for millions of rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import TableError
from bagshift.scale._relation import relation
from bagshift.scale._streaming import stream
from bagshift.scale.bag_index import BagIndex
from bagshift.scale.rows import Rows


@dataclass(frozen=True)
class BagLookup:
    """Bags by what stands for their id.

    Attributes
    ----------
    expression : str
        The id where it is a number, else its hash.
    keys : ndarray of shape (n_all_bags,)
        Its values, sorted.
    codes : ndarray of shape (n_all_bags,)
        Place of each among the used bags; -1 for one that is not used.
    """

    expression: str
    keys: NDArray[Any]
    codes: NDArray[np.int64]

    def find(self, column: Any) -> NDArray[np.int64]:
        """Return the place of the bag of every row.

        Parameters
        ----------
        column : pyarrow.Array
            Values of the expression; null for a row without id.

        Returns
        -------
        ndarray of shape (n_rows,)
            -1 for rows in no used bag.
        """
        known = ~column.is_null().to_numpy(zero_copy_only=False)
        codes = np.full(len(column), -1, dtype=np.int64)
        wanted = column.drop_null().to_numpy().astype(self.keys.dtype)
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        codes[known] = np.where(self.keys[places] == wanted, self.codes[places], -1)
        return codes


def bag_lookup(connection: Any, rows: Rows, bags: BagIndex) -> BagLookup:
    """Make the lookup for the bags of a table.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows
        The table that the bags were counted in.
    bags : BagIndex

    Returns
    -------
    BagLookup
    """
    codes = np.where(bags.used, np.cumsum(bags.used) - 1, -1)
    if bags.all_ids.numbers is not None:
        return BagLookup(bags.key.expression, bags.all_ids.numbers, codes)
    key = bags.key.expression
    with relation(connection, rows) as table:
        statement = (
            f"SELECT hash(bag) FROM (SELECT DISTINCT {key} AS bag FROM {table}) "
            "WHERE bag IS NOT NULL ORDER BY bag"
        )
        pieces = [piece.column(0).to_numpy() for piece in stream(connection, statement, rows)]
    hashes = np.concatenate(pieces)
    if len(hashes) != len(codes):
        raise TableError(f"{rows.name} changed since its bags were counted; count them again.")
    order = np.argsort(hashes)
    if (np.diff(hashes[order]) == 0).any():  # less likely than a broken disk
        raise TableError(
            f"Two bag ids of {rows.name} cannot be told apart; use order_by_bag=True."
        )
    return BagLookup(
        f"CASE WHEN {key} IS NOT NULL THEN hash({key}) END", hashes[order], codes[order]
    )
