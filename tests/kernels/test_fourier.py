# SPDX-License-Identifier: BSD-3-Clause
"""Fourier features: right on average, orthogonal, and better with more of them."""

import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi, kstest
from sklearn.metrics.pairwise import rbf_kernel

from bagshift.exceptions import KernelMemoryError
from bagshift.kernels import FourierMap, Kernel, _memory, fourier_map
from kernel_cases import KERNELS, N_FEATURES, dense, make_rows

GAMMA = 0.3
RBF = Kernel("rbf", gamma=GAMMA)


def draw(n_components, random_state=0, n_features=N_FEATURES):
    return fourier_map(RBF, n_features, n_components=n_components, random_state=random_state)


def inner_products(found, A, B):
    return found.transform(A) @ found.transform(B).T


@pytest.mark.parametrize(("n_features", "n_components"), [(1, 6), (3, 2), (3, 14), (5, 10)])
def test_mean_of_inner_products_is_the_kernel(n_features, n_components):
    A, B = np.random.default_rng(1).normal(size=(2, 4, n_features))
    draws = [inner_products(draw(n_components, seed, n_features), A, B) for seed in range(400)]
    standard_error = np.std(draws, axis=0) / np.sqrt(len(draws))
    difference = np.mean(draws, axis=0) - rbf_kernel(A, B, gamma=GAMMA)
    assert np.all(np.abs(difference) < 4 * standard_error + 1e-12)


def test_every_frequency_is_normal():
    found = [draw(2 * N_FEATURES, seed).frequencies / np.sqrt(2 * GAMMA) for seed in range(400)]
    # One frequency of each block: those of a block depend on each other.
    for column in range(N_FEATURES):
        alone = np.array([frequencies[:, column] for frequencies in found])
        assert kstest(alone.ravel(), "norm").pvalue > 1e-3
        lengths = np.linalg.norm(alone, axis=1)
        assert kstest(lengths, chi(N_FEATURES).cdf).pvalue > 1e-3


def test_frequencies_of_a_block_are_orthogonal():
    frequencies = draw(2 * (2 * N_FEATURES + 3)).frequencies
    assert frequencies.shape == (N_FEATURES, 2 * N_FEATURES + 3)
    products = frequencies.T @ frequencies
    for block in (slice(0, 5), slice(5, 10), slice(10, 13)):
        own = products[block, block]
        np.testing.assert_allclose(own, np.diag(np.diagonal(own)), atol=1e-13)
    assert np.abs(products[:5, 5:10]).min() > 1e-6


def test_fewer_frequencies_than_columns_are_orthogonal():
    frequencies = fourier_map(RBF, 50, n_components=12).frequencies
    products = frequencies.T @ frequencies
    np.testing.assert_allclose(products, np.diag(np.diagonal(products)), atol=1e-12)


def test_error_is_below_that_of_independent_frequencies():
    X, n_features = np.random.default_rng(2).normal(size=(12, 16)) / 2, 16
    pairs = np.tril_indices(len(X), -1)
    kernel = rbf_kernel(X, gamma=GAMMA)[pairs]
    squared = [
        (inner_products(draw(2 * n_features, seed, n_features), X, X)[pairs] - kernel) ** 2
        for seed in range(50)
    ]
    # The variance of cos(w'd) is (1 - k^2)^2 / 2.
    independent = (1 - kernel**2) ** 2 / (2 * n_features)
    assert np.mean(squared) < 0.8 * np.mean(independent)


def test_error_falls_with_the_root_of_the_number_of_features():
    X = make_rows(40, 0)
    kernel = rbf_kernel(X, gamma=GAMMA)

    def error(n_components):
        draws = [inner_products(draw(n_components, seed), X, X) for seed in range(5)]
        return np.sqrt(np.mean((np.array(draws) - kernel) ** 2))

    few, more, most = (error(n) for n in (20, 320, 5120))
    assert 3 < few / more < 5.5
    assert 3 < more / most < 5.5


def test_rows_have_length_one_and_only_differences_count():
    X = 3 * make_rows(30, 1)
    found = draw(16)
    features = found.transform(X)
    assert features.shape == (30, found.rank) == (30, 16)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)
    moved = found.transform(X + 7.0)
    np.testing.assert_allclose(moved @ moved.T, features @ features.T, atol=1e-12)


def test_features_are_cosines_then_sines():
    X = make_rows(6, 1)
    found = FourierMap(np.arange(10.0).reshape(N_FEATURES, 2))
    angles = X @ found.frequencies
    expected = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(2)
    np.testing.assert_allclose(found.transform(X), expected, atol=1e-14)


def test_rows_are_mapped_one_by_one():
    X = make_rows(2000, 1)
    found = draw(8)
    features = found.transform(X)
    for row in (0, 767, 768, 1999):
        np.testing.assert_allclose(features[row], found.transform(X[[row]])[0], atol=1e-13)
    assert found.transform(X[:0]).shape == (0, 8)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_equal_dense_ones(make):
    X = make_rows(50, 1, "csr")
    found = draw(20)
    features = found.transform(make(X))
    assert isinstance(features, np.ndarray)
    np.testing.assert_allclose(features, found.transform(dense(X)), atol=1e-13)


def test_entries_stored_twice_are_added_up():
    twice = sparse.csr_matrix(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, N_FEATURES))
    found = draw(20)
    np.testing.assert_allclose(found.transform(twice), found.transform(twice.toarray()))
    assert twice.nnz == 2


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_single_precision_rows_give_features_of_double(form):
    X = make_rows(30, 1, form, np.float32)
    features = draw(20).transform(X)
    assert features.dtype == np.float64
    np.testing.assert_allclose(features, draw(20).transform(X.astype(np.float64)), atol=1e-13)


def test_frequencies_follow_the_random_state():
    one = draw(20, 3).frequencies
    np.testing.assert_array_equal(one, draw(20, 3).frequencies)
    np.testing.assert_array_equal(one, draw(20, np.random.RandomState(3)).frequencies)
    assert not np.allclose(one, draw(20, 4).frequencies)


def test_frequencies_grow_with_the_root_of_gamma():
    wide = fourier_map(Kernel("rbf", gamma=0.1), 3, n_components=8)
    narrow = fourier_map(Kernel("rbf", gamma=0.4), 3, n_components=8)
    np.testing.assert_allclose(narrow.frequencies, 2 * wide.frequencies)


@pytest.mark.parametrize("name", ["linear", "poly", "callable", "precomputed"])
def test_other_kernels_are_refused(name):
    kernel = Kernel(name) if name == "precomputed" else KERNELS[name][0]
    named = "a function" if name == "callable" else repr(name)
    sentence = (
        f"Fourier features are of kernel='rbf' only, not of {named}: use landmarks "
        "(low_rank_map) for this kernel."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        fourier_map(kernel, N_FEATURES)


@pytest.mark.parametrize("n_components", [0, 1, 7, -2, 4.0, "auto", None])
def test_numbers_of_features_that_are_not_pairs_are_refused(n_components):
    expected = rf"^n_components={n_components!r} must be an even number, two or more: .*sine\.$"
    with pytest.raises(ValueError, match=expected):
        fourier_map(RBF, N_FEATURES, n_components=n_components)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_features_that_are_too_large_are_refused(form):
    X = 5e307 * make_rows(6, 0, form)
    found = FourierMap(np.full((N_FEATURES, 2), 3.0))
    with pytest.raises(ValueError, match=r"^The features are too large .*: scale them\.$"):
        found.transform(X)


def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(_memory, "free_memory", lambda: 2**30)
    found = draw(150)
    many = np.broadcast_to(np.zeros((1, N_FEATURES)), (2_000_000, N_FEATURES))
    tracemalloc.start()
    with pytest.raises(KernelMemoryError, match=r"500 frequencies for 900,000 columns needs"):
        fourier_map(RBF, 900_000, n_components=1000)
    with pytest.raises(KernelMemoryError, match=r"2,000,000 rows with 150 .*lower n_components"):
        found.transform(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6
