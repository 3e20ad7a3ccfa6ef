# SPDX-License-Identifier: BSD-3-Clause
"""The bag table: ids, shares, sizes, weights and noise laws of the bags that have rows."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.checks import (
    bad_bags,
    check_counts,
    check_matched,
    check_shares,
    check_sizes,
    check_weights,
    near_miss_advice,
)
from bagshift._bags.class_columns import (
    DeclaredClasses,
    add_rest,
    arrange_classes,
)
from bagshift._bags.columns import BagColumn, read_column
from bagshift._bags.ids import IntArray, RowIds, is_blank, read_row_ids
from bagshift._bags.noise_column import Laws, read_noise_column, repeat_law
from bagshift._bags.numbers import FloatArray
from bagshift.exceptions import BagError, name_some
from bagshift.noise import NoiseLaw


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
    n_blank_entries : int
        Entries of the shares or counts whose id was blank.
    """

    bags_without_rows: tuple[Hashable, ...] = ()
    bags_without_share: tuple[Hashable, ...] = ()
    n_rows_without_share: int = 0
    n_rows_without_id: int = 0
    n_blank_entries: int = 0


@dataclass(frozen=True)
class BagTable:
    """Bags that have rows, in order of first appearance, and each row's place among them.

    Attributes
    ----------
    bag_index : ndarray of shape (n_rows,)
    ids, sizes, weights, noise : ndarray of shape (n_bags,)
    shares : ndarray of shape (n_bags, n_classes)
    classes : tuple or None
        Labels of more than two classes.
    positive, negative : label or None
        Labels of two.
    dropped : Dropped
    """

    bag_index: IntArray
    ids: NDArray[np.object_]
    shares: FloatArray
    sizes: FloatArray
    weights: FloatArray
    noise: Laws
    classes: tuple[Any, ...] | None
    positive: Any
    negative: Any
    dropped: Dropped


def read_bag_table(
    bag_ids: Any,
    shares: Any,
    *,
    counts: Any,
    sizes: Any,
    weights: Any,
    noise: Any,
    declared: DeclaredClasses,
    on_unmatched: str,
    no_bag: Hashable,
) -> BagTable:
    """Read and check what `Bags.from_arrays` takes; the parameters are documented there."""
    if on_unmatched not in ("raise", "drop"):
        raise BagError(f'on_unmatched must be "raise" or "drop", not {on_unmatched!r}.')
    if (shares is None) == (counts is None):
        given = "neither" if shares is None else "both"
        raise BagError(f"pass exactly one of shares and counts; got {given}.")
    drop = on_unmatched == "drop"
    name = "shares" if counts is None else "counts"
    rows = read_row_ids(bag_ids, no_bag=no_bag, allow_blank=drop)
    given = shares if counts is None else counts
    arranged = arrange_classes(read_column(given, name, rows, declared.labels), name, declared)
    column = arranged.column
    entry_of_bag, dropped = _match(column, name, rows, drop)
    used = np.flatnonzero(entry_of_bag >= 0)
    ids = [rows.ids[place] for place in used]
    numbers = column.values[entry_of_bag[used]]
    bag_index = _renumber(rows, used)
    n_rows = np.bincount(bag_index[bag_index >= 0], minlength=len(ids))
    known = rows.places.keys() | column.entry_of.keys()

    def companion(values: Any, name: str) -> FloatArray | None:
        return None if values is None else _cover(values, name, rows, used, known, drop)

    final_sizes = check_sizes(companion(sizes, "sizes"), n_rows, ids)
    laws = _cover_noise(noise, rows, used, known, drop)
    if arranged.classes is not None:
        _check_no_laws(laws, len(arranged.classes))
    if arranged.has_rest:
        numbers = add_rest(numbers, 1.0 if counts is None else final_sizes)
    if counts is None:
        final_shares = check_shares(numbers, ids, laws, final_sizes, has_rest=arranged.has_rest)
    else:
        final_shares, final_sizes = check_counts(
            numbers, final_sizes, sizes is not None, ids, laws
        )
    return BagTable(
        bag_index=bag_index,
        ids=np.fromiter(ids, dtype=object, count=len(ids)),
        shares=final_shares,
        sizes=final_sizes,
        weights=check_weights(companion(weights, "weights"), ids),
        noise=laws,
        classes=arranged.classes,
        positive=arranged.positive,
        negative=arranged.negative,
        dropped=dropped,
    )


def _check_no_laws(laws: Laws, n_classes: int) -> None:
    if any(law is not None for law in laws):
        raise BagError(
            f"noise= is for two classes, but there are {n_classes}: leave it out, or take one "
            "class against the others."
        )


def _match(column: BagColumn, name: str, rows: RowIds, drop: bool) -> tuple[IntArray, Dropped]:
    """Find the entry of every id of the rows, -1 for none."""
    missing = bad_bags(np.isnan(column.values))
    entries = [column.entry_of.get(key, -1) for key in rows.places]
    entry_of_bag = np.array(entries, dtype=np.int64)
    if drop and len(missing):  # a missing number is then as good as no entry
        entry_of_bag[missing[entry_of_bag]] = -1
    without_rows = [
        column.ids[place] for key, place in column.entry_of.items() if key not in rows.places
    ]
    without_entry = [rows.ids[place] for place in np.flatnonzero(entry_of_bag < 0)]
    if not drop:
        check_matched(column, name, rows, without_rows, without_entry)
    elif column.ids and not (entry_of_bag >= 0).any():
        advice = near_miss_advice(column, rows) or (
            f"ids match by equality, so compare {name_some(column.ids, 2)} with "
            f"{name_some(rows.ids, 2) or 'no id at all'}"
        )
        raise BagError(
            f"no bag of {name} is left: none of its ids occurs in bag_ids with a number; {advice}."
        )
    codes = rows.codes[rows.codes >= 0]
    n_blank = sum(map(is_blank, column.ids))
    return entry_of_bag, Dropped(
        bags_without_rows=tuple(bag for bag in without_rows if not is_blank(bag)),
        bags_without_share=tuple(without_entry),
        n_rows_without_share=int((entry_of_bag[codes] < 0).sum()) if len(codes) else 0,
        n_rows_without_id=len(rows.blank_rows),
        n_blank_entries=n_blank,
    )


def _renumber(rows: RowIds, used: IntArray) -> IntArray:
    """Place of each row's bag among the used ones, -1 for none."""
    place = np.full(len(rows.ids) + 1, -1, dtype=np.int64)  # the last one serves code -1
    place[used] = np.arange(len(used))
    return place[rows.codes]


def _cover(
    values: Any, name: str, rows: RowIds, used: IntArray, known: set[Hashable], drop: bool
) -> FloatArray:
    """Sizes or weights of the used bags."""
    column = read_column(values, name, rows)
    if column.values.ndim != 1:
        raise BagError(f"{name} must hold one number per bag, not {column.values.shape[1]}.")
    return column.values[_entries_of_used(column, name, rows, used, known, drop)]


def _cover_noise(
    noise: Any, rows: RowIds, used: IntArray, known: set[Hashable], drop: bool
) -> Laws:
    """Noise laws of the used bags: one for all, or by bag id, where every bag has an entry."""
    if noise is None or isinstance(noise, NoiseLaw):
        return repeat_law(noise, len(used))
    column, laws = read_noise_column(noise)
    return laws[_entries_of_used(column, "noise", rows, used, known, drop)]


def _entries_of_used(
    column: BagColumn, name: str, rows: RowIds, used: IntArray, known: set[Hashable], drop: bool
) -> IntArray:
    """Entries of the used bags: each has one, and unknown bags are refused."""
    keys = list(rows.places)
    absent = [rows.ids[place] for place in used if keys[place] not in column.entry_of]
    unknown = [column.ids[at] for key, at in column.entry_of.items() if key not in known]
    check_matched(column, name, rows, [] if drop else unknown, absent)
    return np.array([column.entry_of[keys[place]] for place in used], dtype=np.int64)
