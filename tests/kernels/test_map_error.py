# SPDX-License-Identifier: BSD-3-Clause
"""The error of a map: what it is, on which pairs, and that it is small for good maps."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from bagshift.kernels import Kernel, default_n_components, fourier_map, low_rank_map, map_error
from kernel_cases import KERNELS, N_FEATURES, dense, make_rows

RBF, TWIN = KERNELS["rbf"]


class Recorded:
    """A map to the columns, which remembers what it mapped."""

    rank = N_FEATURES

    def transform(self, X):
        self.rows = X
        return np.asarray(dense(X), dtype=np.float64)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("name", ["rbf", "poly", "callable"])
def test_all_pairs_give_the_error_by_its_formula(name, with_source, form):
    kernel, twin = KERNELS[name]
    X_source, X = make_rows(20, 0, form), make_rows(30, 1, form)
    X_source = X_source if with_source else None
    found = low_rank_map(kernel, X_source, X, n_landmarks=12)
    error = map_error(kernel, found, X_source, X, n_pairs=10**6)
    rows = dense(X) if X_source is None else np.vstack([dense(X_source), dense(X)])
    exact = twin(rows, rows)
    features = np.vstack([found.transform(part) for part in (X_source, X) if part is not None])
    differences = np.abs(features @ features.T - exact)[np.tril_indices(len(rows), -1)]
    scale = np.mean(np.diagonal(exact))
    assert error.n_pairs == len(rows) * (len(rows) - 1) // 2
    assert error.root_mean_square == pytest.approx(np.sqrt(np.mean(differences**2)) / scale)
    assert error.largest == pytest.approx(differences.max() / scale)


def test_exact_maps_have_no_error():
    X_source, X = make_rows(20, 0), make_rows(30, 1)
    for kernel in (RBF, KERNELS["poly"][0]):
        error = map_error(kernel, low_rank_map(kernel, X_source, X), X_source, X)
        assert error.root_mean_square <= error.largest < 1e-8
    assert map_error(Kernel("linear"), Recorded(), X_source, X).largest < 1e-14


def test_error_falls_with_the_number_of_features():
    X_source, X = make_rows(300, 0), make_rows(300, 1)

    def errors(make):
        return [map_error(RBF, make(n), X_source, X).root_mean_square for n in (20, 80, 320)]

    by_rows = errors(lambda n: low_rank_map(RBF, X_source, X, n_landmarks=n))
    by_frequencies = errors(lambda n: fourier_map(RBF, N_FEATURES, n_components=n))
    assert by_rows[0] > 2 * by_rows[1] > 4 * by_rows[2]
    assert by_frequencies[0] > 1.5 * by_frequencies[1] > 2.25 * by_frequencies[2]


def test_a_sample_tells_what_all_pairs_tell():
    """Also with the seed that drew the landmarks, which the sample must not draw again."""
    X_source, X = make_rows(400, 0), make_rows(500, 1)
    for seed in range(3):
        found = low_rank_map(RBF, X_source, X, n_landmarks=60, random_state=seed)
        everything = map_error(RBF, found, X_source, X, n_pairs=10**6)
        some = map_error(RBF, found, X_source, X, n_pairs=5000, random_state=seed)
        assert some.root_mean_square == pytest.approx(everything.root_mean_square, rel=0.3)
        assert some.largest <= everything.largest * (1 + 1e-9)


@pytest.mark.parametrize("n_pairs", [1, 10, 4000])
def test_rows_are_the_fewest_with_so_many_pairs_half_of_each_domain(n_pairs):
    X_source, X = make_rows(200, 0) + 100, make_rows(300, 1)
    recorded = Recorded()
    error = map_error(RBF, recorded, X_source, X, n_pairs=n_pairs)
    n_rows = len(recorded.rows)
    assert (n_rows - 1) * (n_rows - 2) // 2 < n_pairs <= error.n_pairs
    assert error.n_pairs == n_rows * (n_rows - 1) // 2
    assert np.sum(recorded.rows[:, 0] > 50) == n_rows // 2
    assert len(np.unique(recorded.rows, axis=0)) == n_rows


def test_error_follows_the_random_state():
    X_source, X = make_rows(200, 0), make_rows(300, 1)
    found = low_rank_map(RBF, X_source, X, n_landmarks=30)

    def error(random_state):
        return map_error(RBF, found, X_source, X, n_pairs=500, random_state=random_state)

    assert error(3) == error(3) == error(np.random.RandomState(3))
    assert error(3) != error(4)


def test_error_is_relative_to_the_kernel_of_a_row_with_itself():
    X = make_rows(60, 0)
    larger = Kernel(lambda A, B: 7.0 * TWIN(A, B))
    one, two = (
        map_error(kernel, low_rank_map(kernel, None, X, n_landmarks=15), None, X)
        for kernel in (RBF, larger)
    )
    assert one.root_mean_square == pytest.approx(two.root_mean_square)
    assert one.largest == pytest.approx(two.largest)


def test_precomputed_equals_the_kernel_itself():
    X_source, X = make_rows(40, 0), make_rows(50, 1)
    K = rbf_kernel(np.vstack([X_source, X]), gamma=0.3)
    given = Kernel("precomputed")
    by_matrix = low_rank_map(given, K[:40], K[40:], n_landmarks=12)
    by_rows = low_rank_map(RBF, X_source, X, n_landmarks=12)
    one = map_error(given, by_matrix, K[:40], K[40:], n_pairs=300)
    two = map_error(RBF, by_rows, X_source, X, n_pairs=300)
    assert one.root_mean_square == pytest.approx(two.root_mean_square, rel=1e-6)
    assert one.largest == pytest.approx(two.largest, rel=1e-6)


def test_kernel_that_is_zero_has_no_error():
    X = make_rows(6, 0)
    kernel = Kernel(lambda A, B: np.zeros((len(A), len(B))))
    assert map_error(kernel, low_rank_map(kernel, None, X), None, X).largest == 0.0


def test_too_few_rows_or_pairs_are_refused():
    X = make_rows(5, 0)
    found = low_rank_map(RBF, None, X)
    with pytest.raises(ValueError, match=r"two rows or more .* 1 rows and n_pairs=20000\.$"):
        map_error(RBF, found, None, X[:1])
    with pytest.raises(ValueError, match=r"n_pairs of one or more.* 5 rows and n_pairs=0\.$"):
        map_error(RBF, found, None, X, n_pairs=0)


def test_more_rows_have_no_fewer_features_by_default():
    numbers = [default_n_components(n) for n in (1, 1000, 10_000, 100_000, 10**6, 10**9)]
    assert numbers == sorted(numbers)
    assert all(n % 2 == 0 and n >= 100 for n in numbers)
