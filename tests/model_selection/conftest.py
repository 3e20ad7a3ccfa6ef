# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import dataclass

import numpy as np
import pytest

from bagshift import Bags


@dataclass(frozen=True)
class TwoDomains:
    """A small problem: labelled source rows, target rows in shuffled bags of 3 to 6 rows."""

    X_source: np.ndarray
    y_source: np.ndarray
    X: np.ndarray
    labels: np.ndarray
    bag_ids: np.ndarray
    shares: dict

    @property
    def source(self):
        return self.X_source, self.y_source

    @property
    def bags(self):
        return Bags.from_arrays(self.bag_ids, self.shares)


def make_two_domains(seed=0, n_bags=14, n_source=40, n_features=4):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=n_features)
    y_source = np.arange(n_source) % 2
    X_source = rng.normal(size=(n_source, n_features)) + np.outer(y_source - 0.5, direction)
    bag_ids = rng.permutation(np.repeat(np.arange(n_bags), rng.integers(3, 7, size=n_bags)))
    labels = (rng.random(len(bag_ids)) < rng.random(n_bags)[bag_ids]).astype(int)
    shift = rng.normal(size=n_features) * 0.3
    X = rng.normal(size=(len(bag_ids), n_features)) + np.outer(labels - 0.5, direction) + shift
    shares = {k: labels[bag_ids == k].mean() for k in range(n_bags)}
    return TwoDomains(X_source, y_source, X, labels, bag_ids, shares)


@pytest.fixture
def domains():
    return make_two_domains()


@pytest.fixture
def make_domains():
    return make_two_domains
