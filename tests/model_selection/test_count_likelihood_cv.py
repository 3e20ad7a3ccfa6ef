# SPDX-License-Identifier: BSD-3-Clause
"""The search of the count machine: held-out counts, grids in units of scores, paths of starts."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    GeometricNoise,
    path_search,
    stack_domains,
)
from bagshift.estimators._training import read_training
from bagshift.metrics import expected_share_error
from bagshift.model_selection import (
    BagKFold,
    BagShuffleSplit,
    LeaveOneBagOut,
    count_log_likelihood,
)
from bagshift.model_selection._count_engine import CountEngine
from bagshift.model_selection._folds import bag_folds, bag_splits
from bagshift.model_selection._search_result import cv_results_of
from bagshift.model_selection.grids import count_grid

GRID = {"C_target": [0.5, 2.0], "coupling": [0.3, 3.0], "start": ["source", "inverse_calibration"]}
# Folds are solved to a gradient of 1e-2; a log-likelihood is exact to the square of that.
LOOSE = 5e-3


def fitted(domains, grid=GRID, **settings):
    settings = {"cv": BagKFold(4), "kernel": "linear", **settings}
    return CountLikelihoodCV(grid, **settings).fit(domains.X, domains.bags, source=domains.source)


def grid_of(domains, name="quick", bags=None, source=True, **settings):
    machine = CountLikelihoodClassifier(**settings)
    given = read_training(
        machine,
        domains.X,
        domains.bags if bags is None else bags,
        source=domains.source if source else None,
    )
    return count_grid(name, machine, given), machine, given


# Scores ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("start", ["source", "inverse_calibration"])
def test_scores_are_those_of_cross_validation(domains, kernel, start):
    machine = CountLikelihoodClassifier(0.5, 0.5, 1.0, kernel=kernel, start=start, gamma=0.2)
    stacked = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    expected = cross_val_score(machine, *stacked, cv=BagKFold(4), scoring=count_log_likelihood)
    found = path_search(
        machine, domains.X, domains.bags, source=domains.source, grid={}, cv=BagKFold(4)
    )
    splits = [found.cv_results[f"split{k}_test_score"][0] for k in range(4)]
    np.testing.assert_allclose(splits, expected, atol=LOOSE)


def test_share_error_is_that_of_mean_probabilities(domains):
    machine = CountLikelihoodClassifier(0.5, 0.5, 1.0, kernel="linear", start="source")
    found = path_search(
        machine, domains.X, domains.bags, source=domains.source, grid={}, cv=BagKFold(4)
    )
    errors = []
    for train, test in BagKFold(4).split(domains.X, domains.bags):
        fold = clone(machine).fit(domains.X[train], domains.bags[train], source=domains.source)
        probability = fold.predict_proba(domains.X[test])[:, 1]
        errors.append(expected_share_error(domains.bags[test], probability))
    assert found.cv_results["mean_share_error"][0] == pytest.approx(np.mean(errors), abs=LOOSE)


def test_results_are_scikit_learns_format(domains):
    search = fitted(domains)
    table = pd.DataFrame(search.cv_results_)
    assert len(table) == 8
    assert {"params", "param_start", "mean_test_score", "rank_test_score"} <= set(table)
    assert {"mean_share_error", "converged", "split3_test_score"} <= set(table)
    assert table["mean_test_score"].idxmax() == search.best_index_
    assert search.best_score_ == table["mean_test_score"].max() < 0
    assert table["mean_share_error"].between(0, 1).all()


def test_the_best_machine_is_a_plain_fit(domains):
    search = fitted(domains)
    machine = CountLikelihoodClassifier(kernel="linear", **search.best_params_)
    machine.fit(domains.X, domains.bags, source=domains.source)
    np.testing.assert_array_equal(search.coef_, machine.coef_)
    assert search.start_ == machine.start_ == search.best_params_["start"]


def test_bags_that_are_not_held_out_play_no_part(domains):
    cv = BagShuffleSplit(2, train_size=6, test_size=3, random_state=0)
    search = fitted(domains, cv=cv)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.n_splits_ == 2


def test_result_does_not_depend_on_the_number_of_threads(domains):
    one, two = fitted(domains), fitted(domains, n_jobs=2)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])


def test_weights_of_bags_weigh_the_score(domains):
    weights = dict.fromkeys(domains.shares, 1.0)
    plain = fitted(domains, cv=LeaveOneBagOut())
    weighted = Bags.from_arrays(domains.bag_ids, domains.shares, weights=weights)
    search = clone(plain).fit(domains.X, weighted, source=domains.source)
    np.testing.assert_allclose(search.best_score_, plain.best_score_)


@pytest.mark.parametrize("cv", [LeaveOneBagOut(), BagKFold(7)], ids=["one out", "two out"])
def test_the_mean_score_is_that_of_bags_by_their_weights(domains, cv):
    weights = dict(zip(domains.shares, np.linspace(0.1, 3.0, len(domains.shares)), strict=True))
    weighted = Bags.from_arrays(domains.bag_ids, domains.shares, weights=weights)
    machine = CountLikelihoodClassifier(0.5, 0.5, 1.0, kernel="linear")
    given = read_training(machine, domains.X, weighted, source=domains.source)
    folds = bag_folds(bag_splits(cv, domains.X, weighted), weighted)
    found = CountEngine().cross_validate([machine], given, folds)
    expected = np.average(found.bags.values, axis=1, weights=weighted.weights)
    np.testing.assert_allclose(found.means, expected)
    results = cv_results_of([{}], found)
    assert results["mean_test_score"] == found.means
    splits = np.array([results[f"split{k}_test_score"][0] for k in range(len(folds))])
    spread = np.average((splits - found.means) ** 2, weights=found.fold_weights)
    np.testing.assert_allclose(results["std_test_score"], np.sqrt(spread))


def test_folds_of_bags_of_equal_weight_count_the_same(domains):
    weights = dict.fromkeys(domains.shares, 3.0)
    weighted = Bags.from_arrays(domains.bag_ids, domains.shares, weights=weights)
    found = path_search(
        CountLikelihoodClassifier(kernel="linear"), domains.X, weighted, grid={}, cv=BagKFold(4)
    )
    splits = [found.cv_results[f"split{k}_test_score"][0] for k in range(4)]
    assert found.best_score == np.mean(splits)
    assert found.cv_results["std_test_score"][0] == np.std(splits)


def test_one_standard_error_takes_the_more_regular_machine(domains):
    grid = {"C_target": [0.25, 0.5, 1.0, 2.0]}
    best, simple = fitted(domains, grid), fitted(domains, grid, one_standard_error=True)
    assert simple.C_target_ <= best.C_target_
    assert simple.best_score_ <= best.best_score_


def test_default_number_of_folds(domains):
    assert fitted(domains, {"C_target": [1.0]}, cv=None).n_splits_ == 10  # 14 bags
    rows = np.repeat(np.arange(30), 2)
    bags = Bags.from_arrays(rows, counts={k: k % 3 for k in range(30)})
    search = CountLikelihoodCV({"C_target": [1.0]}, kernel="linear")
    assert search.fit(np.arange(60.0)[:, None] % 7, bags).n_splits_ == 5


def test_works_on_sparse_rows_and_in_a_pipeline(domains):
    source = sparse.csr_matrix(domains.X_source), domains.y_source
    search = CountLikelihoodCV({"coupling": [0.3, 3.0]}, cv=4)
    search.fit(sparse.csr_matrix(domains.X), domains.bags, source=source)
    assert search.kernel_.name == "linear"
    stacked = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    pipeline = make_pipeline(StandardScaler(), CountLikelihoodCV(GRID, cv=4)).fit(*stacked)
    assert np.mean(pipeline.predict(domains.X) == domains.labels) > 0.6


# Named grids -------------------------------------------------------------------------------


def test_grids_are_in_prior_variances_of_a_score(domains):
    grid, _, _ = grid_of(domains, kernel="rbf")
    assert grid["C_target"] == [16.0, 64.0, 256.0]
    assert grid["C_source"] == [1.0, 8.0]
    assert len(grid["gamma"]) == 3
    linear, _, given = grid_of(domains, kernel="linear")
    rows = np.vstack([given.X_source, given.X_target])
    spread = np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1))
    np.testing.assert_allclose(linear["C_target"], np.array([16, 64, 256]) / spread)
    assert "gamma" not in linear


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_grids_do_not_depend_on_where_the_rows_lie(domains, kernel):
    near, _, _ = grid_of(domains, kernel=kernel, degree=1, gamma=1.0)
    far = type(domains)(
        domains.X_source + 50.0,
        domains.y_source,
        domains.X + 50.0,
        domains.labels,
        domains.bag_ids,
        domains.shares,
    )
    moved, _, _ = grid_of(far, kernel=kernel, degree=1, gamma=1.0)
    np.testing.assert_allclose(moved["C_target"], near["C_target"], rtol=1e-6)


def test_kernel_written_out_has_the_grid_of_the_kernel(domains):
    linear, _, _ = grid_of(domains, kernel="linear")
    inner, _, _ = grid_of(domains, kernel=lambda A, B: A @ B.T)
    np.testing.assert_allclose(inner["C_target"], linear["C_target"])


def test_noise_does_not_change_the_grid(domains):
    counts = {k: round(s * np.sum(domains.bag_ids == k)) for k, s in domains.shares.items()}
    noisy = Bags.from_arrays(domains.bag_ids, counts=counts, noise=GeometricNoise(0.5))
    exact, _, _ = grid_of(domains, kernel="linear")
    grid, _, _ = grid_of(domains, bags=noisy, kernel="linear")
    assert grid == exact


def test_axes_that_mean_nothing_are_left_out(domains):
    alone, _, _ = grid_of(domains, source=False)
    assert set(alone) == {"gamma", "C_target"}
    fixed, _, _ = grid_of(domains, kernel="linear", start="source")
    assert "start" not in fixed
    with pytest.raises(ValueError, match="grid must be one of"):
        grid_of(domains, name="slow")
