# SPDX-License-Identifier: BSD-3-Clause
"""The bags of rows that may not fit into memory, and the shares that belong to them.

One pass over the column of ids alone counts the rows of every bag, in order of the ids, and meets
them with the table of shares. So ids that do not match are known before the long passes begin,
these can be cut at bags, and every result has a row for each bag in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.noise_column import Laws
from bagshift.exceptions import BagError, TableError, name_some, plural
from bagshift.noise import NoiseLaw
from bagshift.scale._keys import BagIds, Key, SomeIds, ids_from_pieces, key_of
from bagshift.scale._relation import column_types, count_rows, relation, require_columns
from bagshift.scale._shares import checked_shares, laws_of_bags, share_columns
from bagshift.scale._streaming import Progress, stream
from bagshift.scale.rows import Rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Waiting = Callable[[float], None]
MOST_NAMED = 5


@dataclass(frozen=True)
class ShareTable:
    """A table with one row for each bag.

    Attributes
    ----------
    rows : Rows
        Where it is.
    bag : str
        Column of bag ids.
    value : str
        Column of shares or counts of positives.
    by_count : bool
        Whether the values are counts.
    size : str or None
        Column of bag sizes, where bags have more individuals than rows.
    noise : NoiseLaw or None
        How the values came from the true ones, the same for all bags.
    noise_column : str or None
        In place of `noise`, a column with a number of the law of each bag.
    law_of : callable or None
        Makes a law, or None for an exact value, of such a number; ValueError where there is none.
    """

    rows: Rows
    bag: str
    value: str
    by_count: bool = False
    size: str | None = None
    noise: NoiseLaw | None = None
    noise_column: str | None = None
    law_of: Callable[[float], NoiseLaw | None] | None = None


@dataclass(frozen=True)
class Unmatched:
    """What has no partner on the other side.

    Attributes
    ----------
    n_bags_without_share, n_bags_without_rows : int
        Bags of the rows that have no share, and bags of the shares that have no rows.
    without_share, without_rows : tuple
        The first five of either.
    n_rows_without_share : int
        Rows of the bags without a share.
    n_rows_without_id, n_shares_without_id : int
        Rows, and rows of the table of shares, whose id is blank.
    """

    n_bags_without_share: int = 0
    without_share: tuple[int | str, ...] = ()
    n_rows_without_share: int = 0
    n_bags_without_rows: int = 0
    without_rows: tuple[int | str, ...] = ()
    n_rows_without_id: int = 0
    n_shares_without_id: int = 0

    def sentences(self, target: str, shares: str) -> list[str]:
        """Say what does not match, one sentence for each kind.

        Parameters
        ----------
        target, shares : str
            What to call the two tables.

        Returns
        -------
        list of str
        """
        said = []
        if self.n_bags_without_share:
            bags = _named(self.without_share, self.n_bags_without_share)
            rows = plural(self.n_rows_without_share, "row")
            said.append(f"{bags} of {target} ({rows}) have no share in {shares}")
        if self.n_bags_without_rows:
            bags = _named(self.without_rows, self.n_bags_without_rows)
            said.append(f"{bags} of {shares} have no rows in {target}")
        for n_blank, table in (
            (self.n_rows_without_id, target),
            (self.n_shares_without_id, shares),
        ):
            if n_blank:
                said.append(f"the bag id is blank in {plural(n_blank, 'row')} of {table}")
        return said


@dataclass(frozen=True)
class BagIndex:
    """Bags in the order of their ids.

    Attributes
    ----------
    key : Key
        What rows are grouped by.
    all_ids : BagIds
        Ids of all bags that have rows; numbers in their order, text in the order of its bytes.
    all_n_rows : ndarray of shape (n_all_bags,)
        Rows of each.
    used : ndarray of bool, shape (n_all_bags,)
        Which of them have a share; all of them when there is no table of shares.
    shares, sizes : ndarray of shape (n_bags,) or None
        Share of positives and number of individuals of each used bag; a share that something was
        added to may lie outside of 0 to 1.
    noise : ndarray of NoiseLaw or None, shape (n_bags,), or None
        How the share of each used bag came from the true one; None where all are exact.
    unmatched : Unmatched
        What was left out.
    """

    key: Key
    all_ids: BagIds
    all_n_rows: Integers
    used: NDArray[np.bool_]
    shares: Floats | None = None
    sizes: Floats | None = None
    noise: Laws | None = None
    unmatched: Unmatched = field(default_factory=Unmatched)

    @property
    def n_bags(self) -> int:
        """Number of used bags."""
        return int(self.used.sum())

    @property
    def n_rows(self) -> Integers:
        """Rows of each used bag."""
        return self.all_n_rows if self.used.all() else self.all_n_rows[self.used]

    @property
    def mark(self) -> list[str | int]:
        """Column, number of bags and what stands for the used ones; for manifests."""
        used = blake2b(np.packbits(self.used).tobytes(), digest_size=16).hexdigest()
        return [self.key.column, len(self.all_ids), used]

    @property
    def ids(self) -> Sequence[int | str]:
        """Ids of the used bags."""
        return SomeIds(self.all_ids, np.flatnonzero(self.used))


def index_bags(
    connection: Any,
    rows: Rows,
    bag: str,
    shares: ShareTable | None = None,
    *,
    on_unmatched: Literal["raise", "drop"] = "raise",
    n_rows: int | None = None,
    progress: Progress | None = None,
) -> BagIndex:
    """Count the rows of every bag and find its share.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        As :func:`~bagshift.scale.connection.connect` gives it.
    rows : Rows
        The target.
    bag : str
        Its column of bag ids.
    shares : ShareTable, optional
        Shares or counts; without it all bags are used and none has a share.
    on_unmatched : {"raise", "drop"}, default="raise"
        What to do about bags without a share, shares without rows, and blank ids.
    n_rows : int, optional
        How many rows there are, if that is known; saves counting those of CSV files for
        `progress`.
    progress : callable, optional
        Called with the number of rows counted and of all.

    Returns
    -------
    BagIndex

    Raises
    ------
    BagError
        When ids do not match, are blank or occur twice, or a share is impossible.
    TableError
        When a column is missing or cannot be an id.
    """
    if on_unmatched not in ("raise", "drop"):
        raise BagError(f'on_unmatched must be "raise" or "drop", not {on_unmatched!r}.')
    key = _key(connection, rows, bag)
    waiting = _teller(connection, rows, n_rows, progress)
    if shares is None:
        return _without_shares(connection, key, rows, on_unmatched, waiting)
    share_key = _key(connection, shares.rows, shares.bag)
    as_text = not (key.is_whole and share_key.is_whole)
    with (
        _bag_table(connection, rows, key, as_text, waiting),
        share_columns(connection, shares, share_key, as_text=as_text),
    ):
        return _with_shares(connection, key, rows, shares, on_unmatched)


def _key(connection: Any, rows: Rows, bag: str) -> Key:
    types = column_types(connection, rows)
    require_columns(types, [bag], rows)
    return key_of(connection, rows, types, bag)


def _teller(
    connection: Any, rows: Rows, n_rows: int | None, progress: Progress | None
) -> Waiting | None:
    """Make a share of the work into a number of rows."""
    if progress is None:
        return None
    total = count_rows(connection, rows) if n_rows is None else n_rows
    return lambda share: progress(int(min(share, 1.0) * total), total)


def _counts(key: Key, table: str) -> str:
    return f"SELECT {key.expression} AS bag, count(*) AS n FROM {table} GROUP BY 1"


@contextmanager
def _bag_table(
    connection: Any, rows: Rows, key: Key, as_text: bool, waiting: Waiting | None
) -> Iterator[None]:
    """Keep id and number of rows of every bag in a table of the database, within the block."""
    with relation(connection, rows) as table:
        statement = (
            "CREATE OR REPLACE TEMP TABLE bagshift_bags AS "
            f"SELECT bag, {key.text('bag') if as_text else 'bag'} AS id, n "
            f"FROM ({_counts(key, table)})"
        )
        list(stream(connection, statement, rows, waiting=waiting))
    if waiting:
        waiting(1.0)
    try:
        yield
    finally:
        connection.execute("DROP TABLE IF EXISTS bagshift_bags")


def _without_shares(
    connection: Any, key: Key, rows: Rows, on_unmatched: str, waiting: Waiting | None
) -> BagIndex:
    with relation(connection, rows) as table:
        ids, (n_rows,), n_blank = _read(connection, key, rows, _counts(key, table), waiting)
    if waiting:
        waiting(1.0)
    unmatched = Unmatched(n_rows_without_id=n_blank)
    _check_any(ids, rows, key)
    if on_unmatched == "raise":
        _refuse(unmatched, rows.name, "the shares")
    used = np.ones(len(ids), dtype=bool)
    return BagIndex(key, ids, n_rows.astype(np.int64), used, unmatched=unmatched)


def _with_shares(
    connection: Any, key: Key, rows: Rows, shares: ShareTable, on_unmatched: str
) -> BagIndex:
    statement = (
        "SELECT bag, n, CASE WHEN share.id IS NULL THEN 0 ELSE 1 END, value, size, noise "
        "FROM bagshift_bags AS own LEFT JOIN bagshift_shares AS share ON own.id = share.id"
    )
    ids, columns, n_blank = _read(connection, key, rows, statement)
    n_rows, has_share, values, sizes, noise = columns
    unmatched = _compare(connection, n_blank)
    if on_unmatched == "raise":
        _refuse(unmatched, rows.name, shares.rows.name)
    _check_any(ids, rows, key)
    used = has_share.astype(bool)
    if not used.any():
        raise BagError(
            f"No bag of {rows.name} has a share in {shares.rows.name}: ids match as they are "
            f"written, so compare {name_some(unmatched.without_rows, 2)} of the shares with "
            f"{name_some(unmatched.without_share, 2)} of the rows."
        )
    n_rows = n_rows.astype(np.int64)
    used_ids = SomeIds(ids, np.flatnonzero(used))
    laws = laws_of_bags(shares, noise[used], used_ids)
    checked = checked_shares(
        values[used],
        sizes[used] if shares.size else None,
        n_rows[used],
        used_ids,
        by_count=shares.by_count,
        laws=laws,
    )
    return BagIndex(key, ids, n_rows, used, *checked, laws, unmatched)


def _compare(connection: Any, n_blank_rows: int) -> Unmatched:
    """Look on either side for what the other one lacks."""

    def ask(statement: str) -> list[Any]:
        found: list[Any] = connection.sql(statement).fetchall()
        return found

    alone = "FROM bagshift_bags AS own ANTI JOIN bagshift_shares AS share ON own.id = share.id"
    alone += " WHERE own.id IS NOT NULL"
    empty = "FROM bagshift_shares AS share ANTI JOIN bagshift_bags AS own ON own.id = share.id"
    empty += " WHERE share.id IS NOT NULL"
    (n_bags, n_rows), *_ = ask(f"SELECT count(*), coalesce(sum(n), 0) {alone}")
    (n_empty,), *_ = ask(f"SELECT count(*) {empty}")
    (n_blank,), *_ = ask("SELECT count(*) FROM bagshift_shares WHERE id IS NULL")
    some_alone = ask(f"SELECT bag {alone} ORDER BY bag LIMIT {MOST_NAMED}")
    some_empty = ask(f"SELECT id {empty} ORDER BY id LIMIT {MOST_NAMED}")
    return Unmatched(
        n_bags,
        tuple(bag for (bag,) in some_alone),
        int(n_rows),
        n_empty,
        tuple(bag for (bag,) in some_empty),
        n_blank_rows,
        n_blank,
    )


def _read(
    connection: Any, key: Key, rows: Rows, statement: str, waiting: Waiting | None = None
) -> tuple[BagIds, list[NDArray[Any]], int]:
    """Return ids, the other columns of a result in order of the ids, and the rows without id."""
    ordered = f"SELECT * FROM ({statement}) ORDER BY bag NULLS FIRST"
    pieces = list(stream(connection, ordered, rows, n_columns=6, waiting=waiting))
    n_blank = 0
    if pieces and pieces[0].column(0).null_count:
        n_blank = int(pieces[0].column(1)[0].as_py())
        pieces[0] = pieces[0].slice(1)
    ids = ids_from_pieces([piece.column(0) for piece in pieces], key.is_whole)
    columns = [
        np.concatenate(
            [np.empty(0), *(p.column(place).to_numpy(zero_copy_only=False) for p in pieces)]
        )
        for place in range(1, pieces[0].num_columns if pieces else 6)
    ]
    return ids, columns, n_blank


def _check_any(ids: BagIds, rows: Rows, key: Key) -> None:
    if not len(ids):
        raise TableError(f"Column {key.column!r} of {rows.name} holds no bag id.")


def _refuse(unmatched: Unmatched, target: str, shares: str) -> None:
    said = unmatched.sentences(target, shares)
    if said:
        sentence = "; ".join(said)
        raise BagError(
            f"{sentence[0].upper()}{sentence[1:]}: correct the ids, which match as they are "
            'written, or leave these out with on_unmatched="drop".'
        )


def _named(some: tuple[int | str, ...], n_all: int) -> str:
    more = n_all - len(some)
    rest = f" and {more:,} more" if more else ""
    return f"{'bag' if n_all == 1 else 'bags'} {name_some(some)}{rest}"
