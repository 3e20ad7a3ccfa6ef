# SPDX-License-Identifier: BSD-3-Clause
"""Whole bags drawn again, with replacement: the samples of the bootstrap."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bagshift.bags import Bags

Rows = NDArray[np.int64]


def redraw_bags(bags: Bags, generator: np.random.Generator) -> tuple[Rows, Bags]:
    """Draw as many whole bags as there are, each time one of all, and source rows likewise.

    Rows in no bag that are not of the source stay as they are.

    Parameters
    ----------
    bags : Bags
        Whole bags.
    generator : numpy.random.Generator

    Returns
    -------
    rows : int64 ndarray of shape (n_drawn_rows,)
        Numbers of the rows, bag by bag, and then those in no bag.
    drawn : Bags
        The same rows; a bag that was drawn twice is two bags. Bags are called 0, 1, 2, ...
    """
    n_bags = bags.n_bags
    order = np.argsort(bags.bag_index, kind="stable")
    first = int(np.searchsorted(bags.bag_index[order], 0))
    starts = first + np.concatenate([[0], np.cumsum(bags.rows_per_bag)])
    bag = generator.integers(n_bags, size=n_bags)
    sizes = bags.rows_per_bag[bag]
    ends = np.cumsum(sizes)
    inside = (
        np.arange(sizes.sum()) - np.repeat(ends - sizes, sizes) + np.repeat(starts[bag], sizes)
    )
    source = np.flatnonzero(bags.is_source)
    if len(source):
        source = np.sort(generator.choice(source, len(source)))
    others = np.flatnonzero((bags.bag_index < 0) & ~bags.is_source)
    rows = np.concatenate([order[inside], source, others])
    drawn = replace(
        bags,
        bag_index=np.concatenate(
            [np.repeat(np.arange(n_bags), sizes), np.full(len(source) + len(others), -1)]
        ),
        label_values=bags.label_values[rows],
        is_source=bags.is_source[rows],
        row_weights=bags.row_weights[rows],
        ids=np.arange(n_bags).astype(object),
        shares=bags.shares[bag],
        sizes=bags.sizes[bag],
        weights=bags.weights[bag],
        noise=bags.noise[bag],
        _row_numbers=np.arange(len(rows)),
        _rows_built=sizes,
        _origins=np.full(n_bags, generator.integers(2**62)),
    )
    return rows, drawn
