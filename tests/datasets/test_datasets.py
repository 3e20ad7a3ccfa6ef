# SPDX-License-Identifier: BSD-3-Clause
"""Example problems: sizes, disjoint images, exact shares, repeatable draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bagshift import Bags
from bagshift.datasets import make_bags, rotated_digits


def test_shares_are_exact_and_bags_equal() -> None:
    labels = np.random.default_rng(0).integers(0, 2, 83)
    bag_ids, shares = make_bags(labels, 8, random_state=1)
    assert np.bincount(bag_ids).tolist() == [8] * 10 + [3]
    for bag, share in shares.items():
        assert share == labels[bag_ids == bag].mean()
    bags = Bags.from_arrays(bag_ids, shares)
    assert bags.n_bags == 11


def test_bags_are_repeatable() -> None:
    labels = np.arange(20) % 2
    first, second = (make_bags(labels, 4, random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (make_bags(labels, 4, random_state=4)[0] != first).any()


def test_no_rows_and_no_size() -> None:
    assert make_bags([], 4)[1] == {}
    with pytest.raises(ValueError, match="bag_size"):
        make_bags([1], 0)


def test_rotated_digits_follow_the_protocol() -> None:
    digits = rotated_digits(random_state=0)
    assert digits.X_source.shape == (120, 64)
    assert digits.X_bagged.shape == (112, 64)
    assert digits.X_fresh.shape == (125, 64)
    assert np.bincount(digits.bag_ids).tolist() == [8] * 14
    for bag, share in digits.shares.items():
        assert share == digits.y_bagged[digits.bag_ids == bag].mean()
    for X in (digits.X_source, digits.X_bagged, digits.X_fresh):
        assert X.min() >= 0.0
        assert X.max() <= 1.0


def test_no_image_occurs_twice() -> None:
    digits = rotated_digits(angle=0.0, random_state=1)
    pixels, names = load_digits(return_X_y=True)
    chosen = np.isin(names, (3, 8))
    drawn = np.vstack([digits.X_source, digits.X_bagged, digits.X_fresh])
    labels = np.concatenate([digits.y_source, digits.y_bagged, digits.y_fresh])
    expected = np.column_stack([names[chosen] == 8, pixels[chosen] / 16])
    found = np.column_stack([labels, drawn])
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))


def test_images_are_turned_counterclockwise() -> None:
    upright = rotated_digits(angle=0.0, random_state=2).X_bagged.reshape(-1, 8, 8)
    turned = rotated_digits(angle=90.0, random_state=2).X_bagged.reshape(-1, 8, 8)
    np.testing.assert_allclose(turned, np.rot90(upright, axes=(1, 2)), atol=1e-12)


@pytest.mark.parametrize("pair", [(3, 3), (3, 10), (-1, 8)])
def test_pair_must_be_two_digits(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="two different digits"):
        rotated_digits(pair=pair)


def test_too_many_source_rows() -> None:
    with pytest.raises(ValueError, match="leaves no bag"):
        rotated_digits(n_source=350)
