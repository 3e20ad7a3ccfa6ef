# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bagshift.kernels import Kernel, decision_values, resolve_kernel, unit_cross, unit_gram
from kernel_cases import (
    DTYPES,
    FORMATS,
    KERNELS,
    N_FEATURES,
    N_SOURCE,
    N_TARGET,
    TILES,
    averaging_matrix,
    dense,
    make_rows,
    reference_gram,
    tolerance,
)


@pytest.mark.parametrize("tile_rows", TILES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", KERNELS)
def test_gram_is_the_average_of_the_full_matrix(name, form, dtype, tile_rows, units):
    kernel, function = KERNELS[name]
    source, target = make_rows(N_SOURCE, 1, form, dtype), make_rows(N_TARGET, 2, form, dtype)
    gram = unit_gram(kernel, source, target, *units, tile_rows=tile_rows)
    assert gram.dtype == dtype
    assert gram.flags.c_contiguous
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(
        gram, reference_gram(function, source, target, *units), **tolerance(dtype)
    )
    smallest = np.linalg.eigvalsh(gram.astype(np.float64))[0]
    assert smallest > -1e-12 * len(gram) if dtype == np.float64 else smallest > -1e-4


@pytest.mark.parametrize("tile_rows", TILES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", KERNELS)
def test_cross_matches_averages(name, form, tile_rows, units):
    kernel, function = KERNELS[name]
    source, target = make_rows(N_SOURCE, 1, form), make_rows(N_TARGET, 2, form)
    rows = make_rows(11, 3, form)
    cross = unit_cross(kernel, rows, source, target, *units, tile_rows=tile_rows)
    averaged = function(dense(rows), dense(target)) @ averaging_matrix(*units).T
    np.testing.assert_allclose(cross[:, :N_SOURCE], function(dense(rows), dense(source)))
    np.testing.assert_allclose(cross[:, N_SOURCE:], averaged, atol=1e-12)


@pytest.mark.parametrize("form", FORMATS)
def test_precomputed_equals_direct(form, units):
    kernel, precomputed = KERNELS["rbf"][0], Kernel("precomputed")
    source, target, rows = (make_rows(n, n) for n in (N_SOURCE, N_TARGET, 11))
    stacked = np.vstack([source, target])
    full, new = kernel(stacked, stacked), kernel(rows, stacked)
    if form == "csr":
        full, new = sparse.csr_matrix(full), sparse.csr_matrix(new)
    parts = full[:N_SOURCE], full[N_SOURCE:]
    np.testing.assert_allclose(
        unit_gram(precomputed, *parts, *units, tile_rows=9),
        unit_gram(kernel, source, target, *units),
        atol=1e-13,
    )
    np.testing.assert_allclose(
        unit_cross(precomputed, new, *parts, *units, tile_rows=9),
        unit_cross(kernel, rows, source, target, *units),
        atol=1e-13,
    )
    support = np.array([70, 3, 40, 22])
    coefficients = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(
        decision_values(precomputed, new, support, coefficients, tile_rows=3),
        decision_values(kernel, rows, stacked[support], coefficients),
        atol=1e-13,
    )


def test_precomputed_needs_all_columns_and_has_no_function():
    with pytest.raises(ValueError, match="X_target has 4 columns"):
        unit_gram(Kernel("precomputed"), np.eye(2, 5), np.eye(3, 4), np.zeros(3, int), 1)
    with pytest.raises(ValueError, match="has no function"):
        Kernel("precomputed")(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="has no function"):
        Kernel("precomputed").diagonal(np.eye(2))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", KERNELS)
def test_one_domain_is_a_block_of_both(name, form, units):
    kernel = KERNELS[name][0]
    source, target = make_rows(N_SOURCE, 1, form), make_rows(N_TARGET, 2, form)
    gram = unit_gram(kernel, source, target, *units)
    empty, no_units = source[:0], np.full(N_TARGET, -1)
    for nothing in (None, empty):
        only_target = unit_gram(kernel, nothing, target, *units)
        np.testing.assert_allclose(only_target, gram[N_SOURCE:, N_SOURCE:], atol=1e-14)
        only_source = unit_gram(kernel, source, nothing, np.empty(0, int), 0)
        np.testing.assert_allclose(only_source, gram[:N_SOURCE, :N_SOURCE], atol=1e-14)
    np.testing.assert_array_equal(unit_gram(kernel, source, None, None, 0), only_source)
    np.testing.assert_array_equal(unit_gram(kernel, source, target, no_units, 0), only_source)
    assert unit_cross(kernel, empty, source, target, *units).shape == (0, N_SOURCE + units[1])


@settings(max_examples=60)
@given(st.lists(st.integers(-1, 5), max_size=25), st.integers(0, 6), st.integers(1, 9))
def test_any_grouping_and_tile_size(numbers, n_source, tile_rows):
    found, unit_of_row = np.unique([-1, *numbers], return_inverse=True)
    unit_of_row, n_units = unit_of_row[1:] - 1, len(found) - 1
    source, target = make_rows(n_source, 1), make_rows(len(unit_of_row), 2)
    kernel, function = KERNELS["rbf"]
    gram = unit_gram(kernel, source, target, unit_of_row, n_units, tile_rows=tile_rows)
    np.testing.assert_array_equal(gram, gram.T)
    if n_source + len(unit_of_row) > 0:
        reference = reference_gram(function, source, target, unit_of_row, n_units)
        np.testing.assert_allclose(gram, reference, rtol=1e-10)


@pytest.mark.parametrize(
    ("unit_of_row", "n_units", "message"),
    [
        ([0, 0], 1, "one entry for each of the 3 target rows"),
        ([0, 1, 2], 2, "below n_units=2"),
        ([0, -2, 0], 1, "must hold -1"),
        ([0, 2, 2], 3, "Unit 1 has no target rows"),
    ],
)
@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_units_that_do_not_fit_raise(name, unit_of_row, n_units, message):
    with pytest.raises(ValueError, match=message):
        unit_gram(Kernel(name), None, np.eye(3), np.array(unit_of_row), n_units)


def test_no_rows_at_all_raises():
    with pytest.raises(ValueError, match="needs source rows or target rows"):
        unit_gram(Kernel("rbf"), None, None, None, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_given_rows_are_not_changed(form, units):
    source, target = make_rows(N_SOURCE, 1, form), make_rows(N_TARGET, 2, form)
    for array in (source, target):
        (array.data if form == "csr" else array).flags.writeable = False
    for kernel, _ in KERNELS.values():
        unit_gram(kernel, source, target, *units)
    resolve_kernel("rbf", "scale", 3, 0.0, source, target)


def test_entries_stored_twice_count_as_their_sum(units):
    target = make_rows(N_TARGET, 2, "csr")
    halves = target.tocoo()
    twice = sparse.csr_matrix(
        (
            np.repeat(halves.data / 2, 2),
            np.repeat(halves.col, 2),
            np.concatenate([[0], np.cumsum(2 * np.diff(target.indptr))]),
        ),
        shape=target.shape,
    )
    assert twice.nnz == 2 * target.nnz
    for kernel, _ in KERNELS.values():
        np.testing.assert_allclose(
            unit_gram(kernel, None, twice, *units), unit_gram(kernel, None, target, *units)
        )
        np.testing.assert_allclose(kernel.diagonal(twice), kernel.diagonal(target))
    gamma = resolve_kernel("rbf", "scale", 3, 0.0, None, target).gamma
    assert resolve_kernel("rbf", "scale", 3, 0.0, None, twice).gamma == pytest.approx(gamma)
    assert twice.nnz == 2 * target.nnz


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
def test_rbf_of_a_row_with_itself_is_one(form, dtype, units):
    source, target = make_rows(N_SOURCE, 1, form, dtype), make_rows(N_TARGET, 2, form, dtype)
    unit_of_row, n_units = units
    gram = unit_gram(Kernel("rbf", gamma=0.3), source, target, unit_of_row, n_units, tile_rows=7)
    single = np.flatnonzero(np.bincount(unit_of_row[unit_of_row >= 0]) == 1)
    diagonal = np.diag(gram)
    assert len(single) == 2
    np.testing.assert_array_equal(diagonal[[*range(N_SOURCE), *(N_SOURCE + single)]], 1.0)
    assert gram.max() == 1.0


def test_single_precision_means_of_a_large_bag():
    rows = (100 + np.random.default_rng(0).normal(size=(20_000, 2))).astype(np.float32)
    mean = rows.mean(axis=0, dtype=np.float64)
    gram = unit_gram(Kernel("linear"), None, rows, np.zeros(len(rows), int), 1)
    assert gram[0, 0] == pytest.approx(mean @ mean, rel=2e-7)


def test_callable_sees_tiles_only_and_must_answer_per_pair(units):
    sizes = []

    def spying(A, B):
        sizes.extend([len(A), len(B)])
        return A @ B.T

    source, target = make_rows(N_SOURCE, 1), make_rows(N_TARGET, 2)
    gram = unit_gram(Kernel(spying), source, target, *units, tile_rows=10)
    assert max(sizes) == 10
    np.testing.assert_allclose(gram, unit_gram(Kernel("linear"), source, target, *units))
    with pytest.raises(ValueError, match="one value per pair of rows"):
        Kernel(lambda A, B: np.zeros(len(A)))(source, target)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_peak_memory_is_the_gram_and_a_few_tiles(name, form, dtype):
    n_source, n_units, size, tile_rows = 400, 150, 8, 128
    source, target = (make_rows(n, n, form, dtype) for n in (n_source, n_units * size))
    unit_of_row = np.random.default_rng(0).permutation(np.repeat(np.arange(n_units), size))
    tracemalloc.start()
    gram = unit_gram(KERNELS[name][0], source, target, unit_of_row, n_units, tile_rows=tile_rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    bookkeeping = 100 * len(unit_of_row) + 8 * 2 * n_units * N_FEATURES
    few_tiles = 8 * 8 * tile_rows * (tile_rows + N_FEATURES)
    assert gram.nbytes == (n_source + n_units) ** 2 * np.dtype(dtype).itemsize
    assert peak < gram.nbytes + few_tiles + bookkeeping
