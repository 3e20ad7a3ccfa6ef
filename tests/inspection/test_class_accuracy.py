# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy without labels, for more than two classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from bagshift import BagError, Bags, CountLikelihoodClassifier
from bagshift.inspection import ClassAccuracyEstimate, bag_bootstrap, estimate_accuracy
from bagshift.inspection._class_calibration import ClassCountCalibration
from bagshift.plotting import (
    BagShareDisplay,
    DomainBoundaryDisplay,
    LabelFreeAccuracyDisplay,
)
from bagshift.solvers.class_counts import ClassCounts

NAMES = np.array(["bear", "cat", "dog"])


def problem(n_bags=80, bag_size=6, scale=1.5, seed=0):
    """Return scores that are logarithms of probabilities, labels drawn from them, and bags."""
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=(n_bags * bag_size, 3))
    chances = softmax(scores, axis=1).cumsum(axis=1)
    codes = (rng.random((len(scores), 1)) > chances[:, :-1]).sum(axis=1)
    ids = np.repeat(np.arange(n_bags), bag_size)
    counts = np.zeros((n_bags, 3), dtype=int)
    np.add.at(counts, (ids, codes), 1)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)), classes=NAMES)
    return scores, codes, bags


@pytest.mark.parametrize("factor", [1.0, 5.0, 0.2])
def test_scores_on_any_scale(factor):
    scores, codes, bags = problem()
    found = estimate_accuracy(None, None, bags, scores=factor * scores, n_bootstrap=40)
    truth = np.mean(scores.argmax(axis=1) == codes)
    assert isinstance(found, ClassAccuracyEstimate)
    assert found.accuracy.estimate == pytest.approx(truth, abs=0.05)
    assert truth in found.accuracy
    assert found.can_tell
    assert found.temperature.estimate == pytest.approx(1 / factor, rel=0.4)
    assert found.classes == tuple(NAMES)
    called = scores.argmax(axis=1)
    for place in range(3):
        own, so = codes == place, called == place
        assert np.mean(called[own] == place) in found.sensitivity[place]
        assert np.mean(codes[so] == place) in found.predictive_value[place]


def test_intervals_hold_the_truth_in_most_draws():
    held = []
    for seed in range(20):
        scores, codes, bags = problem(n_bags=40, seed=seed)
        found = estimate_accuracy(None, None, bags, scores=scores, n_bootstrap=30)
        held.append(np.mean(scores.argmax(axis=1) == codes) in found.accuracy)
    assert np.mean(held) >= 0.9


def test_scores_that_say_nothing():
    _, _, bags = problem()
    noise = np.random.default_rng(1).normal(size=(len(bags), 3))
    found = estimate_accuracy(None, None, bags, scores=noise, n_bootstrap=40)
    assert not found.can_tell
    assert found.chance in found.accuracy or found.accuracy.low < found.chance
    assert "cannot tell" in str(found)


def test_a_machine_that_is_fitted_anew():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=240)
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[codes] + rng.normal(size=(240, 2))
    ids = np.repeat(np.arange(40), 6)
    counts = np.zeros((40, 3), dtype=int)
    np.add.at(counts, (ids, codes), 1)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)), classes=NAMES)
    machine = CountLikelihoodClassifier(kernel="linear", C_target=1.0)
    found = estimate_accuracy(machine, X, bags, cv=4, n_bootstrap=30)
    truth = np.mean(found.scores.argmax(axis=1) == codes)
    assert truth in found.accuracy
    again = estimate_accuracy(None, None, bags, scores=found.scores, n_bootstrap=30)
    assert again == found
    assert "right among its rows" in str(found)
    with pytest.raises(BagError, match="This picture is of two classes"):
        LabelFreeAccuracyDisplay.from_predictions(
            bags, found.scores, estimator=machine, n_bootstrap=5
        )


def test_gradient_of_the_calibration():
    scores, _, bags = problem(n_bags=10)
    counts = ClassCounts(6 * np.arange(11), bags.counts.astype(int))
    calibration = ClassCountCalibration.of_scores(scores, counts)
    weights = np.random.default_rng(0).integers(0, 3, size=10).astype(float)
    best = calibration.fit(weights)
    for place in range(3):
        for step in (-0.05, 0.05):
            moved = best.coefficients.copy()
            moved[place] += step
            near = calibration.posterior(moved).log_likelihood @ weights
            prior = 0.5 * (moved[0] ** 2 / 400 + (moved[1:] ** 2).sum() / 100)
            assert near - prior < best.log_likelihood + 1e-9


def test_refusals():
    scores, _, bags = problem(n_bags=6)
    with pytest.raises(ValueError, match=r"scores must have shape \(36, 3\)"):
        estimate_accuracy(None, None, bags, scores=scores[:, :2])
    nothing = np.full_like(scores, np.nan)
    with pytest.raises(BagError, match="at least 2 bags with out-of-bag scores; there are 0"):
        estimate_accuracy(None, None, bags, scores=nothing)
    one = np.where(bags.bag_index[:, None] == 0, scores, np.nan)
    with pytest.raises(BagError, match="at least 2 bags with out-of-bag scores; there is 1"):
        estimate_accuracy(None, None, bags, scores=one)
    hole = scores.copy()
    hole[3] = np.nan
    with pytest.raises(BagError, match="scores are missing in some rows of bag 0"):
        estimate_accuracy(None, None, bags, scores=hole)


def test_what_is_for_two_classes_says_so():
    scores, _, bags = problem(n_bags=10)
    machine = CountLikelihoodClassifier(kernel="linear").fit(scores, bags)
    with pytest.raises(BagError, match="bag_bootstrap is for two classes, and these bags have 3"):
        bag_bootstrap(machine, scores, bags)
    with pytest.raises(ValueError, match="This picture is of two classes"):
        DomainBoundaryDisplay.from_estimator(machine, scores)
    with pytest.raises(BagError, match="This is for two classes, and there are 3"):
        BagShareDisplay.from_estimator(machine, scores, bags)
