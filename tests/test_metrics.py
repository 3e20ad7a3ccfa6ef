# SPDX-License-Identifier: BSD-3-Clause
"""Share errors against plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagshift import BagError, Bags, GaussianNoise
from bagshift.metrics import (
    constant_share_error,
    expected_share_error,
    expected_share_errors,
    expected_shares,
    overall_share,
    predicted_shares,
    share_error,
    share_errors,
    soft_share_error,
    soft_share_errors,
)


def random_bags(seed):
    """Draw bags of unequal declared sizes, rows in no bag, and decision values."""
    rng = np.random.default_rng(seed)
    n_bags = rng.integers(1, 6)
    ids = [*range(n_bags), *rng.integers(0, n_bags, 20), *[Bags.NO_BAG] * 3]
    rng.shuffle(ids)
    sizes = {bag: ids.count(bag) + int(rng.integers(0, 50)) for bag in range(n_bags)}
    shares = dict(enumerate(rng.random(n_bags)))
    return Bags.from_arrays(ids, shares, sizes=sizes), rng.normal(size=len(ids))


def test_columns_are_errors_of_their_own():
    bags, decision = random_bags(3)
    columns = np.column_stack([decision, decision - 0.5, -decision])
    hard, soft = share_errors(bags, columns > 0), soft_share_errors(bags, columns)
    for k, column in enumerate(columns.T):
        np.testing.assert_array_equal(hard[:, k], share_errors(bags, column > 0))
        np.testing.assert_allclose(soft[:, k], soft_share_errors(bags, column), atol=1e-15)


@given(st.integers(0, 2**32 - 1))
def test_against_loops(seed):
    bags, decision = random_bags(seed)
    total = sum(bags.sizes)
    hard = soft = expected = constant = 0.0
    probability = 1 / (1 + np.exp(-decision))
    overall = sum(bags.sizes * bags.positive_shares) / total
    for bag in range(bags.n_bags):
        values = [value for value, at in zip(decision, bags.bag_index, strict=True) if at == bag]
        predicted = sum(value > 0 for value in values) / len(values)
        given_share = bags.positive_shares[bag]
        assert predicted_shares(bags, decision > 0)[bag] == pytest.approx(predicted)
        assert share_errors(bags, decision > 0)[bag] == pytest.approx(predicted - given_share)
        hard += bags.sizes[bag] / total * abs(predicted - given_share)
        mean = sum(values) / len(values)
        soft += bags.sizes[bag] / total * abs(1 / (1 + math.exp(-mean)) - given_share)
        share = sum(1 / (1 + math.exp(-value)) for value in values) / len(values)
        assert expected_shares(bags, probability)[bag] == pytest.approx(share)
        assert expected_share_errors(bags, probability)[bag] == pytest.approx(share - given_share)
        expected += bags.sizes[bag] / total * abs(share - given_share)
        constant += bags.sizes[bag] / total * abs(overall - given_share)
    assert share_error(bags, decision > 0) == pytest.approx(hard)
    assert soft_share_error(bags, decision) == pytest.approx(soft)
    assert expected_share_error(bags, probability) == pytest.approx(expected)
    assert overall_share(bags) == pytest.approx(overall)
    assert constant_share_error(bags) == pytest.approx(constant)


@given(st.integers(0, 2**32 - 1))
def test_permuting_rows_within_bags_changes_nothing(seed):
    bags, decision = random_bags(seed)
    rows = bags.rows_in_bags()
    for bag in range(bags.n_bags):
        own = rows[bags.bag_index[rows] == bag]
        decision[own] = np.random.default_rng(seed).permutation(decision[own])
    original, values = random_bags(seed)
    assert share_error(bags, decision > 0) == pytest.approx(share_error(original, values > 0))
    assert soft_share_error(bags, decision) == pytest.approx(soft_share_error(original, values))


def test_best_and_worst():
    bags = Bags.from_arrays(["a", "a", "b"], {"a": 1.0, "b": 0.0})
    truth = np.array([True, True, False])
    assert share_error(bags, truth) == 0.0
    assert share_error(bags, ~truth) == 1.0
    assert soft_share_error(bags, np.where(truth, 50.0, -50.0)) == pytest.approx(0.0)


def test_expected_shares_are_right_where_no_row_is_likelier_positive_than_not():
    bags = Bags.from_arrays(["a"] * 10, {"a": 0.3})
    probability = np.full(10, 0.3)
    assert share_error(bags, probability > 0.5) == pytest.approx(0.3)
    assert expected_share_error(bags, probability) == pytest.approx(0.0)


def test_noise_evens_out_in_the_overall_share():
    law = GaussianNoise(0.5, unit="shares")
    bags = Bags.from_arrays(["a", "b"], {"a": -0.4, "b": 1.0}, noise=law)
    assert overall_share(bags) == pytest.approx(0.3)
    assert constant_share_error(bags) == pytest.approx(0.5)


def test_no_bags():
    with pytest.raises(BagError, match="no row is in a bag"):
        share_error(Bags.unlabelled(2), np.array([True, False]))
    assert predicted_shares(Bags.unlabelled(2), np.array([True, False])).shape == (0,)


@pytest.mark.parametrize("labels", [[1, -1, 1], ["yes", "no", "yes"], [0.2, 0.9, 0.1]])
def test_labels_are_not_mistaken_for_flags(labels):
    bags = Bags.from_arrays(["a", "a", "b"], {"a": 1.0, "b": 0.0})
    with pytest.raises(TypeError, match="True or False for every row"):
        predicted_shares(bags, labels)


def test_lengths_disagree():
    bags = Bags.from_arrays(["a", "a", "b"], {"a": 1.0, "b": 0.0})
    with pytest.raises(BagError, match="must have 3 rows"):
        share_error(bags, np.array([True]))


def test_masked_flags_are_refused():
    bags = Bags.from_arrays(["a", "a", "b"], {"a": 1.0, "b": 0.0})
    with pytest.raises(BagError, match="masked"):
        share_error(bags, np.ma.array([True, False, True], mask=[False, True, False]))
