# SPDX-License-Identifier: BSD-3-Clause
"""Small labelled sets that come with scikit-learn, cut at random into bags of one size.

A draw takes 70 % of the rows, shuffled by its seed, into bags with exact shares; the last bag is
smaller where the size does not divide their number. The other rows are *fresh*. Labels make the
shares and score the result. A source, where one is wanted, is a part of the fresh rows, which are
then no longer fresh.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.preprocessing import StandardScaler

import bagshift
from bagshift import Bags, get_bag_tags
from bagshift.datasets import make_bags
from bagshift.estimators._base import BagClassifier

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

SETS = ("digits 3/8", "breast cancer", "make_classification")
IN_BAGS = 0.7
N_GENERATED = 600
SOURCE_ROWS = 40


@dataclass(frozen=True)
class SmallDraw:
    """Rows in bags, fresh rows and, where wanted, labelled rows of the same kind as a source."""

    X: Floats
    y: Labels
    bag_ids: NDArray[np.int64]
    shares: dict[int, float]
    X_fresh: Floats
    y_fresh: Labels
    source: tuple[Floats, Labels] | None = None

    @property
    def bags(self) -> Bags:
        return Bags.from_arrays(self.bag_ids, self.shares)


def load_set(name: str, seed: int) -> tuple[Floats, Labels]:
    """Return rows and labels 0 and 1; generated ones are of the seed."""
    if name == "digits 3/8":
        pixels, digit = load_digits(return_X_y=True)
        chosen = np.isin(digit, (3, 8))
        return pixels[chosen] / 16.0, (digit[chosen] == 8).astype(np.int64)
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X, y.astype(np.int64)
    X, y = make_classification(N_GENERATED, random_state=seed)
    return X, y.astype(np.int64)


def draw_set(name: str, bag_size: int, seed: int, *, with_source: bool = False) -> SmallDraw:
    """Return draw number `seed`; columns other than pixels are scaled on the bagged rows."""
    X, y = load_set(name, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    n_bagged = round(IN_BAGS * len(y))
    bagged, rest = order[:n_bagged], order[n_bagged:]
    if name != "digits 3/8":
        X = StandardScaler().fit(X[bagged]).transform(X)
    history, fresh = (rest[:SOURCE_ROWS], rest[SOURCE_ROWS:]) if with_source else ([], rest)
    bag_ids, shares = make_bags(y[bagged], bag_size, random_state=seed)
    return SmallDraw(
        X=X[bagged],
        y=y[bagged],
        bag_ids=bag_ids,
        shares=shares,
        X_fresh=X[fresh],
        y_fresh=y[fresh],
        source=(X[history], y[history]) if with_source else None,
    )


def our_classifiers() -> Iterator[tuple[str, Any]]:
    """Yield every public classifier that learns from bags, in its defaults, by name."""
    for name in bagshift.__all__:
        found = getattr(bagshift, name)
        if isinstance(found, type) and issubclass(found, BagClassifier):
            machine = found()
            if get_bag_tags(machine).uses_bags:
                yield name, machine


def target_only() -> dict[str, Any]:
    """Return those of them that need no source."""
    return {
        name: machine
        for name, machine in our_classifiers()
        if not get_bag_tags(machine).needs_source
    }
