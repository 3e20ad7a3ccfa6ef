# SPDX-License-Identifier: BSD-3-Clause
"""The likelihood of the counts of several classes, against enumeration and its own gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from bagshift.solvers._class_tilt import tilted
from bagshift.solvers.class_counts import ClassCounts, class_count_posterior
from bagshift.solvers.count_likelihood import BagCounts, count_posterior


def enumerate_labels(scores, counts):
    """Return log P(counts) and the posterior by going through all labellings."""
    log_chances = log_softmax(scores, axis=1)
    n_rows, n_classes = scores.shape
    total, posterior = [], []
    for labels in itertools.product(range(n_classes), repeat=n_rows):
        if np.array_equal(np.bincount(labels, minlength=n_classes), counts):
            total.append(log_chances[range(n_rows), labels].sum())
            posterior.append(np.eye(n_classes)[list(labels)])
    log_probability = np.logaddexp.reduce(total)
    weights = np.exp(np.array(total) - log_probability)
    return log_probability, np.tensordot(weights, posterior, axes=1)


def draw(rng, n_rows, n_classes, scale, likely=True):
    """Return scores, and counts that are likely under them or have nothing to do with them."""
    scores = scale * rng.normal(size=(n_rows, n_classes))
    chances = np.exp(log_softmax(scores, axis=1))
    labels = [rng.choice(n_classes, p=p if likely else None) for p in chances]
    return scores, np.bincount(labels, minlength=n_classes)


def one_bag(counts):
    return ClassCounts([0, sum(counts)], [counts])


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 40.0])
def test_enumeration(n_classes, scale):
    rng = np.random.default_rng(n_classes)
    for n_rows in (1, 2, 5, 8 if n_classes < 4 else 6):
        for likely in (True, False):
            scores, counts = draw(rng, n_rows, n_classes, scale, likely)
            found = class_count_posterior(scores, one_bag(counts))
            log_probability, posterior = enumerate_labels(scores, counts)
            assert found.is_exact.all()
            np.testing.assert_allclose(
                found.log_likelihood[0], log_probability, rtol=1e-10, atol=1e-12
            )
            np.testing.assert_allclose(found.probability, posterior, atol=1e-10)


def test_two_classes_are_the_binomial_recursion():
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=(40, 2))
    positives = np.array([3, 0, 20])
    sizes = np.array([8, 5, 27])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    found = class_count_posterior(
        scores, ClassCounts(starts, np.column_stack([sizes - positives, positives]))
    )
    expected = count_posterior(scores[:, 1] - scores[:, 0], BagCounts.exact(positives, sizes))
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-10)
    np.testing.assert_allclose(found.probability[:, 1], expected.probability, atol=1e-10)


@pytest.mark.parametrize("most_states", [10**6, 0], ids=["exact", "approximate"])
def test_gradient(most_states):
    rng = np.random.default_rng(1)
    for scale in (0.5, 3.0):
        scores, counts = draw(rng, 9, 4, scale)
        bag = one_bag(counts)
        found = class_count_posterior(scores, bag, most_states=most_states)
        gradient = found.probability - np.exp(log_softmax(scores, axis=1))
        for row, place in ((0, 0), (3, 1), (5, 2), (8, 3)):
            step = np.zeros_like(scores)
            step[row, place] = 1e-5
            ahead, back = (
                class_count_posterior(scores + sign * step, bag, most_states=most_states)
                for sign in (1, -1)
            )
            difference = (ahead.log_likelihood - back.log_likelihood)[0] / 2e-5
            assert gradient[row, place] == pytest.approx(difference, abs=1e-7)


@pytest.mark.parametrize("most_states", [10**6, 0], ids=["exact", "approximate"])
@pytest.mark.parametrize("scale", [0.5, 5.0, 60.0])
def test_invariances(most_states, scale):
    rng = np.random.default_rng(2)
    scores, counts = draw(rng, 12, 4, scale, likely=False)

    def find(scores, counts):
        return class_count_posterior(scores, one_bag(counts), most_states=most_states)

    found = find(scores, counts)
    np.testing.assert_allclose(found.probability.sum(axis=0), counts, atol=1e-9)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1, atol=1e-9)
    assert found.log_likelihood[0] <= 0
    rows, classes = rng.permutation(12), rng.permutation(4)
    turned = find(scores[rows][:, classes], counts[classes])
    atol = 1e-9 if scale < 60 else 1e-6
    np.testing.assert_allclose(turned.log_likelihood, found.log_likelihood, rtol=1e-9, atol=atol)
    np.testing.assert_allclose(turned.probability, found.probability[rows][:, classes], atol=atol)
    shifted = find(scores + rng.normal(size=(12, 1)), counts)
    np.testing.assert_allclose(shifted.probability, found.probability, atol=atol)


# Mean and largest error of a probability, over 30 bags; what this module states of itself.
ERRORS = {
    (3, 12, 0.3): (0.002, 0.02),
    (4, 12, 1.0): (0.006, 0.10),
    (5, 14, 3.0): (0.015, 0.20),
    (10, 12, 3.0): (0.015, 0.25),
    (10, 12, 10.0): (0.012, 0.30),
}


@pytest.mark.parametrize(("n_classes", "n_rows", "scale"), list(ERRORS))
def test_error_of_the_approximation(n_classes, n_rows, scale):
    rng = np.random.default_rng(3)
    errors, of_tilt, excess = [], [], []
    for number in range(30):
        scores, counts = draw(rng, n_rows, n_classes, scale, likely=number % 2 == 0)
        bag = one_bag(counts)
        exact = class_count_posterior(scores, bag, most_states=10**7)
        assert exact.is_exact.all()
        found = class_count_posterior(scores, bag, most_states=0)
        errors.append(np.abs(found.probability - exact.probability))
        chances = tilted(scores, bag.starts, bag.counts, tol=1e-12).chances
        of_tilt.append(np.abs(chances - exact.probability))
        excess.append((found.log_likelihood - exact.log_likelihood)[0])
    mean, largest = ERRORS[n_classes, n_rows, scale]
    assert np.mean(errors) < mean
    assert np.max(errors) < largest
    assert np.mean(errors) < 0.65 * np.mean(of_tilt)
    assert np.max(excess) < 0.05  # hardly ever likelier than it is


def test_bags_of_one_row_and_of_one_class():
    scores = np.array([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0], [2.0, 2.0, 2.0]])
    found = class_count_posterior(scores, ClassCounts([0, 1, 3], [[0, 1, 0], [2, 0, 0]]))
    log_chances = log_softmax(scores, axis=1)
    np.testing.assert_allclose(
        found.log_likelihood, [log_chances[0, 1], log_chances[1:, 0].sum()], rtol=1e-12
    )
    assert found.probability.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("most_states", [10**6, 0], ids=["exact", "approximate"])
@pytest.mark.parametrize("size", [40.0, 1e4])
def test_separated_scores_against_the_counts(most_states, size):
    """Sixty rows that are sure of one class, where the counts say three."""
    scores = np.zeros((60, 3))
    scores[:, 0] = size * np.linspace(0.5, 1.0, 60)
    found = class_count_posterior(scores, one_bag([20, 20, 20]), most_states=most_states)
    assert np.isfinite(found.log_likelihood[0])
    assert found.log_likelihood[0] <= 0
    np.testing.assert_allclose(found.probability.sum(axis=0), 20, atol=1e-6)
    assert found.probability[-10:, 0].min() > 0.9


def test_many_bags_of_both_kinds_and_parts():
    rng = np.random.default_rng(4)
    counts = np.array([[1, 1, 0, 0, 2, 0], [9, 9, 9, 9, 9, 9], [0, 3, 1, 0, 0, 0]])
    bags = ClassCounts(np.concatenate([[0], np.cumsum(counts.sum(axis=1))]), counts)
    scores = rng.normal(size=(bags.n_rows, 6))
    found = class_count_posterior(scores, bags)
    assert found.is_exact.tolist() == [True, False, True]
    for bag in range(3):
        alone = class_count_posterior(scores[bags.rows_of([bag])], bags.take([bag]))
        np.testing.assert_allclose(alone.log_likelihood, found.log_likelihood[bag])
        np.testing.assert_allclose(alone.probability, found.probability[bags.rows_of([bag])])
    nothing = class_count_posterior(np.empty((0, 6)), bags.take([]))
    assert nothing.probability.shape == (0, 6)


def test_refusals():
    with pytest.raises(ValueError, match="counts must hold whole numbers"):
        ClassCounts([0, 1], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="sum to the rows"):
        ClassCounts([0, 2], [[1, 0]])
    with pytest.raises(ValueError, match="a row for each bag"):
        ClassCounts([0, 1, 2], [[1, 0]])
    with pytest.raises(ValueError, match=r"scores must have shape \(1, 2\)"):
        class_count_posterior([[0.0]], one_bag([1, 0]))
    with pytest.raises(ValueError, match="not finite"):
        class_count_posterior([[np.nan, 0.0]], one_bag([1, 0]))
