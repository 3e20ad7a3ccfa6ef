# SPDX-License-Identifier: BSD-3-Clause
"""EasyLLP: unbiased by enumeration, its targets, and the ways to keep its loss in bounds."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from bagshift import BagError, Bags, BagWarning, EasyLLP
from bagshift.estimators.easy_llp import clipped_targets, debiased_targets
from problems import two_domains

LINEAR = {"kernel": "linear", "C": 2.0, "standardize": False}


def machine(**settings):
    return EasyLLP(**{**LINEAR, **settings})


def random_bags(seed=0, n_bags=30, bag_size=9, rate=0.3, n_features=4):
    """Return (X, bags, labels) of bags drawn at random; a tenth of them is larger."""
    rng = np.random.default_rng(seed)
    sizes = np.where(np.arange(n_bags) % 10 == 0, 3 * bag_size, bag_size)
    ids = np.repeat(np.arange(n_bags), sizes)
    labels = (rng.random(len(ids)) < rate).astype(int)
    X = rng.normal(size=(len(ids), n_features)) + 1.5 * labels[:, None]
    counts = {k: int(labels[ids == k].sum()) for k in range(n_bags)}
    return X, Bags.from_arrays(ids, counts=counts), labels


def log_losses(scores):
    """Return the log loss of every score for both labels; shape (2, n)."""
    return np.logaddexp(0, [scores, -scores])


# The loss ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4])
def test_loss_of_random_bags_is_unbiased(size):
    # A population of three kinds of rows, each with its own chance of being positive.
    mass, chance = np.array([0.2, 0.5, 0.3]), np.array([0.9, 0.35, 0.1])
    losses = log_losses(np.array([-1.3, 0.4, 2.0]))
    prior = mass @ chance
    people = [
        (kind, label, mass[kind] * (chance[kind] if label else 1 - chance[kind]))
        for kind in range(3)
        for label in (0, 1)
    ]
    estimated = true = total = 0.0
    for bag in product(people, repeat=size):
        probability = np.prod([person[2] for person in bag])
        kinds, labels = (np.array([person[i] for person in bag]) for i in (0, 1))
        target = debiased_targets(np.array([labels.mean()]), np.array([size]), prior)[0]
        estimate = target * losses[1, kinds] + (1 - target) * losses[0, kinds]
        estimated += probability * estimate.mean()
        true += probability * losses[labels, kinds].mean()
        total += probability
    assert total == pytest.approx(1.0, abs=1e-12)
    assert estimated == pytest.approx(true, abs=1e-12)


def test_loss_of_a_row_is_unbiased_for_every_row_and_label():
    prior, size = 0.3, 4
    for label in (0, 1):
        mean = 0.0
        for others in product((0, 1), repeat=size - 1):
            probability = np.prod([prior if other else 1 - prior for other in others])
            share = (label + sum(others)) / size
            mean += probability * debiased_targets(np.array([share]), np.array([size]), prior)[0]
        assert mean == pytest.approx(label, abs=1e-12)


@pytest.mark.parametrize("shift", [None, 0.003])
def test_objective_is_that_of_the_formula_and_a_minimum(shift):
    X, bags, _ = random_bags()
    fitted = machine().fit(X, bags)
    if shift is not None:
        fitted = machine(prior=fitted.prior_ + shift).fit(X, bags)
    size = bags.rows_per_bag[bags.bag_index]
    share = bags.positive_shares[bags.bag_index]
    used = fitted.prior_
    first = size * (share - used) + used
    second = size * (used - share) + 1 - used

    def value(place):
        scores = X @ place[:-1] + place[-1]
        negative, positive = log_losses(scores)
        return 0.5 * place[:-1] @ place[:-1] + 2.0 * (first @ positive + second @ negative)

    place = np.append(fitted.coef_[0], fitted.intercept_)
    assert fitted.objective_ == pytest.approx(value(place), rel=1e-12)
    again = minimize(value, place + 0.05, method="L-BFGS-B", options={"ftol": 1e-14})
    assert again.fun >= fitted.objective_ - 1e-8 * abs(fitted.objective_)
    assert fitted.negative_share_ == pytest.approx(np.mean((first < 0) | (second < 0)))


def test_estimated_prior_keeps_the_number_of_positives():
    for seed in range(5):
        X, bags, labels = random_bags(seed)
        fitted = machine().fit(X, bags)
        assert fitted.prior_ == pytest.approx(0.3, abs=0.15)
        assert fitted.predict_proba(X)[:, 1].sum() == pytest.approx(labels.sum(), abs=1e-6)


@pytest.mark.parametrize("correction", [None, "clip"])
def test_prior_is_of_the_class_that_shares_are_of(correction):
    X, bags, labels = random_bags()
    shares = bags.positive_shares
    for positive, of_positive in (("yes", shares), ("no", 1 - shares)):
        names = {"positive": positive, "negative": {"yes": "no", "no": "yes"}[positive]}
        named = Bags.from_arrays(bags.bag_index, dict(enumerate(of_positive)), **names)
        estimated = machine(correction=correction).fit(X, named)
        expected = labels.mean() if positive == "yes" else 1 - labels.mean()
        assert estimated.positive_class_ == positive
        assert estimated.prior_ == pytest.approx(expected, abs=0.05)
        prior = 0.301 if positive == "yes" else 0.699
        told = machine(prior=prior, correction=correction).fit(X, named)
        assert told.prior_ == pytest.approx(prior)
        wanted = machine(prior=0.301, correction=correction).fit(X, bags)
        np.testing.assert_allclose(
            told.decision_function(X), wanted.decision_function(X), atol=1e-6
        )
    if correction is None:
        # As many as 0.7 of a bag are of this class, so that its targets lie above one.
        with pytest.raises(BagError, match=r"prior=0\.05 the targets of the rows have the mean 9"):
            machine(prior=0.05).fit(X, named)


def test_declared_sizes_are_those_of_the_shares():
    X, bags, _ = random_bags()
    shares = dict(enumerate(bags.positive_shares))
    larger = Bags.from_arrays(bags.bag_index, shares, sizes=dict(enumerate(2 * bags.sizes)))
    fitted = machine().fit(X, larger)
    size, share = 2 * bags.rows_per_bag[bags.bag_index], bags.positive_shares[bags.bag_index]
    target = size * (share - fitted.prior_) + fitted.prior_
    assert target.mean() == pytest.approx(share.mean())
    chance = fitted.predict_proba(X)[:, 1]
    gradient = fitted.coef_[0] + 2.0 * X.T @ (chance - target)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
def test_samples_of_large_bags_have_targets_far_outside_and_a_minimum(size):
    X, bags, _, _ = two_domains()
    shares = {k: 0.1 + 0.07 * k for k in range(bags.n_bags)}
    larger = Bags.from_arrays(bags.bag_index, shares, sizes=dict.fromkeys(shares, size))
    fitted = EasyLLP().fit(X, larger)
    assert fitted.converged_
    assert fitted.negative_share_ > 0.9
    assert fitted.gradient_norm_ < 1e-9 * np.linalg.norm(fitted.dual_coef_)


# Limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", [None, "clip", "flood"])
def test_known_labels_are_logistic_regression(correction):
    X, _, labels, _ = two_domains()
    exact = LogisticRegression(C=2.0, tol=1e-12, solver="newton-cholesky")
    expected = exact.fit(X, labels).decision_function(X)
    single = Bags.from_arrays(np.arange(len(X)), labels.astype(float))
    known = Bags.unlabelled(len(X)).with_labels(labels)
    with pytest.warns(BagWarning, match="pure"):
        fitted = machine(correction=correction).fit(X, single)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-7)
    for y in (known, labels):
        fitted = machine(correction=correction).fit(X, y)
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-7)
        assert fitted.negative_share_ == 0


@pytest.mark.parametrize("correction", [None, "clip", "flood"])
def test_swapping_the_classes_turns_the_scores(correction):
    X, bags, _ = random_bags()
    swapped = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    one, two = (machine(correction=correction).fit(X, given) for given in (bags, swapped))
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-6)


def test_more_random_bags_come_closer_to_the_labels():
    X, bags, labels = random_bags(n_bags=20_000, bag_size=2)
    exact = LogisticRegression(C=2.0, tol=1e-12, solver="newton-cholesky").fit(X, labels)
    fitted = machine().fit(X, bags)
    np.testing.assert_allclose(fitted.coef_, exact.coef_, atol=0.25)


# Negative factors -------------------------------------------------------------------------


def test_clipped_targets_are_the_nearest_with_the_same_mean():
    rng = np.random.default_rng(0)
    for _ in range(5):
        targets, mass = rng.normal(0.4, 2.0, 8), rng.uniform(0.5, 2.0, 8)
        found = clipped_targets(targets, mass, 0.3)
        assert found.min() >= 0
        assert found.max() <= 1
        assert np.average(found, weights=mass) == pytest.approx(0.3, abs=1e-12)
        reference = minimize(
            lambda t, targets=targets, mass=mass: mass @ (t - targets) ** 2,
            np.full(8, 0.3),
            bounds=[(0, 1)] * 8,
            constraints={
                "type": "eq",
                "fun": lambda t, mass=mass: np.average(t, weights=mass) - 0.3,
            },
            method="SLSQP",
        )
        np.testing.assert_allclose(found, reference.x, atol=1e-4)
    inside = np.array([0.1, 0.9, 0.5])
    np.testing.assert_allclose(clipped_targets(inside, np.ones(3), 0.5), inside, atol=1e-12)


def test_clipping_keeps_the_number_of_positives_and_the_loss_positive():
    X, bags, labels = random_bags()
    fitted = machine(correction="clip").fit(X, bags)
    assert fitted.predict_proba(X)[:, 1].sum() == pytest.approx(labels.sum(), abs=1e-6)
    assert fitted.objective_ > 0
    assert machine().fit(X, bags).objective_ < 0


@pytest.mark.parametrize("level", [0.0, 0.2])
def test_flooding_stops_at_its_level(level):
    X, bags, _ = random_bags()
    flooded = machine(correction="flood", flood_level=level).fit(X, bags)
    assert flooded.effective_C_ < 2.0
    size, share = bags.rows_per_bag[bags.bag_index], bags.positive_shares[bags.bag_index]
    target = size * (share - flooded.prior_) + flooded.prior_

    def flooded_objective(place):
        negative, positive = log_losses(X @ place[:-1] + place[-1])
        loss = np.mean(target * positive + (1 - target) * negative)
        return 0.5 * place[:-1] @ place[:-1] + 2.0 * len(X) * (abs(loss - level) + level)

    place = np.append(flooded.coef_[0], flooded.intercept_)
    lowest = flooded_objective(place)
    assert lowest == pytest.approx(0.5 * place[:-1] @ place[:-1] + 2.0 * len(X) * level, rel=1e-6)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(200):
            assert flooded_objective(place + scale * rng.normal(size=len(place))) > lowest
    same = machine(C=flooded.effective_C_).fit(X, bags)
    np.testing.assert_allclose(same.coef_, flooded.coef_, atol=1e-8)


def test_flooding_above_every_loss_gives_a_constant_and_below_it_changes_nothing():
    X, bags, _ = random_bags()
    constant = machine(correction="flood", flood_level=5.0).fit(X, bags)
    assert np.abs(constant.coef_).max() < 1e-9
    gentle = {"C": 1e-3}
    one, two = (machine(correction=c, **gentle).fit(X, bags) for c in (None, "flood"))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert two.effective_C_ == 1e-3


# Refusals ---------------------------------------------------------------------------------


def test_a_prior_that_leaves_no_minimum_is_refused():
    X, bags, labels = random_bags()
    for correction in (None, "flood"):
        with pytest.raises(BagError, match="no minimum: leave prior=None"):
            machine(prior=0.95, correction=correction).fit(X, bags)
    clipped = machine(prior=0.95, correction="clip").fit(X, bags)
    assert clipped.predict_proba(X)[:, 1].sum() == pytest.approx(labels.sum(), abs=1e-6)


def test_what_cannot_be_used_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="cannot use source rows"):
        machine().fit(X, bags, source=source)
    with pytest.raises(ValueError, match="'prior'"):
        machine(prior=1.0).fit(X, labels)
    with pytest.raises(ValueError, match="'correction'"):
        machine(correction="abs").fit(X, labels)
    with pytest.raises(ValueError, match="nothing to learn from"):
        machine().fit(X, Bags.unlabelled(len(X)))
    assert not hasattr(machine(), "source_decision_function")
