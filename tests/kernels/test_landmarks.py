# SPDX-License-Identifier: BSD-3-Clause
"""Landmarks: how they are drawn, from both domains."""

import re

import numpy as np
import pytest
from scipy import sparse

from bagshift.exceptions import KernelMemoryError
from bagshift.kernels import Kernel, _landmarks, _memory, low_rank_map
from kernel_cases import KERNELS, N_FEATURES, dense, make_rows

RBF = KERNELS["rbf"][0]


def chosen(X_source, X, n_landmarks, random_state=0, landmarks="kmeans++", kernel=RBF):
    return low_rank_map(
        kernel,
        X_source,
        X,
        n_landmarks=n_landmarks,
        landmarks=landmarks,
        random_state=random_state,
    ).rows


def with_rare_rows(n_rows, n_rare, seed):
    """Make one crowd, and some rows far from it and from each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=0.1, size=(n_rows, N_FEATURES))
    X[rng.permutation(n_rows)[:n_rare]] += 20 * np.eye(N_FEATURES)[:n_rare]
    return X


@pytest.mark.parametrize(("n_source", "n_target", "n_landmarks"), [(40, 50, 12), (3, 50, 13)])
def test_uniform_draws_each_domain_by_one_permutation(n_source, n_target, n_landmarks):
    """A fitted model must not change with the version: this is the draw, number by number."""
    random = np.random.RandomState(7)
    n_from_source = min(n_source, n_landmarks // 2)
    source = random.permutation(n_source)[:n_from_source]
    target = n_source + random.permutation(n_target)[: n_landmarks - n_from_source]
    expected = np.sort(np.concatenate([source, target]))
    X_source, X = make_rows(n_source, 0), make_rows(n_target, 1)
    found = low_rank_map(RBF, X_source, X, n_landmarks=n_landmarks, random_state=7)
    np.testing.assert_array_equal(found.rows, expected)
    named = chosen(X_source, X, n_landmarks, 7, "uniform")
    np.testing.assert_array_equal(named, expected)


@pytest.mark.parametrize(
    ("n_source", "n_target", "n_landmarks", "expected"),
    [(200, 300, 12, 6), (200, 300, 13, 6), (3, 300, 12, 3), (200, 2, 12, 10), (20, 30, 1, 0)],
)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_half_of_the_spread_landmarks_are_of_each_domain(
    n_source, n_target, n_landmarks, expected, form
):
    X_source, X = make_rows(n_source, 0), make_rows(n_target, 1)
    if form == "csr":
        X_source, X = sparse.csr_matrix(X_source), sparse.csr_matrix(X)
    rows = chosen(X_source, X, n_landmarks)
    assert len(np.unique(rows)) == len(rows) == n_landmarks
    assert np.all(np.diff(rows) > 0)
    assert np.sum(rows < n_source) == expected


def test_spread_landmarks_reach_rare_rows():
    X_source, X = with_rare_rows(400, 4, 0), with_rare_rows(400, 4, 1)
    for seed in range(5):
        rows = chosen(X_source, X, 40, seed)
        drawn = np.vstack([X_source, X])[rows]
        is_rare = np.abs(drawn).max(axis=1) > 10
        assert is_rare[rows < 400].sum() == is_rare[rows >= 400].sum() == 4


def test_spread_landmarks_have_a_smaller_error_on_rare_rows():
    X = with_rare_rows(400, 5, 0)

    def error(landmarks):
        found = low_rank_map(RBF, None, X, n_landmarks=20, landmarks=landmarks)
        features = found.transform(X)
        return np.abs(features @ features.T - RBF(X, X)).max()

    assert error("kmeans++") < 0.2 < error("uniform")


def test_sparse_rows_give_the_landmarks_of_dense_ones():
    X_source, X = make_rows(150, 0, "csr"), make_rows(170, 1, "csr")
    X_source.sum_duplicates()
    in_csr = chosen(X_source, X, 20)
    np.testing.assert_array_equal(in_csr, chosen(dense(X_source), dense(X), 20))


def test_spread_landmarks_follow_the_random_state():
    X_source, X = make_rows(100, 0), make_rows(100, 1)
    one = chosen(X_source, X, 10, 3)
    np.testing.assert_array_equal(one, chosen(X_source, X, 10, 3))
    np.testing.assert_array_equal(one, chosen(X_source, X, 10, np.random.RandomState(3)))
    assert not np.array_equal(one, chosen(X_source, X, 10, 4))


def test_spread_landmarks_look_at_a_bounded_number_of_rows(monkeypatch):
    looked_at = []

    def recorded(rows, *args, **settings):
        looked_at.append(rows.shape[0])
        return kmeans_plusplus(rows, *args, **settings)

    kmeans_plusplus = _landmarks.kmeans_plusplus
    monkeypatch.setattr(_landmarks, "kmeans_plusplus", recorded)
    rows = chosen(make_rows(90, 0), make_rows(5000, 1), 10)
    assert looked_at == [90, 100]
    # Rows are not those at the start.
    assert rows.max() > 1000


@pytest.mark.parametrize("n_landmarks", [None, 50, 1000])
def test_all_rows_are_landmarks_whatever_the_rule(n_landmarks):
    X_source, X = make_rows(20, 0), make_rows(30, 1)
    np.testing.assert_array_equal(chosen(X_source, X, n_landmarks), np.arange(50))


def test_equal_rows_are_drawn_once():
    few = make_rows(4, 0)
    X = few[np.random.default_rng(0).integers(4, size=200)]
    found = low_rank_map(RBF, None, X, n_landmarks=20, landmarks="kmeans++")
    assert len(np.unique(found.rows)) == len(found.rows) <= 20
    assert len(np.unique(found.landmarks, axis=0)) == found.rank == 4
    features = found.transform(X)
    np.testing.assert_allclose(features @ features.T, RBF(X, X), atol=1e-8)


@pytest.mark.parametrize("name", ["linear", "poly", "callable"])
def test_every_kernel_of_rows_may_have_spread_landmarks(name):
    kernel, twin = KERNELS[name]
    X = make_rows(60, 0)
    found = low_rank_map(kernel, None, X, n_landmarks=15, landmarks="kmeans++")
    own = found.transform(found.landmarks)
    np.testing.assert_allclose(own @ own.T, twin(found.landmarks, found.landmarks), atol=1e-8)


def refused(sentence, error=ValueError, **settings):
    X = settings.pop("X", make_rows(30, 0))
    settings = {"n_landmarks": 10, "landmarks": "kmeans++", "kernel": RBF} | settings
    with pytest.raises(error, match=f"^{sentence}$"):
        chosen(None, X, **settings)


def test_what_cannot_be_drawn_is_refused_in_one_sentence():
    refused(
        re.escape("landmarks='farthest' is not known; use 'uniform' or 'kmeans++'."),
        landmarks="farthest",
    )
    refused(
        re.escape(
            "landmarks='kmeans++' measures distances between rows, which a precomputed kernel "
            "does not have: use landmarks='uniform'."
        ),
        kernel=Kernel("precomputed"),
        X=np.eye(30),
    )
    refused("n_landmarks=0 must be one or more, or None for all rows.", n_landmarks=0)
    too_large = ".*squares of the features, which are too large: scale the features."
    refused(too_large, X=1e200 * make_rows(30, 0))
    refused(too_large, X=1e200 * make_rows(30, 0, "csr"))


def test_wide_sparse_rows_that_would_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(_memory, "free_memory", lambda: 2**30)
    X = sparse.csr_matrix((400, 10**6))
    refused(
        r"A set of 200 landmarks of 1,000,000 columns .* needs 1\.5 GiB .*landmarks='uniform'\.",
        KernelMemoryError,
        n_landmarks=200,
        X=X,
    )
