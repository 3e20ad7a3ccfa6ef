# SPDX-License-Identifier: BSD-3-Clause
"""A sample of training data to search parameters on: whole bags, and source rows of both classes.

Costs multiply sums over rows, so those of a setting are larger on a sample by the factor by which
it has fewer rows; the engines see to that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from bagshift.estimators._training import TrainingData
from bagshift.exceptions import BagError

Rows = NDArray[np.intp]


def sample_rows(data: TrainingData, max_rows: int, random_state: Any) -> TrainingData:
    """Draw at most so many rows of each domain.

    Source rows and labelled target rows are drawn by class, in the proportions of all of them;
    bags are drawn whole, in random order, as many as fit. Target rows that are in no bag and have
    no label are left out.

    Parameters
    ----------
    data : TrainingData
        Not of a precomputed kernel.
    max_rows : int
        Of either domain.
    random_state : int, RandomState or None

    Returns
    -------
    TrainingData
        The given data where they have no more rows.

    Raises
    ------
    BagError
        When fewer than two whole bags fit.
    """
    random = check_random_state(random_state)
    if data.n_source > max_rows:
        data = _take_source(data, _by_class(data.source_signs, max_rows, random))
    in_bags = data.bags.rows_in_bags()
    n_target = len(in_bags) + len(data.labelled_rows)
    if n_target > max_rows:
        part = max_rows / n_target
        labelled = _by_class(data.labelled_signs, round(part * len(data.labelled_rows)), random)
        rows = _whole_bags(data, max_rows - len(labelled), random)
        data = _take_target(data, rows, labelled)
    return data


def _by_class(signs: NDArray[np.float64], n_rows: int, random: Any) -> Rows:
    """Draw positions, each class in its proportion but at least once."""
    drawn = [np.empty(0, dtype=np.intp)]
    for sign in (-1.0, 1.0):
        of_class = np.flatnonzero(signs == sign)
        n_drawn = max(round(n_rows * len(of_class) / len(signs)), 1) if len(of_class) else 0
        drawn.append(random.choice(of_class, n_drawn, replace=False))
    return np.sort(np.concatenate(drawn))


def _whole_bags(data: TrainingData, most: int, random: Any) -> Rows:
    """Draw rows of whole bags, at most so many."""
    sizes = data.bags.rows_per_bag
    order = random.permutation(data.bags.n_bags)
    n_drawn = int(np.searchsorted(np.cumsum(sizes[order]), most, side="right"))
    if n_drawn < 2:
        raise BagError(
            f"max_rows leaves room for {n_drawn} of {data.bags.n_bags:,} bags, which have "
            f"{sizes.mean():,.0f} rows on average; a search needs at least 2 whole bags and "
            "should have some dozens: set it higher, or search on all rows."
        )
    is_drawn = np.zeros(data.bags.n_bags, dtype=bool)
    is_drawn[order[:n_drawn]] = True
    rows = data.bags.rows_in_bags()
    return rows[is_drawn[data.bags.bag_index[rows]]]


def _take_source(data: TrainingData, rows: Rows) -> TrainingData:
    return replace(
        data,
        X_source=data.X_source[rows],
        source_signs=data.source_signs[rows],
        source_weight=data.source_weight[rows],
    )


def _take_target(data: TrainingData, rows: Rows, labelled: Rows) -> TrainingData:
    rows = np.sort(np.concatenate([rows, data.labelled_rows[labelled]]))
    bags = data.bags[rows]
    return replace(
        data,
        X_target=data.X_target[rows],
        bags=bags,
        labelled_rows=np.flatnonzero(bags.has_label),
        labelled_signs=data.labelled_signs[labelled],
        labelled_weight=data.labelled_weight[labelled],
    )
