# SPDX-License-Identifier: BSD-3-Clause
"""Rows that lie in the same bags of all releases, and what the releases say about them.

Nothing tells such rows apart, so that they are one *cell*: what is known of its rows is known of
the number of positives among them. A release says of each of its bags that the numbers of its
cells add up to a count, or to one in a range where shares are rounded or the rows are a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from bagshift._bags.indexing import look_up

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_MOST_ROUNDS = 1000


class ContradictionError(Exception):
    """No labels have the counts of all releases; holds the numbers of the bags concerned."""

    def __init__(self, bags: IntArray) -> None:
        super().__init__(bags)
        self.bags = bags


@dataclass(frozen=True)
class ReleasedCells:
    """Cells, bags, and which cell is in which bag.

    Attributes
    ----------
    cell_of_row : ndarray of shape (n_rows,)
        -1 for a row that no bag says anything about.
    sizes : ndarray of shape (n_cells,)
        Rows of each cell.
    bags : ndarray of shape (n_cells, n_releases)
        Bag of each cell in each release, numbered through all releases; -1 for none.
    lowest, highest : ndarray of shape (n_bags,)
        Between which numbers the positives of each bag lie.
    release_of_bag, place_of_bag : ndarray of shape (n_bags,)
        Release of each bag, and its place in that release's bag table.
    """

    cell_of_row: IntArray
    sizes: IntArray
    bags: IntArray
    lowest: IntArray
    highest: IntArray
    release_of_bag: IntArray
    place_of_bag: IntArray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.sizes)

    @property
    def n_bags(self) -> int:
        """Number of bags of all releases."""
        return len(self.lowest)

    @property
    def is_exact(self) -> BoolArray:
        """Whether the count of a bag is known, of shape (n_bags,)."""
        return np.asarray(self.lowest == self.highest)

    def pairs(self) -> tuple[IntArray, IntArray]:
        """List cells and bags that contain them, as two arrays of one length."""
        cells, releases = np.nonzero(self.bags >= 0)
        return cells, self.bags[cells, releases]

    def incidence(self) -> csr_array:
        """Return the matrix of shape (n_bags, n_cells) with 1 where a bag contains a cell."""
        cells, bags = self.pairs()
        return csr_array((np.ones(len(cells)), (bags, cells)), shape=(self.n_bags, self.n_cells))

    def components(self) -> tuple[int, IntArray, IntArray]:
        """Find the parts that no bag connects: how many, and that of each cell and bag."""
        cells, bags = self.pairs()
        n_nodes = self.n_cells + self.n_bags
        graph = csr_array(
            (np.ones(len(cells), dtype=np.int8), (cells, self.n_cells + bags)), (n_nodes, n_nodes)
        )
        n_parts, part = connected_components(graph, directed=False)
        return (
            n_parts,
            part[: self.n_cells].astype(np.int64),
            part[self.n_cells :].astype(np.int64),
        )

    def take(self, is_chosen: BoolArray, bag_is_chosen: BoolArray) -> ReleasedCells:
        """Keep some cells and some bags; a bag that is left out says nothing any more."""
        number = np.where(bag_is_chosen, np.cumsum(bag_is_chosen) - 1, -1)
        cell_number = np.where(is_chosen, np.cumsum(is_chosen) - 1, -1)
        return ReleasedCells(
            cell_of_row=look_up(cell_number, self.cell_of_row),
            sizes=self.sizes[is_chosen],
            bags=look_up(number, self.bags[is_chosen]),
            lowest=self.lowest[bag_is_chosen],
            highest=self.highest[bag_is_chosen],
            release_of_bag=self.release_of_bag[bag_is_chosen],
            place_of_bag=self.place_of_bag[bag_is_chosen],
        )


def places_by_part(part: IntArray, n_parts: int) -> list[IntArray]:
    """List the places of each part.

    Examples
    --------
    >>> places_by_part(np.array([1, 0, 1]), 2)
    [array([1]), array([0, 2])]
    """
    order = np.argsort(part, kind="stable")
    return np.split(order, np.searchsorted(part[order], np.arange(1, n_parts)))


def cut_into_cells(
    bag_indices: Sequence[IntArray], lowest: Sequence[IntArray], highest: Sequence[IntArray]
) -> ReleasedCells:
    """Find the rows that no release tells apart.

    Parameters
    ----------
    bag_indices : sequence of ndarray of shape (n_rows,)
        Bag of each row in each release; -1 for none.
    lowest, highest : sequence of ndarray of shape (n_bags,)
        What each release says of its bags.

    Returns
    -------
    ReleasedCells
        Without bags of which a release says nothing.
    """
    n_rows = len(bag_indices[0])
    keys = np.zeros(n_rows, dtype=np.int64)
    columns, n_before = [], 0
    kept_low, kept_high, releases, places = [], [], [], []
    for number, (index, low, high) in enumerate(zip(bag_indices, lowest, highest, strict=True)):
        n_in_bag = np.bincount(index[index >= 0], minlength=len(low))
        speaks = (low > 0) | (high < n_in_bag)
        index = look_up(np.where(speaks, np.cumsum(speaks) - 1 + n_before, -1), index)
        columns.append(index)
        n_before += int(speaks.sum())
        kept_low.append(low[speaks])
        kept_high.append(high[speaks])
        places.append(np.flatnonzero(speaks))
        releases.append(np.full(len(places[-1]), number))
        keys = np.unique(keys * (n_before + 1) + index + 1, return_inverse=True)[1]
    signatures = np.column_stack(columns)
    _, first, cell_of_row, sizes = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    cells = ReleasedCells(
        cell_of_row=cell_of_row.astype(np.int64),
        sizes=sizes.astype(np.int64),
        bags=signatures[first],
        lowest=np.concatenate(kept_low),
        highest=np.concatenate(kept_high),
        release_of_bag=np.concatenate(releases),
        place_of_bag=np.concatenate(places),
    )
    is_said_of = np.asarray((cells.bags >= 0).any(axis=1))
    return cells.take(is_said_of, np.ones(cells.n_bags, dtype=bool))


def propagate_bounds(
    cells: ReleasedCells, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """Tighten the range of positives in every cell, bag by bag, until nothing changes.

    Every range found is right, but it may be wider than all bags together allow.

    Parameters
    ----------
    cells : ReleasedCells
    low, high : ndarray of shape (n_cells,)
        Ranges to begin with.

    Returns
    -------
    lowest, highest : ndarray of shape (n_cells,)

    Raises
    ------
    ContradictionError
        If a range gets empty.
    """
    cell, bag = cells.pairs()
    for _ in range(_MOST_ROUNDS):
        least, most = (
            np.bincount(bag, weights=bound[cell], minlength=cells.n_bags).astype(np.int64)
            for bound in (low, high)
        )
        new_low, new_high = low.copy(), high.copy()
        np.maximum.at(new_low, cell, cells.lowest[bag] - most[bag] + high[cell])
        np.minimum.at(new_high, cell, cells.highest[bag] - least[bag] + low[cell])
        broken = new_low > new_high
        if broken.any():
            raise ContradictionError(np.unique(bag[broken[cell]]))
        if np.array_equal(new_low, low) and np.array_equal(new_high, high):
            break
        low, high = new_low, new_high
    return low, high
