# SPDX-License-Identifier: BSD-3-Clause
"""Features through landmarks: exact with all rows, and what happens with fewer."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from bagshift.exceptions import KernelMemoryError
from bagshift.kernels import Kernel, _memory, low_rank_map
from kernel_cases import KERNELS, N_FEATURES, dense, make_rows

MAPPED = [name for name in KERNELS if name != "linear"]
RBF = KERNELS["rbf"][0]


def features_of(kernel, X_source, X_target, **settings):
    found = low_rank_map(kernel, X_source, X_target, **settings)
    parts = [X for X in (X_source, X_target) if X is not None]
    return np.vstack([found.transform(X) for X in parts])


def is_landmark(found, X):
    """Tell which rows are landmarks, for rows that all differ."""
    same = np.all(dense(X)[:, None, :] == dense(found.landmarks)[None, :, :], axis=2)
    return same.any(axis=1)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("name", MAPPED)
def test_all_rows_as_landmarks_give_the_kernel_itself(name, with_source, form):
    kernel, twin = KERNELS[name]
    X_source, X = make_rows(11, 0, form), make_rows(30, 1, form)
    X_source = X_source if with_source else None
    features = features_of(kernel, X_source, X)
    rows = dense(X) if X_source is None else np.vstack([dense(X_source), dense(X)])
    np.testing.assert_allclose(features @ features.T, twin(rows, rows), atol=1e-8)


@pytest.mark.parametrize("name", MAPPED)
def test_fewer_landmarks_give_the_kernel_of_projections(name):
    kernel, twin = KERNELS[name]
    X_source, X = make_rows(20, 0), make_rows(30, 1)
    found = low_rank_map(kernel, X_source, X, n_landmarks=12)
    landmarks = found.landmarks
    assert found.rank <= len(landmarks) == 12
    new = make_rows(7, 2)
    cross = twin(new, landmarks)
    expected = cross @ np.linalg.pinv(twin(landmarks, landmarks), rcond=1e-12) @ cross.T
    features = found.transform(new)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-7)
    own = found.transform(landmarks)
    np.testing.assert_allclose(own @ own.T, twin(landmarks, landmarks), atol=1e-8)


def test_coefficients_give_the_same_function():
    X = make_rows(30, 1)
    found = low_rank_map(RBF, None, X, n_landmarks=12)
    weights = np.random.default_rng(0).normal(size=found.rank)
    new = make_rows(9, 2)
    np.testing.assert_allclose(
        rbf_kernel(new, found.landmarks, gamma=0.3) @ found.coefficients(weights),
        found.transform(new) @ weights,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("n_source", "n_target", "n_landmarks", "expected"),
    [(20, 30, 12, 6), (20, 30, 13, 6), (3, 30, 12, 3), (20, 2, 12, 10), (20, 30, 1, 0)],
)
def test_half_of_the_landmarks_are_of_each_domain(n_source, n_target, n_landmarks, expected):
    X_source, X = make_rows(n_source, 0), make_rows(n_target, 1)
    found = low_rank_map(RBF, X_source, X, n_landmarks=n_landmarks)
    assert is_landmark(found, X_source).sum() == expected
    assert is_landmark(found, X).sum() == n_landmarks - expected


@pytest.mark.parametrize("n_landmarks", [None, 50, 1000])
def test_no_more_landmarks_than_rows(n_landmarks):
    X_source, X = make_rows(20, 0), make_rows(30, 1)
    found = low_rank_map(RBF, X_source, X, n_landmarks=n_landmarks)
    np.testing.assert_array_equal(found.landmarks, np.vstack([X_source, X]))


def test_choice_of_landmarks_follows_the_random_state():
    X_source, X = make_rows(20, 0), make_rows(30, 1)

    def chosen(state):
        return low_rank_map(RBF, X_source, X, n_landmarks=10, random_state=state).landmarks

    np.testing.assert_array_equal(chosen(3), chosen(3))
    np.testing.assert_array_equal(chosen(3), chosen(np.random.RandomState(3)))
    assert not np.array_equal(chosen(3), chosen(4))


def test_duplicates_add_no_feature():
    X = make_rows(10, 0)
    once, twice = low_rank_map(RBF, None, X), low_rank_map(RBF, X, X)
    assert once.rank == twice.rank == 10
    features = twice.transform(X)
    np.testing.assert_allclose(features @ features.T, RBF(X, X), atol=1e-8)


def test_small_directions_may_be_left_out():
    X = make_rows(40, 0)
    eigenvalues = np.linalg.eigvalsh(RBF(X, X))
    found = low_rank_map(RBF, None, X, smallest=0.05)
    assert found.rank == np.sum(eigenvalues > 0.05 * eigenvalues[-1]) < 40


@pytest.mark.parametrize("n_landmarks", [None, 12])
@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_precomputed_equals_the_kernel_itself(as_matrix, n_landmarks):
    X_source, X = make_rows(20, 0), make_rows(30, 1)
    rows = np.vstack([X_source, X])
    K = as_matrix(rbf_kernel(rows, gamma=0.3))
    given = low_rank_map(Kernel("precomputed"), K[:20], K[20:], n_landmarks=n_landmarks)
    computed = low_rank_map(RBF, X_source, X, n_landmarks=n_landmarks)
    np.testing.assert_array_equal(rows[given.landmarks], computed.landmarks)
    one, two = given.transform(K), computed.transform(rows)
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-8)


def test_single_precision_rows_give_features_of_double():
    X = make_rows(30, 1, dtype=np.float32)
    found = low_rank_map(RBF, None, X, n_landmarks=10)
    assert found.landmarks.dtype == np.float32
    features = found.transform(X)
    assert features.dtype == np.float64
    expected = low_rank_map(RBF, None, X.astype(np.float64), n_landmarks=10).transform(X)
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-5)


def test_kernel_that_is_zero_has_one_feature_which_is_zero():
    X = make_rows(6, 0)
    found = low_rank_map(Kernel(lambda A, B: np.zeros((len(A), len(B)))), None, X)
    assert found.rank == 1
    np.testing.assert_array_equal(found.transform(X), 0.0)


def test_directions_below_zero_are_left_out():
    X = make_rows(8, 0)
    # One direction of negative square, as of a kernel function that is none.
    found = low_rank_map(Kernel(lambda A, B: A @ B.T - 2 * np.outer(A[:, 0], B[:, 0])), None, X)
    assert found.rank == N_FEATURES - 1
    assert np.all(np.isfinite(found.transform(X)))


def test_kernel_that_is_not_finite_is_refused_in_one_sentence():
    X = 1e200 * make_rows(6, 0)
    with pytest.raises(ValueError, match=r"not finite: the features are too large.*\.$"):
        low_rank_map(Kernel("poly", gamma=1.0, degree=3), None, X)


def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(_memory, "free_memory", lambda: 2**30)
    X = np.zeros((100_000, 1))
    tracemalloc.start()
    with pytest.raises(KernelMemoryError, match=r"kernel matrix of 100,000 landmarks needs .*GiB"):
        low_rank_map(RBF, None, X)
    found = low_rank_map(RBF, None, make_rows(200, 0), n_landmarks=150)
    with pytest.raises(KernelMemoryError, match=r"2,000,000 rows with 150 features.*n_components"):
        found.transform(np.broadcast_to(np.zeros((1, N_FEATURES)), (2_000_000, N_FEATURES)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6
