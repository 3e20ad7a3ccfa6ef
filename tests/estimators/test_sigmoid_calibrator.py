# SPDX-License-Identifier: BSD-3-Clause
"""Platt's sigmoid against scikit-learn's and a general optimiser; its limits and refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from bagshift import SigmoidCalibrator
from problems import two_domains


def scores_and_labels(seed=0, n_rows=150, gap=1.5):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 0.3).astype(int)
    return rng.normal(size=n_rows) + gap * (labels - 0.5), labels


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept")
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_sigmoid_of_scikit_learn(scale, weighted):
    X, _, labels, source = two_domains()
    machine = SVC(gamma=0.4).fit(*source)
    machine._dual_coef_ = machine._dual_coef_ * scale
    machine._intercept_ = machine._intercept_ * scale
    weight = np.linspace(0.3, 2.0, len(labels)) if weighted else None
    theirs = CalibratedClassifierCV(FrozenEstimator(machine), method="sigmoid")
    theirs.fit(X, labels, sample_weight=weight)
    scores = machine.decision_function(X)
    ours = SigmoidCalibrator().fit(scores, labels, weight)
    np.testing.assert_allclose(ours.predict_proba(scores), theirs.predict_proba(X), atol=1e-4)
    sigmoid = theirs.calibrated_classifiers_[0].calibrators[0]
    assert ours.slope_ == pytest.approx(-sigmoid.a_, rel=1e-3)
    assert ours.offset_ == pytest.approx(sigmoid.b_, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_is_the_minimum_in_the_convention_of_the_paper(seed):
    scores, labels = scores_and_labels(seed)
    n_positive = labels.sum()
    n_negative = len(labels) - n_positive
    targets = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(parameters):
        p = 1 / (1 + np.exp(-parameters[0] * scores + parameters[1]))
        return -np.mean(targets * np.log(p) + (1 - targets) * np.log(1 - p))

    found = minimize(loss, np.zeros(2), tol=1e-12).x
    ours = SigmoidCalibrator().fit(scores, labels)
    np.testing.assert_allclose([ours.slope_, ours.offset_], found, atol=1e-4)
    assert loss([ours.slope_, ours.offset_]) <= loss(found) + 1e-12
    wanted = 1 / (1 + np.exp(-ours.slope_ * scores + ours.offset_))
    np.testing.assert_allclose(ours.predict_proba(scores)[:, 1], wanted, atol=1e-12)
    # At the minimum the probabilities and the targets have the same sum, alone and with scores.
    np.testing.assert_allclose([wanted.sum(), wanted @ scores], [targets.sum(), targets @ scores])


def test_scores_that_separate_the_classes_give_a_finite_slope():
    scores, labels = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    ours = SigmoidCalibrator().fit(scores, labels)
    assert 0 < ours.slope_ < 10
    far = SigmoidCalibrator().fit(1e200 * scores, labels)
    np.testing.assert_allclose(far.predict_proba(1e200 * scores), ours.predict_proba(scores))
    tight = SigmoidCalibrator().fit(1e3 + 1e-3 * scores, labels)
    probability = tight.predict_proba(1e3 + 1e-3 * scores)
    np.testing.assert_allclose(probability, ours.predict_proba(scores), atol=1e-9)


def test_equal_scores_give_the_share():
    labels = np.array([0, 0, 0, 1])
    ours = SigmoidCalibrator().fit(np.full(4, 7.0), labels)
    assert ours.slope_ == 0.0
    wanted = (3 / 5 + 2 / 3) / 4
    np.testing.assert_allclose(ours.predict_proba([7.0, -3.0])[:, 1], wanted)
    assert ours.offset_ == pytest.approx(-logit(wanted))


def test_turned_scores_turn_the_slope():
    scores, labels = scores_and_labels()
    one = SigmoidCalibrator().fit(scores, labels)
    other = SigmoidCalibrator().fit(-scores, labels)
    assert other.slope_ == pytest.approx(-one.slope_)
    assert other.offset_ == pytest.approx(one.offset_)
    swapped = SigmoidCalibrator().fit(scores, 1 - labels)
    assert swapped.slope_ == pytest.approx(-one.slope_)
    assert swapped.offset_ == pytest.approx(-one.offset_)


def test_a_weight_is_a_number_of_copies():
    scores, labels = scores_and_labels()
    copies = np.arange(len(labels)) % 3
    weighted = SigmoidCalibrator().fit(scores, labels, sample_weight=copies)
    rows = np.repeat(np.arange(len(labels)), copies)
    repeated = SigmoidCalibrator().fit(scores[rows], labels[rows])
    assert weighted.slope_ == pytest.approx(repeated.slope_, rel=1e-9)
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-9)


@pytest.mark.parametrize("names", [(0, 1), (-1, 1), ("no", "yes"), (False, True)])
def test_outputs_agree_with_each_other(names):
    scores, labels = scores_and_labels()
    ours = SigmoidCalibrator().fit(scores[:, None], np.array(names)[labels])
    np.testing.assert_array_equal(ours.classes_, names)
    log_odds, probability = ours.decision_function(scores), ours.predict_proba(scores)
    np.testing.assert_allclose(probability[:, 1], expit(log_odds))
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    predicted = ours.predict(scores)
    np.testing.assert_array_equal(predicted, np.array(names)[probability.argmax(axis=1)])
    np.testing.assert_array_equal(predicted, np.array(names)[(log_odds > 0).astype(int)])
    assert ours.score(scores, np.array(names)[labels]) > 0.7


def test_row_order_does_not_matter():
    scores, labels = scores_and_labels()
    one = SigmoidCalibrator().fit(scores, labels)
    two = SigmoidCalibrator().fit(scores[::-1], labels[::-1])
    assert one.slope_ == pytest.approx(two.slope_, rel=1e-12)


def test_scikit_learn_is_told_that_it_takes_one_number_per_row():
    with pytest.warns(SkipTestWarning, match="requires input"):
        check_estimator(SigmoidCalibrator())


def test_what_it_cannot_use_is_refused():
    scores, labels = scores_and_labels()
    calibrator = SigmoidCalibrator()
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(clone(calibrator), method)(scores)
    with pytest.raises(ValueError, match="X holds 2 columns; give one score per row"):
        calibrator.fit(np.column_stack([scores, scores]), labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        calibrator.fit(scores[1:], labels)
    with pytest.raises(ValueError, match="NaN"):
        calibrator.fit(np.append(scores[1:], np.nan), labels)
    with pytest.raises(ValueError, match="Only binary classification"):
        calibrator.fit(scores, np.arange(len(labels)) % 3)
    with pytest.raises(ValueError, match="one class only"):
        calibrator.fit(scores, np.zeros(len(labels)))
    with pytest.raises(ValueError, match="one class only"):
        calibrator.fit(scores, labels, sample_weight=labels)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_at_the_ends_of_the_range_of_numbers():
    scores, labels = scores_and_labels()
    with pytest.raises(ValueError, match="so large that their sum is not finite; scale them"):
        SigmoidCalibrator().fit(1e306 * scores, labels)
    vanishing = SigmoidCalibrator().fit(1e-315 * scores, labels)
    assert vanishing.slope_ == 0.0
    assert np.all(np.isfinite(vanishing.predict_proba(scores)))
    wanted = SigmoidCalibrator().fit(scores, labels).predict_proba(scores)
    for scale in (1e-290, 1e240):
        ours = SigmoidCalibrator().fit(scale * scores, labels)
        np.testing.assert_allclose(ours.predict_proba(scale * scores), wanted, atol=1e-9)
