# SPDX-License-Identifier: BSD-3-Clause
"""From scores to a choice: the best setting, or the most regular one that is about as good."""

import numpy as np
import pytest
from sklearn.base import clone

from bagshift import TGPLM, TGPLMCV, SourceSVM, path_search
from bagshift.estimators._training import read_training
from bagshift.model_selection import (
    BagKFold,
    BagShuffleSplit,
    LeaveOneBagOut,
    RepeatedBagKFold,
)
from bagshift.model_selection._folds import bag_folds, bag_splits
from bagshift.model_selection._path_engine import CoupledEngine
from bagshift.model_selection._search_engine import BagScores, FoldScores
from bagshift.model_selection._search_result import choose, standard_errors_to


def scores_of(folds, bags=None):
    folds = np.asarray(folds, dtype=float)
    return FoldScores(scores=folds, converged=np.ones(folds.shape, dtype=bool), bags=bags)


def chosen(means, settings, spread=1.0):
    """Return the choice where every setting is within one standard error that is not far off."""
    noise = spread * np.array([1.0, -1.0])
    folds = [[mean + sign * part for part in noise] for mean, sign in means]
    return choose(scores_of(folds), settings, one_standard_error=True)


NEAR = [(1.0, 1), (0.9, -1), (0.9, -1), (0.9, -1)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"C_target": [4, 2, 1, 2], "coupling": [1, 9, 1, 9]}, 2),
        ({"C_target": [2, 2, 2, 2], "coupling": [1, 4, np.inf, 9]}, 2),
        ({"C_target": [2] * 4, "coupling": [1] * 4, "C_source": [3, 3, 2, 1]}, 3),
        ({"C_source": [1] * 4, "gamma": [0.5, 0.1, 0.2, "scale"]}, 1),
        ({"C": [1.0, 0.5, 0.5, 1.0], "gamma": [1.0, 0.1, 0.2, 0.01]}, 1),
        ({"C": [1.0] * 4, "gamma": ["scale"] * 4}, 0),
        ({}, 0),
    ],
)
def test_most_regular_within_one_standard_error(values, expected):
    settings = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    assert chosen(NEAR, settings or [{}] * 4) == expected


def test_clearly_worse_settings_are_not_chosen():
    settings = [{"C": 3.0}, {"C": 2.0}, {"C": 1.0}]
    means = [(1.0, 1), (0.9, -1), (-5.0, -1)]
    assert chosen(means, settings) == 1
    assert chosen(means, settings, spread=0.01) == 0
    # What moves with the best setting from fold to fold differs from it by a certain amount.
    assert chosen([(1.0, 1), (0.9, 1)], settings[:2]) == 0


def test_standard_error_over_folds():
    rng = np.random.default_rng(0)
    folds = rng.normal(size=(3, 7))
    expected = (folds[1] - folds).std(axis=1, ddof=1) / np.sqrt(7)
    np.testing.assert_allclose(standard_errors_to(scores_of(folds), 1), expected)
    np.testing.assert_array_equal(standard_errors_to(scores_of(folds[:, :1]), 1), 0)


def test_standard_error_over_bags_that_were_held_out():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 9))
    values[:, 4] = np.nan
    found = scores_of(values[:, :2], BagScores(values, np.ones(9)))
    seen = np.delete(values, 4, axis=1)
    expected = (seen[0] - seen).std(axis=1, ddof=1) / np.sqrt(8)
    np.testing.assert_allclose(standard_errors_to(found, 0), expected)
    # A bag of weight zero is as good as none, but for n / (n - 1).
    weighted = scores_of(seen, BagScores(seen, np.array([0.0] + [2.0] * 7)))
    expected = (seen[0] - seen)[:, 1:].std(axis=1, ddof=1) / np.sqrt(7) * np.sqrt(48 / 49)
    np.testing.assert_allclose(standard_errors_to(weighted, 0), expected)


def cross_validated(machine, cv, domains):
    """Return what the engine says about two settings, and the sizes of the held-out rows."""
    bags = domains.bags
    splits = bag_splits(cv, domains.X, bags)
    given = read_training(clone(machine), domains.X, bags, source=domains.source)
    machines = [clone(machine).set_params(gamma=gamma) for gamma in (0.1, 1.0)]
    found = CoupledEngine().cross_validate(machines, given, bag_folds(splits, bags))
    return found, [len(test) for _, test in splits]


@pytest.mark.parametrize("machine", [TGPLM(), SourceSVM(), SourceSVM(threshold="prior")])
def test_scores_of_bags_make_up_the_scores_of_folds(machine, domains):
    sizes = domains.bags.sizes
    each, _ = cross_validated(machine, LeaveOneBagOut(), domains)
    np.testing.assert_array_equal(each.bags.weights, sizes)
    np.testing.assert_allclose(each.bags.values, each.scores)
    for cv in (BagKFold(4), RepeatedBagKFold(4, n_repeats=2, random_state=0)):
        found, n_rows = cross_validated(machine, cv, domains)
        np.testing.assert_allclose(
            np.average(found.bags.values, weights=sizes, axis=1),
            np.average(found.scores, weights=n_rows, axis=1),
        )
    some, _ = cross_validated(machine, BagShuffleSplit(1, test_size=3, random_state=0), domains)
    assert np.isnan(some.bags.values).sum(axis=1).tolist() == [11, 11]


def test_one_standard_error_of_a_search(domains):
    grid = {"C_target": [0.25, 1.0, 4.0], "coupling": [0.1, 1.0, 10.0]}
    given = {"cv": BagKFold(4), "one_standard_error": True}
    search = TGPLMCV(grid, gamma=0.2, **given)
    search.fit(domains.X, domains.bags, source=domains.source)
    found = path_search(
        TGPLM(gamma=0.2), domains.X, domains.bags, source=domains.source, grid=grid, **given
    )
    best = found.table[int(np.argmax(found.cv_results["mean_test_score"]))]
    assert found.best_params == search.best_params_ != best["params"]
    assert found.best_params["C_target"] <= best["params"]["C_target"]
    assert found.best_score == found.table[found.best_index]["score"] == search.best_score_
    assert found.best_score < best["score"]
    assert search.C_target_ == found.best_params["C_target"]
