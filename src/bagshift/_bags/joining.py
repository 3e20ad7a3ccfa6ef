# SPDX-License-Identifier: BSD-3-Clause
"""Bag tables put below one another, where one bag may be in several of them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import IntArray, canonical_id, number_distinct
from bagshift._bags.indexing import count_rows, first_places, look_up
from bagshift.exceptions import BagError, name_some


@dataclass(frozen=True)
class JoinedTable:
    """Where the bags of several tables have gone.

    Attributes
    ----------
    bag_index : ndarray of shape (n_rows,)
        Place of each row's bag in the joined table; -1 for none.
    entries : ndarray of shape (n_bags,)
        Which entry of the stacked tables each bag of the joined table is.
    """

    bag_index: IntArray
    entries: IntArray


def join_tables(
    bag_indices: Sequence[IntArray],
    ids: Sequence[NDArray[np.object_]],
    properties: Sequence[NDArray[Any]],
    rows_built: IntArray,
    origins: IntArray,
) -> JoinedTable:
    """Join bag tables by id.

    Parameters
    ----------
    bag_indices : sequence of ndarray
        Place of each row's bag in its part's table.
    ids : sequence of ndarray
        Ids of each part's table.
    properties : sequence of ndarray of shape (n_entries,) or (n_entries, n_columns)
        What must agree between entries of one id, over the stacked tables.
    rows_built : ndarray of shape (n_entries,)
        How many rows each entry's bag was built with.
    origins : ndarray of shape (n_entries,)
        Mark of the object each entry's bag was built in.

    Returns
    -------
    JoinedTable

    Raises
    ------
    BagError
        If an id stands for different bags: they were built separately, properties differ, or
        more rows come together than the bag was built with.
    """
    all_ids: list[Hashable] = [bag for part in ids for bag in part]
    bag_of_entry, distinct = number_distinct(list(map(canonical_id, all_ids)), "ids")
    entries = first_places(bag_of_entry, len(distinct))
    parts = np.split(bag_of_entry, np.cumsum([len(part) for part in ids])[:-1])
    bag_index = np.concatenate(list(map(look_up, parts, bag_indices)))
    clash = np.zeros(len(entries), dtype=bool)
    for values in (*properties, rows_built, origins):
        differs = values != values[entries][bag_of_entry]
        clash[bag_of_entry[differs if differs.ndim == 1 else differs.any(axis=1)]] = True
    in_many_parts = np.bincount(bag_of_entry, minlength=len(entries)) > 1
    clash |= in_many_parts & (count_rows(bag_index, len(entries)) > rows_built[entries])
    if clash.any():
        raise BagError(
            f"bag ids {name_some(all_ids[entry] for entry in entries[clash])} stand for different "
            "bags in two parts (built separately, or of other shares, sizes, weights, noise or "
            "rows): give the bags different ids, or build them from all rows at once."
        )
    return JoinedTable(bag_index, entries)
