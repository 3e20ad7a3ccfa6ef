# SPDX-License-Identifier: BSD-3-Clause
"""Labels with exact counts against trying all labels."""

from itertools import product

import numpy as np
import pytest

from bagshift.estimators._exact_counts import count_excess, expected_counts, label_top_counts


def hinge_sum(signs, scores):
    return np.maximum(0, 1 - signs * scores).sum(axis=-1)


def all_labels(bag_index, counts):
    """Return every label vector whose numbers of positives are nearest to the counts."""
    labels = np.array(list(product([-1.0, 1.0], repeat=len(bag_index))))
    n_positive = np.stack(
        [(labels[:, bag_index == k] > 0).sum(axis=1) for k in range(len(counts))]
    )
    return labels[np.all(np.abs(n_positive.T - counts) <= 0.5, axis=1)]


@pytest.mark.parametrize("seed", range(40))
def test_labels_have_the_least_hinge_sum_of_all_with_the_counts(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 11))
    bag_index = rng.permutation(np.unique(rng.integers(0, 4, n_rows), return_inverse=True)[1])
    counts = rng.random(bag_index.max() + 1) * np.bincount(bag_index)
    counts = np.rint(2 * counts) / 2 if seed % 2 else np.rint(counts)
    scores = rng.normal(size=n_rows) * 10.0 ** rng.integers(-1, 2)
    signs = label_top_counts(scores, bag_index, counts)
    allowed = all_labels(bag_index, counts)
    assert np.any(np.all(allowed == signs, axis=1))
    assert hinge_sum(signs, scores) <= hinge_sum(allowed, scores).min() + 1e-12


@pytest.mark.parametrize("price", [0.0, 0.3, 2.0, np.inf])
@pytest.mark.parametrize("seed", range(20))
def test_priced_labels_are_the_best_of_all(seed, price):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 11))
    bag_index = rng.permutation(np.unique(rng.integers(0, 3, n_rows), return_inverse=True)[1])
    sizes = np.bincount(bag_index)
    counts = rng.random(len(sizes)) * sizes
    counts = np.rint(2 * counts) / 2 if seed % 2 else counts
    slack = rng.random(len(sizes)) * sizes * (seed % 3 > 0)
    scores = rng.normal(size=n_rows) * 10.0 ** rng.integers(-1, 2)
    allowed = np.array(list(product([-1.0, 1.0], repeat=n_rows)))
    excess = np.array([count_excess(signs, bag_index, counts, slack) for signs in allowed])
    if price == np.inf:
        is_nearest = np.all(excess <= excess.min(axis=0) + 1e-9, axis=1)
        allowed, excess = allowed[is_nearest], 0.0 * excess[is_nearest]
    losses = hinge_sum(allowed, scores) + (0.0 if price == np.inf else price) * excess.sum(axis=1)
    signs = label_top_counts(scores, bag_index, counts, price=price, slack=slack)
    chosen = np.flatnonzero(np.all(allowed == signs, axis=1))
    assert losses[chosen[0]] <= losses.min() + 1e-9


def test_excess_is_what_lies_beyond_the_slack():
    signs, bag_index = np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1])
    excess = count_excess(signs, bag_index, np.array([0.5, 0.2, 0.0]), np.array([0.5, 1.0, 0.0]))
    np.testing.assert_array_equal(excess, [1.0, 0.0, 0.0])


def test_order_of_rows_and_numbers_of_bags_do_not_matter():
    rng = np.random.default_rng(0)
    bag_index, scores = np.repeat(np.arange(20), 5), rng.normal(size=100)
    counts = rng.integers(0, 6, 20)
    signs = label_top_counts(scores, bag_index, counts)
    rows, bags = rng.permutation(100), rng.permutation(20)
    new_counts = np.empty(20)
    new_counts[bags] = counts
    shuffled = label_top_counts(scores[rows], bags[bag_index[rows]], new_counts)
    np.testing.assert_array_equal(shuffled, signs[rows])


def test_other_class_gets_the_other_rows():
    rng = np.random.default_rng(1)
    bag_index, scores = np.repeat(np.arange(30), 5), rng.normal(size=150)
    shares = np.repeat([0.1, 0.3, 0.5, 0.7, 1.0], 6)
    counts = expected_counts(shares, np.full(30, 5))
    rest = expected_counts(1 - shares, np.full(30, 5))
    np.testing.assert_array_equal(
        label_top_counts(scores, bag_index, counts), -label_top_counts(-scores, bag_index, rest)
    )


def test_equal_scores_keep_their_labels():
    previous = np.array([-1.0, 1.0, -1.0, 1.0])
    one_bag = np.zeros(4, dtype=int)
    signs = label_top_counts(np.zeros(4), one_bag, np.array([2]), previous=previous)
    np.testing.assert_array_equal(signs, previous)
    signs = label_top_counts(np.zeros(4), one_bag, np.array([2]))
    np.testing.assert_array_equal(signs, [1, 1, -1, -1])


def test_no_rows_no_labels():
    assert len(label_top_counts(np.empty(0), np.empty(0, dtype=int), np.empty(0))) == 0


def test_counts_are_free_of_rounding_errors_and_within_the_bag():
    shares = np.array([0.3, 1 - 0.7, 7 / 9, -0.2, 1.4, 0.24])
    sizes = np.array([5, 5, 9, 4, 4, 10])
    counts = expected_counts(shares, sizes)
    np.testing.assert_array_equal(counts[:5], [1.5, 1.5, 7, 0, 4])
    assert counts[5] == pytest.approx(2.4)
