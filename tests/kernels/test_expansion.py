# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc

import numpy as np
import pytest

from bagshift.kernels import decision_values, linear_weights
from kernel_cases import (
    DTYPES,
    FORMATS,
    KERNELS,
    N_FEATURES,
    N_SOURCE,
    N_TARGET,
    TILES,
    dense,
    make_rows,
)


@pytest.mark.parametrize("tile_rows", TILES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", KERNELS)
def test_decision_values_are_the_expansion(name, form, dtype, tile_rows):
    kernel, function = KERNELS[name]
    rows, support = make_rows(N_TARGET, 1, form, dtype), make_rows(N_SOURCE, 2, form, dtype)
    coefficients = np.random.default_rng(3).normal(size=(N_SOURCE, 2))
    values = decision_values(kernel, rows, support, coefficients, tile_rows=tile_rows)
    assert values.dtype == np.float64
    reference = function(dense(rows).astype(float), dense(support).astype(float)) @ coefficients
    np.testing.assert_allclose(
        values, reference, atol=1e-12 if dtype == np.float64 else 1e-4, rtol=1e-9
    )
    one = decision_values(kernel, rows, support, coefficients[:, 0], tile_rows=tile_rows)
    np.testing.assert_allclose(one, values[:, 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", FORMATS)
def test_linear_weights(form):
    support, coefficients = make_rows(N_SOURCE, 2, form), np.linspace(-1, 1, N_SOURCE)
    weights = linear_weights(support, coefficients, tile_rows=5)
    np.testing.assert_allclose(weights, dense(support).T @ coefficients, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_no_support_decides_nothing(name):
    rows = make_rows(4, 1)
    np.testing.assert_array_equal(
        decision_values(KERNELS[name][0], rows, rows[:0], np.empty(0)), np.zeros(4)
    )


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_peak_memory_of_decision_values_is_a_few_tiles(name):
    rows, support, tile_rows = make_rows(5000, 1), make_rows(4000, 2), 128
    tracemalloc.start()
    values = decision_values(KERNELS[name][0], rows, support, np.ones(4000), tile_rows=tile_rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes + 8 * 8 * tile_rows * (tile_rows + N_FEATURES)
