# SPDX-License-Identifier: BSD-3-Clause
"""The exponential of the core, seen through the kernel values it is there for."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from bagshift import _core

SMALLEST = np.finfo(np.float64).smallest_subnormal


def exponentials(distances, dtype=np.float64):
    """Compute ``exp(-distances)``: the distances of columns from a row at the origin."""
    products = np.zeros((1, len(distances)), dtype=dtype)
    _core.rbf_values(
        products=products, row_norms=np.zeros(1), column_norms=np.asarray(distances), gamma=1.0
    )
    return products[0]


def exact_exponentials(distances):
    with localcontext() as context:
        context.prec = 40
        return [(-Decimal(float(distance))).exp() for distance in distances]


def steps_off(values, exact, spacing):
    """Return how many units in the last place values are off."""
    return [
        float(abs(Decimal(float(value)) - true) / Decimal(float(spacing(float(true)))))
        for value, true in zip(values, exact, strict=True)
    ]


@pytest.fixture(scope="module")
def sample():
    """Take distances of every size, and those half way between two powers of two."""
    rng = np.random.default_rng(0)
    borders = (np.arange(1076) + 0.5) * np.log(2.0)
    return np.concatenate(
        [
            rng.uniform(0.0, 1.0, 4000),
            rng.uniform(0.0, 708.0, 4000),
            rng.uniform(708.0, 746.0, 4000),
            10.0 ** rng.uniform(-20.0, 0.0, 1000),
            borders,
            np.nextafter(borders, 0.0),
            np.nextafter(borders, 1e3),
        ]
    )


def test_values_are_within_one_unit_in_the_last_place(sample):
    off = steps_off(exponentials(sample), exact_exponentials(sample), np.spacing)
    assert max(off) < 1.0


def test_single_precision_is_within_one_unit_in_the_last_place(sample):
    sample = sample[sample < 103.0]
    values = exponentials(sample, np.float32)
    off = steps_off(values, exact_exponentials(sample), lambda true: np.spacing(np.float32(true)))
    assert max(off) < 1.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ends_of_the_range(dtype):
    distances = [0.0, -0.0, -1.0, -np.inf, 800.0, 1e300, np.inf, np.nan]
    expected = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, np.nan]
    np.testing.assert_array_equal(exponentials(distances, dtype), expected)


def test_the_last_number_before_zero():
    assert exponentials([745.1, 745.13, 745.14]).tolist() == [SMALLEST, SMALLEST, 0.0]


def test_a_value_does_not_depend_on_its_column(sample):
    """Columns are taken several at a time, and the last ones alone."""
    whole = exponentials(sample)
    np.testing.assert_array_equal([exponentials([x])[0] for x in sample[:500]], whole[:500])
    for start in range(1, 9):
        np.testing.assert_array_equal(exponentials(sample[start:]), whole[start:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_norms_are_distances(dtype):
    rng = np.random.default_rng(1)
    left, right = rng.integers(-3, 4, size=(5, 4)), rng.integers(-3, 4, size=(11, 4))
    values = np.ascontiguousarray(left @ right.T, dtype=dtype)
    norms = [(rows**2).sum(axis=1).astype(np.float64) for rows in (left, right)]
    _core.rbf_values(products=values, row_norms=norms[0], column_norms=norms[1], gamma=0.25)
    distances = ((left[:, None] - right) ** 2).sum(axis=2)
    np.testing.assert_array_equal(values, [exponentials(0.25 * d, dtype) for d in distances])


@pytest.mark.parametrize("n", [0, 1, 5, 31, 32, 33, 70])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_rows_on_both_sides(n, dtype):
    rows = np.random.default_rng(2).normal(size=(n, 3))
    products = (rows @ rows.T).astype(dtype)
    given = {"row_norms": (rows**2).sum(axis=1), "column_norms": (rows**2).sum(axis=1)}
    full, symmetric = products.copy(), np.where(np.tri(n, k=-1), products, dtype(np.nan))
    _core.rbf_values(products=full, **given, gamma=0.5)
    _core.rbf_values(products=symmetric, **given, gamma=0.5, same_rows=True)
    np.testing.assert_array_equal(symmetric, symmetric.T)
    np.testing.assert_array_equal(np.diag(symmetric), np.ones(n))
    below = np.tri(n, k=-1, dtype=bool)
    np.testing.assert_array_equal(symmetric[below], full[below])


def test_arrays_that_do_not_fit_are_refused():
    good = {"products": np.zeros((2, 3)), "row_norms": np.zeros(2), "column_norms": np.zeros(3)}
    _core.rbf_values(**good, gamma=1.0)
    fixed = np.zeros((2, 3))
    fixed.flags.writeable = False
    for changed in ({"row_norms": np.zeros(3)}, {"column_norms": np.zeros(2)}):
        with pytest.raises(ValueError, match="do not fit"):
            _core.rbf_values(**(good | changed), gamma=1.0)
    with pytest.raises(ValueError, match="square"):
        _core.rbf_values(**good, gamma=1.0, same_rows=True)
    for products in (np.zeros((3, 2)).T, np.zeros((2, 3), dtype=int), np.zeros(3), fixed):
        with pytest.raises(TypeError):
            _core.rbf_values(**(good | {"products": products}), gamma=1.0)
