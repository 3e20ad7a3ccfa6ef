# SPDX-License-Identifier: BSD-3-Clause
"""The bag table: ids, shares, sizes and weights of the bags that have rows."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bag_input.checks import (
    check_counts,
    check_matched,
    check_shares,
    check_sizes,
    check_weights,
    order_classes,
)
from bagshift._bag_input.columns import BagColumn, FloatArray, read_column
from bagshift._bag_input.ids import IntArray, RowIds, is_blank, read_row_ids
from bagshift.exceptions import BagError


@dataclass(frozen=True)
class Dropped:
    """What ``on_unmatched="drop"`` left out.

    Attributes
    ----------
    bags_without_rows : tuple
        Ids that have a share but no row.
    bags_without_share : tuple
        Ids of rows that have no share; these rows became rows in no bag.
    n_rows_without_share : int
        Number of those rows.
    n_rows_without_id : int
        Rows whose id was blank; they became rows in no bag too.
    """

    bags_without_rows: tuple[Hashable, ...] = ()
    bags_without_share: tuple[Hashable, ...] = ()
    n_rows_without_share: int = 0
    n_rows_without_id: int = 0


@dataclass(frozen=True)
class BagTable:
    """Bags that have rows, in order of first appearance, and each row's place among them."""

    bag_index: IntArray
    ids: NDArray[np.object_]
    shares: FloatArray
    sizes: FloatArray
    weights: FloatArray
    dropped: Dropped


def read_bag_table(
    bag_ids: Any,
    shares: Any,
    *,
    counts: Any,
    sizes: Any,
    weights: Any,
    positive: Any,
    negative: Any,
    on_unmatched: str,
    no_bag: Hashable,
) -> BagTable:
    """Read and check everything that `Bags.from_arrays` takes."""
    if on_unmatched not in ("raise", "drop"):
        raise BagError(f'on_unmatched must be "raise" or "drop", not {on_unmatched!r}.')
    if (shares is None) == (counts is None):
        given = "neither" if shares is None else "both"
        raise BagError(f"pass either shares or counts, exactly one of the two; got {given}.")
    drop = on_unmatched == "drop"
    rows = read_row_ids(bag_ids, no_bag=no_bag, allow_blank=drop)
    name = "shares" if counts is None else "counts"
    main = read_column(shares if counts is None else counts, name, rows)
    main = order_classes(main, name, positive, negative)
    entry_of, dropped = _match(main, name, rows, drop)
    kept = np.flatnonzero(entry_of >= 0)
    ids = [rows.ids[place] for place in kept]
    numbers = main.values[entry_of[kept]]
    bag_index = _renumber(rows, kept)
    n_rows = np.bincount(bag_index[bag_index >= 0], minlength=len(kept))
    known = rows.positions.keys() | set(main.keys())
    companions = {
        key: None if values is None else _cover(values, key, rows, kept, known, drop)
        for key, values in (("sizes", sizes), ("weights", weights))
    }
    declared = check_sizes(companions["sizes"], n_rows, ids)
    if counts is None:
        bag_shares, bag_sizes = check_shares(numbers, ids), declared
    else:
        bag_shares, bag_sizes = check_counts(numbers, declared, sizes is not None, ids)
    return BagTable(
        bag_index=bag_index,
        ids=np.fromiter(ids, dtype=object, count=len(ids)),
        shares=bag_shares,
        sizes=bag_sizes,
        weights=check_weights(companions["weights"], ids),
        dropped=dropped,
    )


def _match(column: BagColumn, name: str, rows: RowIds, drop: bool) -> tuple[IntArray, Dropped]:
    """For every id of the rows, the place of its entry in the column; -1 for none."""
    place = np.array([rows.positions.get(key, -1) for key in column.keys()], dtype=np.int64)
    usable = place >= 0
    if drop:  # a blank number is then no number
        missing = np.isnan(column.values)
        usable &= ~(missing if missing.ndim == 1 else missing.any(axis=1))
    entry_of = np.full(len(rows.ids), -1, dtype=np.int64)
    entry_of[place[usable]] = np.flatnonzero(usable)
    without_rows = [bag for bag, at in zip(column.ids, place, strict=True) if at < 0]
    without_entry = [rows.ids[at] for at in np.flatnonzero(entry_of < 0)]
    if not drop:
        check_matched(column, name, rows, without_rows, without_entry)
    elif column.ids and not usable.any():
        raise BagError(
            f"no bag id of {name} occurs in bag_ids, so nothing is left: ids match by equality."
        )
    in_some_bag = rows.codes[rows.codes >= 0]
    return entry_of, Dropped(
        bags_without_rows=tuple(bag for bag in without_rows if not is_blank(bag)),
        bags_without_share=tuple(without_entry),
        n_rows_without_share=int((entry_of[in_some_bag] < 0).sum()),
        n_rows_without_id=rows.n_blank,
    )


def _renumber(rows: RowIds, kept: IntArray) -> IntArray:
    """Each row's place among the kept bags; -1 for rows in none of them."""
    new_code = np.full(len(rows.ids) + 1, -1, dtype=np.int64)  # the last one serves code -1
    new_code[kept] = np.arange(len(kept))
    return new_code[rows.codes]


def _cover(
    values: Any, name: str, rows: RowIds, kept: IntArray, known: set[Hashable], drop: bool
) -> FloatArray:
    """Sizes or weights of the bags in use; each needs one, and strangers are refused."""
    column = read_column(values, name, rows)
    if column.values.ndim != 1:
        raise BagError(f"{name} must hold one number per bag, not {column.values.shape[1]}.")
    keys = list(rows.positions)
    entry_of = {key: at for at, key in enumerate(column.keys())}
    absent = [rows.ids[at] for at in kept if keys[at] not in entry_of]
    strangers = [column.ids[at] for key, at in entry_of.items() if key not in known]
    check_matched(column, name, rows, [] if drop else strangers, absent)
    return column.values[[entry_of[keys[at]] for at in kept]]
