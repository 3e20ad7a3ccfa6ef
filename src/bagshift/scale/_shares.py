# SPDX-License-Identifier: BSD-3-Clause
"""The table of shares: read into the database and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.checks import check_counts, check_shares, check_sizes
from bagshift._bags.noise_column import repeat_law
from bagshift.exceptions import BagError, name_bags
from bagshift.scale._errors import explained
from bagshift.scale._expressions import value_of
from bagshift.scale._keys import Key
from bagshift.scale._relation import column_types, relation, require_columns

if TYPE_CHECKING:
    from bagshift.scale.bag_index import ShareTable

Floats = NDArray[np.float64]
MOST_TWICE = 100_000


@contextmanager
def share_columns(
    connection: Any, shares: ShareTable, key: Key, *, as_text: bool
) -> Iterator[None]:
    """Keep id, value and size of every bag in a table of the database, within the block.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    shares : ShareTable
    key : Key
        Its ids.
    as_text : bool
        Whether ids are kept as text though they are whole numbers.

    Raises
    ------
    BagError
        When an id occurs twice.
    TableError
        When a column is missing or holds no numbers.
    """
    rows = shares.rows
    types = column_types(connection, rows)
    numbers = [name for name in (shares.value, shares.size) if name]
    require_columns(types, numbers, rows)
    value, *size = [value_of(name, types[name], "number", rows.name) for name in numbers]
    with relation(connection, rows) as table, explained(rows):
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE bagshift_shares AS SELECT "
            f"{key.text() if as_text else key.expression} AS id, "
            f"{value} AS value, {size[0] if size else 'CAST(NULL AS DOUBLE)'} AS size "
            f"FROM {table}"
        )
    try:
        _check_distinct(connection, rows.name)
        yield
    finally:
        connection.execute("DROP TABLE IF EXISTS bagshift_shares")


def _check_distinct(connection: Any, table: str) -> None:
    statement = (
        "SELECT id FROM bagshift_shares WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 "
        f"ORDER BY id LIMIT {MOST_TWICE}"
    )
    twice = [bag for (bag,) in connection.sql(statement).fetchall()]
    if twice:
        raise BagError(
            f"{table} has more than one row for {name_bags(twice)}; keep one row for each bag."
        )


def checked_shares(
    values: Floats,
    sizes: Floats | None,
    n_rows: NDArray[np.int64],
    ids: Sequence[int | str],
    *,
    by_count: bool,
) -> tuple[Floats, Floats]:
    """Turn shares or counts into shares and sizes, or say which are impossible.

    Parameters
    ----------
    values : ndarray of shape (n_bags,)
        Shares or counts.
    sizes : ndarray of shape (n_bags,) or None
        Declared sizes.
    n_rows : ndarray of shape (n_bags,)
        Rows of each bag.
    ids : sequence of length n_bags
        For the messages.
    by_count : bool
        Whether values are counts.

    Returns
    -------
    shares, sizes : ndarray of shape (n_bags,)

    Raises
    ------
    BagError
        Naming the bags.
    """
    laws = repeat_law(None, len(ids))
    final_sizes = check_sizes(sizes, n_rows, ids)
    if by_count:
        return check_counts(values, final_sizes, sizes is not None, ids, laws)
    return check_shares(values, ids, laws, final_sizes), final_sizes
