# SPDX-License-Identifier: BSD-3-Clause
"""Likelihood and posterior of counts against enumeration, recursion and difference quotients."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_expit
from scipy.stats import binom

from bagshift.solvers.count_likelihood import (
    BagCounts,
    count_log_probabilities,
    count_posterior,
)
from solvers.count_reference import (
    enumerate_labels,
    forward_backward,
    log_probabilities_of_counts,
)

# Sizes on both sides of every change of method: full lanes, the band, sum over nodes.
SIZES = (1, 2, 3, 7, 8, 9, 31, 32, 33, 60, 97, 150, 400)


def laws(size, rng):
    """Log weights over 0, ..., size of the kinds that occur, and of some that should not."""
    counts = np.arange(size + 1)
    centre = rng.uniform(-0.2 * size, 1.2 * size)
    nearest = np.clip(round(centre), 0, size)
    return {
        "gaussian": -0.5 * ((counts - centre) / (1 + size / 20)) ** 2,
        "laplace": -np.abs(counts - centre) / 2,
        "steep": -np.abs(counts - centre) * 50,
        "rounded": np.where(np.abs(counts - nearest) <= size / 20, 0.0, -np.inf),
        "flat": np.zeros(size + 1),
        "every third": np.where(counts % 3 == nearest % 3, 0.0, -np.inf),
        "both ends": np.where((counts == 0) | (counts == size), 0.0, -np.inf),
        "rugged": rng.normal(size=size + 1) * 30,
    }


def law_counts(log_weights):
    size = len(log_weights) - 1
    return BagCounts(
        starts=np.array([0, size]),
        first_counts=np.array([0]),
        weight_starts=np.array([0, size + 1]),
        log_weights=log_weights,
    )


def exact_law(count, size):
    log_weights = np.full(size + 1, -np.inf)
    log_weights[count] = 0.0
    return log_weights


def some_counts(size):
    return sorted({0, 1, size // 10, size // 2, size - 1, size})


def assert_equals(scores, counts, expected, *, log_tol=1e-8, tol=1e-10):
    posterior = count_posterior(scores, counts)
    log_likelihood, probability = expected
    np.testing.assert_allclose(
        posterior.log_likelihood, [float(log_likelihood)], rtol=log_tol, atol=1e-10
    )
    np.testing.assert_allclose(posterior.probability, probability.astype(float), rtol=0, atol=tol)
    return posterior


def random_bags(rng, sizes, scale=2.0):
    sizes = np.asarray(sizes)
    scores = rng.normal(size=sizes.sum()) * scale
    return scores, BagCounts.exact(rng.integers(0, sizes + 1), sizes)


@pytest.mark.parametrize("scale", [0.3, 3.0, 40.0])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 12])
def test_equals_enumeration(size, scale):
    rng = np.random.default_rng(size)
    scores = rng.uniform(-scale, scale, size=size)
    for count in range(size + 1):
        expected = enumerate_labels(scores, exact_law(count, size))
        assert_equals(scores, BagCounts.exact([count], [size]), expected, log_tol=1e-12)
    for log_weights in laws(size, rng).values():
        if np.isfinite(log_weights).any():
            expected = enumerate_labels(scores, log_weights)
            assert_equals(scores, law_counts(log_weights), expected, log_tol=1e-12)


@pytest.mark.parametrize("scale", [0.01, 2.0, 40.0])
@pytest.mark.parametrize("size", SIZES)
def test_equals_recursion_in_extended_precision(size, scale):
    scores = np.random.default_rng(size).uniform(-scale, scale, size=size)
    for count in some_counts(size):
        expected = forward_backward(scores, exact_law(count, size))
        posterior = assert_equals(scores, BagCounts.exact([count], [size]), expected)
        # Far below 1 the posterior keeps its leading digits.
        np.testing.assert_allclose(
            posterior.probability, expected[1].astype(float), rtol=1e-8, atol=1e-290
        )


@pytest.mark.parametrize("scale", [2.0, 40.0])
@pytest.mark.parametrize("size", [7, 60, 150, 400])
@pytest.mark.parametrize("kind", laws(2, np.random.default_rng(0)))
def test_laws_equal_recursion_in_extended_precision(kind, size, scale):
    rng = np.random.default_rng(size)
    scores = rng.uniform(-scale, scale, size=size)
    log_weights = laws(size, rng)[kind]
    assert_equals(scores, law_counts(log_weights), forward_backward(scores, log_weights))


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_two_thousand_rows(scale):
    rng = np.random.default_rng(0)
    scores = rng.uniform(-scale, scale, size=2000)
    for log_weights in (
        exact_law(700, 2000),
        exact_law(3, 2000),
        laws(2000, rng)["laplace"],
    ):
        assert_equals(scores, law_counts(log_weights), forward_backward(scores, log_weights))


@pytest.mark.parametrize("size", [1, 2, 9, 33, 150, 1500])
@pytest.mark.parametrize("scale", [0.5, 40.0])
def test_log_probabilities_equal_convolution(size, scale):
    scores = np.random.default_rng(size).uniform(-scale, scale, size=size)
    expected = log_probabilities_of_counts(scores).astype(float)
    np.testing.assert_allclose(count_log_probabilities(scores), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("size", [1000, 20_000])
def test_equal_rows_are_binomial(size):
    count = size // 3
    posterior = count_posterior(np.full(size, -0.4), BagCounts.exact([count], [size]))
    expected = binom.logpmf(count, size, expit(-0.4))
    np.testing.assert_allclose(posterior.log_likelihood, [expected], rtol=1e-9)
    np.testing.assert_allclose(posterior.probability, count / size, rtol=1e-11)


def difference_quotient(scores, counts, row, step=1e-4):
    """Central difference of fourth order."""

    def value(shift):
        moved = scores.copy()
        moved[row] += shift
        return count_posterior(moved, counts).log_likelihood.sum()

    return (8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))) / (12 * step)


@pytest.mark.parametrize("kind", ["exact", "gaussian", "laplace", "rounded", "every third"])
@pytest.mark.parametrize("size", [2, 8, 40, 120, 600])
def test_gradient_is_posterior_minus_prior(size, kind):
    rng = np.random.default_rng(size)
    scores = rng.normal(size=size)
    log_weights = {**laws(size, rng), "exact": exact_law(size // 3, size)}[kind]
    counts = law_counts(log_weights)
    gradient = count_posterior(scores, counts).probability - expit(scores)
    for row in rng.choice(size, size=min(size, 10), replace=False):
        assert difference_quotient(scores, counts, row) == pytest.approx(gradient[row], abs=1e-8)


def test_no_jump_where_the_method_changes():
    # The variance passes the border between recursion and nodes on the way.
    scores = np.random.default_rng(0).normal(size=110)
    counts = BagCounts.exact([50], [110])
    shifts = np.linspace(-0.6, 0.6, 400)
    values = [count_posterior(scores * (1 + s), counts).log_likelihood[0] for s in shifts]
    assert np.abs(np.diff(values, n=4)).max() < 1e-8


def test_one_row_is_a_labelled_row():
    scores = np.array([-800.0, -40.0, -1.0, 0.0, 2.0, 37.0, 800.0])
    positive = count_posterior(scores, BagCounts.exact(np.ones(7, int), np.ones(7, int)))
    negative = count_posterior(scores, BagCounts.exact(np.zeros(7, int), np.ones(7, int)))
    np.testing.assert_allclose(positive.log_likelihood, log_expit(scores), rtol=1e-14, atol=1e-307)
    np.testing.assert_allclose(
        negative.log_likelihood, log_expit(-scores), rtol=1e-14, atol=1e-307
    )
    np.testing.assert_array_equal(positive.probability, 1.0)
    np.testing.assert_array_equal(negative.probability, 0.0)
    np.testing.assert_array_equal(positive.variance, 0.0)


@pytest.mark.parametrize("size", [2, 9, 5000])
def test_pure_bags_have_a_closed_form(size):
    scores = np.random.default_rng(size).uniform(-40, 40, size=size)
    full = count_posterior(scores, BagCounts.exact([size], [size]))
    empty = count_posterior(scores + 30, BagCounts.exact([0], [size]))
    np.testing.assert_allclose(full.log_likelihood, [log_expit(scores).sum()], rtol=1e-12)
    np.testing.assert_allclose(empty.log_likelihood, [log_expit(-scores - 30).sum()], rtol=1e-12)


def test_separated_bags_are_certain_but_never_more():
    for size in (2, 10, 100, 3000):
        count = size // 2
        scores = np.repeat([-40.0, 40.0], [size - count, count])
        posterior = count_posterior(scores, BagCounts.exact([count], [size]))
        assert -1e-12 <= posterior.log_likelihood[0] <= 0
        np.testing.assert_allclose(posterior.probability, scores > 0, atol=1e-15)


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e12, 1e15])
@pytest.mark.parametrize("size", [4, 20, 200])
def test_huge_scores(size, scale):
    # Half of the rows are certain; a quarter is undecided around 0, or far below.
    rng = np.random.default_rng(size)
    middle = rng.normal(size=size // 2)
    scores = np.concatenate([np.full(size // 4, scale), middle, np.full(size // 4, -scale)])
    count = size // 4 + 1
    undecided = count_posterior(middle, BagCounts.exact([1], [len(middle)]))
    posterior = count_posterior(scores, BagCounts.exact([count], [size]))
    np.testing.assert_allclose(posterior.log_likelihood, undecided.log_likelihood, rtol=1e-10)
    np.testing.assert_allclose(
        posterior.probability[size // 4 : -(size // 4)], undecided.probability, atol=1e-12
    )
    wrong = count_posterior(scores, BagCounts.exact([size - 1], [size]))
    assert wrong.log_likelihood[0] == pytest.approx(-scale * (size // 4 - 1), rel=1e-2, abs=20)
    np.testing.assert_allclose(wrong.probability.sum(), size - 1, rtol=1e-12)


bag = st.lists(
    st.floats(-40, 40) | st.floats(-1e6, 1e6) | st.sampled_from([0.0, 40.0, -40.0]),
    min_size=1,
    max_size=80,
)


@given(scores=bag, share=st.floats(0, 1))
def test_any_finite_scores_give_a_likelihood(scores, share):
    size = len(scores)
    count = round(share * size)
    posterior = count_posterior(scores, BagCounts.exact([count], [size]))
    assert np.isfinite(posterior.log_likelihood[0])
    assert posterior.log_likelihood[0] <= 0
    assert (posterior.probability >= 0).all()
    assert (posterior.probability <= 1).all()
    np.testing.assert_allclose(posterior.probability.sum(), count, rtol=1e-9, atol=1e-9)


@given(scores=bag, seed=st.integers(0, 1000))
def test_any_law_gives_a_likelihood(scores, seed):
    for kind, log_weights in laws(len(scores), np.random.default_rng(seed)).items():
        if not np.isfinite(log_weights).any():
            continue
        posterior = count_posterior(scores, law_counts(log_weights))
        assert posterior.log_likelihood[0] <= log_weights.max(), kind
        assert np.isfinite(posterior.log_likelihood[0]), kind
        assert (posterior.probability >= 0).all(), kind
        assert (posterior.probability <= 1).all(), kind


@pytest.mark.parametrize("size", [30, 300])
def test_order_of_rows_plays_no_part(size):
    rng = np.random.default_rng(size)
    scores = rng.normal(size=size) * 3
    order = rng.permutation(size)
    counts = BagCounts.exact([size // 4], [size])
    straight, shuffled = count_posterior(scores, counts), count_posterior(scores[order], counts)
    np.testing.assert_allclose(straight.log_likelihood, shuffled.log_likelihood, rtol=1e-13)
    np.testing.assert_allclose(straight.probability[order], shuffled.probability, atol=1e-14)


@pytest.mark.parametrize("size", [5, 50, 500])
def test_law_with_all_mass_on_one_count_is_that_count(size):
    scores = np.random.default_rng(size).normal(size=size)
    exact = count_posterior(scores, BagCounts.exact([size // 2], [size]))
    certain = count_posterior(scores, law_counts(exact_law(size // 2, size)))
    nearly = law_counts(np.where(np.isinf(exact_law(size // 2, size)), -200.0, 0.0))
    np.testing.assert_array_equal(certain.log_likelihood, exact.log_likelihood)
    np.testing.assert_array_equal(certain.probability, exact.probability)
    almost = count_posterior(scores, nearly)
    np.testing.assert_allclose(almost.log_likelihood, exact.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(almost.probability, exact.probability, atol=1e-13)


def test_threads_and_company_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    sizes = rng.choice([1, 2, 8, 31, 100, 3000], size=400, p=[0.2, 0.2, 0.3, 0.2, 0.09, 0.01])
    scores, counts = random_bags(rng, sizes)
    one = count_posterior(scores, counts)
    for n_threads in (2, 3, 16):
        several = count_posterior(scores, counts, n_threads=n_threads)
        np.testing.assert_array_equal(several.log_likelihood, one.log_likelihood)
        np.testing.assert_array_equal(several.probability, one.probability)
    for k in (0, 17, 399):
        rows = slice(counts.starts[k], counts.starts[k + 1])
        alone = count_posterior(scores[rows], counts.take([k]))
        np.testing.assert_array_equal(alone.log_likelihood, one.log_likelihood[k])
        np.testing.assert_array_equal(alone.probability, one.probability[rows])


def test_a_hundred_thousand_rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=100_000)
    for count in (1, 1000, 50_000):
        posterior = count_posterior(scores, BagCounts.exact([count], [100_000]))
        assert posterior.log_likelihood[0] <= 0
        assert posterior.probability.sum() == pytest.approx(count, rel=1e-10)


def test_take_keeps_laws():
    log_weights = np.log([0.5, 0.5, 0.25, 0.75, 1.0])
    counts = BagCounts(
        starts=[0, 2, 5, 6],
        first_counts=[0, 1, 1],
        weight_starts=[0, 2, 4, 5],
        log_weights=log_weights,
    )
    taken = counts.take([2, 0, 2])
    np.testing.assert_array_equal(taken.sizes, [1, 2, 1])
    np.testing.assert_array_equal(taken.first_counts, [1, 0, 1])
    np.testing.assert_array_equal(taken.weight_starts, [0, 1, 3, 4])
    np.testing.assert_array_equal(taken.log_weights, np.log([1.0, 0.5, 0.5, 1.0]))
    assert counts.take([]).n_bags == 0


def test_no_bags():
    posterior = count_posterior([], BagCounts.exact([], []))
    assert posterior.log_likelihood.shape == posterior.probability.shape == (0,)


GOOD = {
    "starts": [0, 2, 5],
    "first_counts": [0, 1],
    "weight_starts": [0, 1, 2],
    "log_weights": [0.0, 0.0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": [0, 5]}, "starts must have length 3, one more than bags: 2."),
        ({"starts": [1, 2, 5]}, "starts must run from 0 to 5."),
        ({"starts": [0, 0, 5]}, "starts must rise from bag to bag."),
        ({"starts": [0, 2.5, 5]}, "starts must hold whole numbers."),
        ({"first_counts": [[0, 1]]}, "first_counts must have one axis: its shape is (1, 2)."),
        ({"weight_starts": [0, 1, 3]}, "weight_starts must run from 0 to 2."),
        ({"log_weights": [0.0, np.nan]}, "log_weights must be numbers or -inf."),
        ({"log_weights": [0.0, np.inf]}, "log_weights must be numbers or -inf."),
        ({"log_weights": [0.0, -np.inf]}, "No count from 0 to 3 is possible in bag number 1."),
        ({"first_counts": [3, 1]}, "No count from 0 to 2 is possible in bag number 0."),
    ],
)
def test_refuses_counts_that_do_not_fit(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        BagCounts(**{**GOOD, **change})


def test_refuses_scores_that_do_not_fit():
    counts = BagCounts(**GOOD)
    with pytest.raises(ValueError, match=r"scores must have shape \(5,\)"):
        count_posterior(np.zeros(4), counts)
    with pytest.raises(ValueError, match="scores holds values that are not finite"):
        count_posterior([0.0, np.nan, 0.0, 0.0, 0.0], counts)
    with pytest.raises(ValueError, match="n_threads must be at least 1"):
        count_posterior(np.zeros(5), counts, n_threads=0)
    with pytest.raises(ValueError, match="at least 1 row"):
        count_log_probabilities([])
    with pytest.raises(ValueError, match="counts and sizes must have one length"):
        BagCounts.exact([1], [1, 2])
