# SPDX-License-Identifier: BSD-3-Clause
"""Rows are not copied as a whole, and those of single precision stay so."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from bagshift import TGPLM, Bags, CountLikelihoodClassifier
from bagshift.estimators import _scalable, count_likelihood
from bagshift.estimators._count_starts import _averages, _bag_means
from bagshift.estimators._feature_space import column_scale
from bagshift.estimators._scale import centres_and_spreads, warn_if_scales_differ
from bagshift.estimators._training import read_training
from bagshift.kernels import Kernel, fourier_map, low_rank_map, unit_means
from bagshift.solvers import solve_coupled_linear
from bagshift.solvers.count_likelihood import BagCounts
from problems import two_domains

N_ROWS, N_COLUMNS, BAG_SIZE = 40_000, 20, 10


def many_rows(dtype=np.float32):
    """Return rows of both domains, shares of bags of ten and labels of the source."""
    rng = np.random.default_rng(0)
    X, X_source = rng.normal(size=(2, N_ROWS, N_COLUMNS)).astype(dtype)
    ids = np.repeat(np.arange(N_ROWS // BAG_SIZE), BAG_SIZE)
    shares = (X[:, 0] > 0).reshape(-1, BAG_SIZE).mean(axis=1)
    return X, Bags.from_arrays(ids, shares[ids]), (X_source, (X_source[:, 0] > 0).astype(int))


def memory_of(run):
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_spreads_of_many_rows_are_those_of_numpy():
    X = np.random.default_rng(0).normal(size=(10_001, 3)) * [1, 1e-3, 1e6] + [0, 1e4, -1e9]
    centres, spreads = centres_and_spreads(X)
    np.testing.assert_allclose(centres, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spreads, X.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(spreads[0], X[:, 0].std(), rtol=1e-12)


def test_no_copy_is_made_to_compare_scales():
    X, bags, source = many_rows(np.float64)
    data = read_training(TGPLM(), X, bags, source=source)
    assert memory_of(lambda: warn_if_scales_differ(source[0], X)) < X.nbytes / 4
    assert memory_of(lambda: column_scale(data, "auto")) < X.nbytes / 2  # weights of rows


def test_the_scale_of_many_rows_is_that_of_all_at_once():
    X, bags, (X_source, y) = many_rows()
    weight = np.random.default_rng(1).random(len(y))
    scale = column_scale(read_training(TGPLM(), X, bags, source=(X_source, y, weight)), True)
    rows = np.vstack([X_source, X]).astype(np.float64)
    weights = np.concatenate([weight, np.ones(len(X))])
    centre = np.average(rows, axis=0, weights=weights)
    variance = np.average((rows - centre) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(scale.center, centre, atol=1e-12)
    np.testing.assert_allclose(scale.scale, np.sqrt(variance), rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_means_of_bags_in_more_than_one_chunk(make):
    X = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    sizes = np.repeat([9_000, 1, 999, 10_000], 1)
    counts = BagCounts.exact(np.zeros(4, dtype=np.int64), sizes)
    means = _bag_means(make(X), counts)
    together = _averages(counts) @ X.astype(np.float64)
    np.testing.assert_allclose(means.toarray() if sparse.issparse(means) else means, together)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_means_of_sparse_rows_are_those_of_dense_ones(dtype):
    X = sparse.random(5_000, 40, density=0.1, random_state=0, format="csr", dtype=dtype)
    units = np.arange(5_000) % 700 - 1  # some rows are in none
    units = np.random.default_rng(0).permutation(units)
    means = unit_means(X, units, 699)
    assert (means.format, means.dtype, means.indices.dtype) == ("csr", dtype, np.int32)
    dense = unit_means(X.toarray(), units, 699)
    np.testing.assert_allclose(means.toarray(), dense, rtol=1e-6, atol=1e-12)


def test_the_count_machine_takes_rows_as_they_are(monkeypatch):
    X, bags, source = many_rows()
    taken = []

    def first(problem, **settings):
        taken.append(problem)
        raise InterruptedError

    monkeypatch.setattr(count_likelihood, "solve_coupled_logistic", first)
    with pytest.raises(InterruptedError):
        CountLikelihoodClassifier(kernel="linear").fit(X, bags, source=source)
    assert np.shares_memory(taken[0].target_features, X)
    assert np.shares_memory(taken[0].source_features, source[0])


def test_few_rows_of_single_precision_are_those_of_double_precision():
    X, bags, _, (X_source, y) = two_domains()
    X, X_source = X.astype(np.float32), X_source.astype(np.float32)
    machine = CountLikelihoodClassifier(kernel="linear")
    single = machine.fit(X, bags, source=(X_source, y)).coef_
    X, X_source = X.astype(np.float64), X_source.astype(np.float64)
    np.testing.assert_array_equal(single, machine.fit(X, bags, source=(X_source, y)).coef_)


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
def test_mapped_rows_have_the_precision_of_the_rows(monkeypatch, feature_map):
    X, bags, _, (X_source, y) = two_domains()
    scores, taken = [], []

    def solve(problem, **settings):
        taken.append(problem.source.features.dtype)
        return solve_coupled_linear(problem, **settings)

    monkeypatch.setattr(_scalable, "solve_coupled_linear", solve)
    for dtype in (np.float64, np.float32):
        machine = TGPLM(solver="newton", feature_map=feature_map, n_components=20)
        machine.fit(X.astype(dtype), bags, source=(X_source.astype(dtype), y))
        scores.append(machine.decision_function(X))
    assert taken == [np.float64, np.float32]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-3)


def test_features_are_of_the_type_asked_for():
    X = np.random.default_rng(0).normal(size=(30, 3))
    kernel = Kernel("rbf", gamma=0.5)
    for found in (low_rank_map(kernel, None, X), fourier_map(kernel, 3, n_components=8)):
        double, single = found.transform(X), found.transform(X, np.float32)
        assert (double.dtype, single.dtype) == (np.float64, np.float32)
        np.testing.assert_array_equal(single, double.astype(np.float32))


def test_the_count_machine_says_how_it_was_fitted(caplog):
    X, bags, source = many_rows()
    with caplog.at_level("INFO", logger="bagshift"):
        machine = CountLikelihoodClassifier(kernel="linear").fit(X, bags, source=source)
        few = np.arange(0, 500)
        small = CountLikelihoodClassifier(n_components=20).fit(X[few], bags[few])
    assert machine.fit_report_ == {
        "solver": "passes",
        "n_source_rows": N_ROWS,
        "n_target_rows": N_ROWS,
        "n_target_units": N_ROWS // BAG_SIZE,
        "n_components": None,
        "map_error": None,
    }
    assert small.fit_report_["solver"] == "newton"
    assert small.fit_report_["n_components"] == 20
    assert [record.getMessage() for record in caplog.records] == [
        "40000 source rows and 4000 bags or labelled rows: solved on its columns "
        "(solver='passes')."
    ]
