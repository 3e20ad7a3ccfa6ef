# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of several widths by one exponential."""

import tracemalloc
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from bagshift.exceptions import KernelMemoryError
from bagshift.kernels import Kernel, _memory, unit_cross, unit_crosses, unit_gram, unit_grams
from bagshift.kernels._ladders import MOST_SQUARES, ladder_values, ladders
from kernel_cases import (
    DTYPES,
    FORMATS,
    KERNELS,
    N_FEATURES,
    N_SOURCE,
    N_TARGET,
    TILES,
    make_rows,
    reference_gram,
    tolerance,
)

PAPER = [Kernel("rbf", gamma=0.11 * 2.0**k) for k in range(-6, 7)]
SMALLEST_NORMAL = np.finfo(np.float64).tiny


@pytest.fixture
def exponentials(monkeypatch):
    """Count the kernel values that are computed from rows."""
    counted = []
    compute = Kernel.__call__

    def counting(kernel, A, B):
        values = compute(kernel, A, B)
        counted.append(values.size)
        return values

    monkeypatch.setattr(Kernel, "__call__", counting)
    return counted


def test_thirteen_widths_are_good_to_twelve_digits():
    """Exponents of whole numbers and a short gamma are exact, so decimals tell every digit."""
    places = np.arange(-40.0, 41.0)[:, None]
    kernels = [Kernel("rbf", gamma=0.6875 * 2.0**k) for k in range(-12, 1)]
    for kernel, values in zip(kernels, ladder_values(kernels, places, places), strict=True):
        exact = np.array([float((-Decimal(kernel.gamma) * k * k).exp()) for k in range(81)])
        exact = exact[abs(places - places.T).astype(int)]
        normal = exact > SMALLEST_NORMAL
        assert normal.mean() > 0.5
        np.testing.assert_allclose(values[normal], exact[normal], rtol=1e-12)
        np.testing.assert_allclose(values[~normal], 0.0, atol=SMALLEST_NORMAL)


@pytest.mark.parametrize("form", FORMATS)
def test_a_ladder_equals_exponentials_of_the_same_distances(form):
    A, B = make_rows(30, 1, form), make_rows(40, 2, form)
    for kernel, values in zip(PAPER, ladder_values(PAPER, A, B), strict=True):
        direct = kernel(A, B)
        normal = direct > SMALLEST_NORMAL
        np.testing.assert_allclose(values[normal], direct[normal], rtol=1e-12)


@pytest.mark.parametrize("tile_rows", TILES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
def test_grams_are_averages_of_the_full_matrices(form, dtype, tile_rows, units):
    source, target = make_rows(N_SOURCE, 1, form, dtype), make_rows(N_TARGET, 2, form, dtype)
    grams = unit_grams(PAPER, source, target, *units, tile_rows=tile_rows)
    for kernel, gram in zip(PAPER, grams, strict=True):

        def function(A, B, gamma=kernel.gamma):
            return np.exp(-gamma * cdist(A, B, "sqeuclidean"))

        assert gram.dtype == dtype
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_allclose(
            gram, reference_gram(function, source, target, *units), **tolerance(dtype)
        )
        np.testing.assert_array_equal(np.diag(gram)[:N_SOURCE], 1.0)


@pytest.mark.parametrize("tile_rows", TILES)
@pytest.mark.parametrize("form", FORMATS)
def test_every_kind_of_kernel_among_others(form, tile_rows, units):
    kernels = [PAPER[3], *(kernel for kernel, _ in KERNELS.values()), PAPER[9], PAPER[0]]
    source, target = make_rows(N_SOURCE, 1, form), make_rows(N_TARGET, 2, form)
    rows = make_rows(11, 3, form)
    grams = unit_grams(kernels, source, target, *units, tile_rows=tile_rows)
    crosses = unit_crosses(kernels, rows, source, target, *units, tile_rows=tile_rows)
    for kernel, gram, cross in zip(kernels, grams, crosses, strict=True):
        one = unit_gram(kernel, source, target, *units, tile_rows=tile_rows)
        np.testing.assert_allclose(gram, one, rtol=1e-12)
        one = unit_cross(kernel, rows, source, target, *units, tile_rows=tile_rows)
        np.testing.assert_allclose(cross, one, rtol=1e-12)


def test_all_widths_take_one_exponential_per_value(units, exponentials):
    source, target = make_rows(N_SOURCE, 1), make_rows(N_TARGET, 2)
    unit_gram(PAPER[0], source, target, *units, tile_rows=16)
    alone = sum(exponentials)
    exponentials.clear()
    unit_grams(PAPER, source, target, *units, tile_rows=16)
    assert sum(exponentials) == alone
    exponentials.clear()
    unit_crosses(PAPER, make_rows(11, 3), source, target, *units)
    assert sum(exponentials) == 11 * (N_SOURCE + np.count_nonzero(units[0] >= 0))


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.sampled_from([1.0, 1.5, 0.7]), st.integers(-40, 40)), min_size=1, max_size=12
    )
)
def test_ladders_share_out_any_kernels(numbers):
    kernels = [Kernel("rbf", gamma=m * 2.0**k) for m, k in numbers]
    found = ladders(kernels)
    assert sorted(i for ladder in found for i in ladder) == list(range(len(kernels)))
    for ladder in found:
        steps = np.log2([kernels[i].gamma / kernels[ladder[0]].gamma for i in ladder])
        np.testing.assert_array_equal(steps, np.round(steps))
        assert (np.diff(steps) >= 0).all()
        assert steps[-1] <= MOST_SQUARES
    rows = make_rows(9, 4)
    for kernel, gram in zip(kernels, unit_grams(kernels, rows, None, None, 0), strict=True):
        direct = kernel(rows, rows)
        normal = direct > SMALLEST_NORMAL
        np.testing.assert_allclose(gram[normal], direct[normal], rtol=1e-12)


def test_kernels_without_widths_stand_alone():
    kernels = [Kernel("linear"), Kernel("poly"), Kernel("poly"), Kernel("rbf"), Kernel("rbf")]
    assert sorted(ladders(kernels)) == [[0], [1], [2], [3, 4]]
    assert ladders([]) == []
    assert unit_grams([], make_rows(3, 1), None, None, 0) == []


def test_single_precision_is_not_squared():
    """Squares of single precision would be wrong in the fourth digit."""
    rows = make_rows(50, 1, dtype=np.float32)
    gram = unit_grams(PAPER, rows, None, None, 0)[-1]
    exact = np.exp(-PAPER[-1].gamma * cdist(rows.astype(float), rows.astype(float), "sqeuclidean"))
    np.testing.assert_allclose(gram, exact, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("form", FORMATS)
def test_peak_memory_is_the_grams_and_a_few_tiles(form):
    n_source, n_units, size, tile_rows = 300, 100, 8, 128
    source, target = make_rows(n_source, 1, form), make_rows(n_units * size, 2, form)
    unit_of_row = np.random.default_rng(0).permutation(np.repeat(np.arange(n_units), size))
    tracemalloc.start()
    grams = unit_grams(PAPER, source, target, unit_of_row, n_units, tile_rows=tile_rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    few_tiles = 8 * 8 * tile_rows * (tile_rows + N_FEATURES)
    assert peak < sum(gram.nbytes for gram in grams) + few_tiles + 100 * len(unit_of_row)


def test_several_matrices_are_refused_together(monkeypatch):
    rows = np.zeros((1000, 1))
    monkeypatch.setattr(_memory, "free_memory", lambda: 13 * 8 * 10**6 - 1)
    with pytest.raises(KernelMemoryError, match="13 kernel matrices over 1,000 source rows needs"):
        unit_grams(PAPER, rows, None, None, 0)
    with pytest.raises(KernelMemoryError, match="13 kernel matrices of 1,000 rows with"):
        unit_crosses(PAPER, rows, rows, None, None, 0)
    assert unit_gram(PAPER[0], rows, None, None, 0).shape == (1000, 1000)
