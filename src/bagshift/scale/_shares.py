# SPDX-License-Identifier: BSD-3-Clause
"""The table of shares: read into the database and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.checks import check_counts, check_shares, check_sizes
from bagshift._bags.noise_column import Laws, repeat_law
from bagshift.exceptions import BagError, name_bags
from bagshift.scale._errors import explained
from bagshift.scale._expressions import value_of
from bagshift.scale._keys import Key
from bagshift.scale._relation import column_types, relation, require_columns

if TYPE_CHECKING:
    from bagshift.scale.bag_index import ShareTable

Floats = NDArray[np.float64]
MOST_TWICE = 100_000
NO_NUMBER = "CAST(NULL AS DOUBLE)"


@contextmanager
def share_columns(
    connection: Any, shares: ShareTable, key: Key, *, as_text: bool
) -> Iterator[None]:
    """Keep id, value, size and noise of every bag in a table of the database, within the block.

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
    wanted = {"value": shares.value, "size": shares.size, "noise": shares.noise_column}
    require_columns(types, [name for name in wanted.values() if name], rows)
    numbers = ", ".join(
        f"{value_of(name, types[name], 'number', rows.name) if name else NO_NUMBER} AS {what}"
        for what, name in wanted.items()
    )
    with relation(connection, rows) as table, explained(rows):
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE bagshift_shares AS SELECT "
            f"{key.text() if as_text else key.expression} AS id, "
            f"{numbers} FROM {table}"
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


def laws_of_bags(shares: ShareTable, numbers: Floats, ids: Sequence[int | str]) -> Laws | None:
    """Return the noise law of every bag, or None where all values are exact.

    Parameters
    ----------
    shares : ShareTable
    numbers : ndarray of shape (n_bags,)
        What its column of noise holds, if it has one.
    ids : sequence of length n_bags
        For the messages.

    Returns
    -------
    ndarray of shape (n_bags,) or None

    Raises
    ------
    BagError
        Naming the bags whose number makes no law.
    """
    if shares.noise_column is None or shares.law_of is None:
        return None if shares.noise is None else repeat_law(shares.noise, len(ids))
    distinct, codes = np.unique(numbers, return_inverse=True)
    laws = repeat_law(None, len(distinct))
    broken = np.zeros(len(distinct), dtype=bool)
    for place, number in enumerate(distinct.tolist()):
        try:
            laws[place] = shares.law_of(number)
        except (TypeError, ValueError, OverflowError):
            broken[place] = True
    places = np.flatnonzero(broken[codes])
    if len(places):
        first = numbers[places[0]]
        shown = "missing" if np.isnan(first) else f"{first:g}"
        raise BagError(
            f"Column {shares.noise_column!r} of {shares.rows.name} holds no number of a law of "
            f"noise for {name_bags([ids[place] for place in places.tolist()])} (such as {shown})."
        )
    return laws[codes]


def checked_shares(
    values: Floats,
    sizes: Floats | None,
    n_rows: NDArray[np.int64],
    ids: Sequence[int | str],
    *,
    by_count: bool,
    laws: Laws | None = None,
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
    laws : ndarray of shape (n_bags,) or None
        Laws of their noise.

    Returns
    -------
    shares, sizes : ndarray of shape (n_bags,)

    Raises
    ------
    BagError
        Naming the bags.
    """
    laws = repeat_law(None, len(ids)) if laws is None else laws
    final_sizes = check_sizes(sizes, n_rows, ids)
    if by_count:
        shares, final_sizes = check_counts(values, final_sizes, sizes is not None, ids, laws)
    else:
        shares = check_shares(values, ids, laws, final_sizes)
    return shares[:, 1], final_sizes
