# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

from bagshift.kernels import Kernel
from kernel_cases import DTYPES, FORMATS, KERNELS, dense, make_rows, tolerance


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_matches_scikit_learn(name, form, dtype):
    kernel, function = KERNELS[name]
    A, B = make_rows(9, 1, form, dtype), make_rows(14, 2, form, dtype)
    values = kernel(A, B)
    assert values.dtype == dtype
    reference = function(dense(A).astype(float), dense(B).astype(float))
    np.testing.assert_allclose(values, reference, **tolerance(dtype))
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)), rtol=1e-5)


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_powers(degree):
    A, B = make_rows(4, 1), make_rows(6, 2)
    values = Kernel("poly", 0.5, degree, 1.0)(A, B)
    np.testing.assert_allclose(values, (0.5 * A @ B.T + 1.0) ** degree)


@pytest.mark.parametrize("gamma", [1e-3, 0.02, 1.0, 50.0])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_single_precision_rbf_is_accurate_for_any_width_and_origin(gamma, shift):
    rows = (shift + np.random.default_rng(0).normal(size=(300, 20))).astype(np.float32)
    rows[::7] = rows[1::7] + np.float32(1e-2)
    double = rows.astype(np.float64)
    distances = ((double[:, None] - double) ** 2).sum(axis=2)
    error = np.abs(Kernel("rbf", gamma)(rows, rows.copy()) - np.exp(-gamma * distances))
    assert error.max() < 3e-6


def test_single_precision_rbf_of_huge_numbers_does_not_overflow():
    rows = np.array([[1e25], [2e25]], dtype=np.float32)
    np.testing.assert_array_equal(Kernel("rbf")(rows, rows), np.eye(2))
