# SPDX-License-Identifier: BSD-3-Clause
r"""Platt's calibration: from scores of a machine to probabilities, by a sigmoid.

In the sign convention of the TGPLM paper

.. math::

    P(y = 1 \mid f) = \frac{1}{1 + e^{-Af + B}},

so :math:`A` is positive where scores grow towards the second class, and :math:`Af - B` is the log
odds. (Platt [1]_ and scikit-learn write :math:`1 / (1 + e^{A'f + B'})`, with :math:`A' = -A` and
:math:`B' = B`. Inverse calibration sets :math:`A = 1` and :math:`B = 0`.) Both numbers minimise

.. math::

    \sum_i \omega_i\,\bigl[\log(1 + e^{Af_i - B}) - t_i (Af_i - B)\bigr],
    \qquad
    t_i = \frac{N_+ + 1}{N_+ + 2}\ \text{or}\ \frac{1}{N_- + 2}

where the targets :math:`t_i` of the :math:`N_+` rows of the second class and the :math:`N_-` of
the first stand a little off 1 and 0, which keeps separable scores from an infinite slope. The
problem is convex and solved by Newton's method with backtracking, as in [2]_, on scores that are
centred and scaled.

References
----------
.. [1] J. Platt. Probabilistic outputs for support vector machines and comparisons to regularized
   likelihood methods. Advances in Large Margin Classifiers, 1999.
.. [2] H.-T. Lin, C.-J. Lin, R. C. Weng. A note on Platt's probabilistic outputs for support
   vector machines. Machine Learning 68(3), 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from bagshift.estimators._base import keep_side

Floats = NDArray[np.float64]

# Scores that spread no more than this fraction of their mean, or than this, are one score.
_FLAT = 1e-9
_LEAST_SPREAD = 1e-300
# Larger scores cannot be summed up.
_LARGEST = 1e250
_MOST_STEPS = 100
_GRADIENT = 1e-12
_LEAST_GAIN = 1e-4
_SMALLEST_STEP = 1e-10


@dataclass(frozen=True)
class Sigmoid:
    """A sigmoid in the score.

    Attributes
    ----------
    slope : float
        A, the log odds per unit of score.
    offset : float
        B, what is taken from the log odds.
    """

    slope: float
    offset: float

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log odds of scores."""
        return self.slope * scores - self.offset


def fit_sigmoid(scores: Floats, is_second: NDArray[np.bool_], weight: Floats) -> Sigmoid:
    """Fit Platt's sigmoid.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Finite scores.
    is_second : ndarray of bool, shape (n_rows,)
        Which rows are of the second class.
    weight : ndarray of shape (n_rows,)
        How often each row counts.

    Returns
    -------
    Sigmoid
        Of slope zero where all scores are equal.
    """
    n_second, n_first = float(weight[is_second].sum()), float(weight[~is_second].sum())
    targets = np.where(is_second, (n_second + 1.0) / (n_second + 2.0), 1.0 / (n_first + 2.0))
    level = float(logit(np.average(targets, weights=weight)))
    center = float(np.average(scores, weights=weight))
    spread = float(np.average(np.abs(scores - center), weights=weight))
    if spread <= max(_FLAT * abs(center), _LEAST_SPREAD):
        return Sigmoid(0.0, -level)
    features = np.column_stack([(scores - center) / spread, np.ones(len(scores))])
    weights = _newton(features, targets, weight / weight.sum(), np.array([0.0, level]))
    slope = float(weights[0]) / spread
    return Sigmoid(slope, slope * center - float(weights[1]))


def _newton(features: Floats, targets: Floats, weight: Floats, start: Floats) -> Floats:
    """Minimise the mean cross-entropy of targets in (0, 1) over two weights."""

    def loss(weights: Floats) -> float:
        log_odds = features @ weights
        return float(weight @ (np.logaddexp(0.0, log_odds) - targets * log_odds))

    weights, value = start, loss(start)
    for _ in range(_MOST_STEPS):
        probability = expit(features @ weights)
        gradient = features.T @ (weight * (probability - targets))
        if np.abs(gradient).max() <= _GRADIENT:
            break
        curvature = weight * probability * (1.0 - probability)
        hessian = (features.T * curvature) @ features + _GRADIENT * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while length >= _SMALLEST_STEP:
            attempt = weights - length * step
            new_value = loss(attempt)
            if new_value <= value - _LEAST_GAIN * length * float(gradient @ step):
                break
            length /= 2.0
        else:
            # What is left to gain is below rounding.
            break
        weights, value = attempt, new_value
    return weights


class SigmoidCalibrator(ClassifierMixin, BaseEstimator):
    r"""Probabilities from the scores of a machine, by Platt's sigmoid.

    A classifier of one number per row, the score. The problem solved stands in the module
    :mod:`bagshift.estimators.sigmoid_calibrator`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; probabilities are of both, log odds of the second.
    slope_ : float
        :math:`A` of :math:`1 / (1 + e^{-Af + B})`.
    offset_ : float
        :math:`B`.

    See Also
    --------
    sklearn.calibration.CalibratedClassifierCV : Calibrates a classifier as a whole, with folds.
    bagshift.calibration.inverse_calibrate : The way back, from shares to scores.

    Notes
    -----
    Calibrate on rows with labels that the machine was not trained on, for its scores of training
    rows are too good. What is calibrated on the source is calibrated for the source: where the
    shares of the classes differ in the target, the probabilities need the correction of
    :class:`PriorShift`.

    References
    ----------
    J. Platt. Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods. Advances in Large Margin Classifiers, 1999.

    H.-T. Lin, C.-J. Lin, R. C. Weng. A note on Platt's probabilistic outputs for support vector
    machines. Machine Learning 68(3), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import SigmoidCalibrator, SourceSVM
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(size=(200, 2)) + y[:, None]
    >>> machine = SourceSVM().fit(X[:100], y[:100])
    >>> calibrator = SigmoidCalibrator().fit(machine.decision_function(X[100:]), y[100:])
    >>> calibrator.predict_proba([-1.0, 0.0, 1.0])[:, 1].round(1)
    array([0.2, 0.6, 0.9])
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the sigmoid.

        Parameters
        ----------
        X : array-like of shape (n_rows,) or (n_rows, 1)
            Scores, as from ``decision_function``.
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        self
            The fitted calibrator.

        Raises
        ------
        ValueError
            When there is more than one column, or not two classes, or scores are too large.
        """
        scores = _scores(X)
        if np.abs(scores).max() > _LARGEST:
            raise ValueError("Some scores are so large that their sum is not finite; scale them.")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(scores, labels)
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}."
            )
        weight = _check_sample_weight(sample_weight, scores, ensure_non_negative=True)
        if len(np.unique(labels[weight > 0])) < 2:
            raise ValueError(
                "The labels hold one class only (rows of weight zero do not count); two classes "
                "are needed to calibrate."
            )
        sigmoid = fit_sigmoid(scores, labels == classes[1], weight.astype(np.float64))
        self.classes_ = classes
        self.slope_, self.offset_ = sigmoid.slope, sigmoid.offset
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log odds of the second class, :math:`Af - B`.

        Parameters
        ----------
        X : array-like of shape (n_rows,) or (n_rows, 1)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return Sigmoid(self.slope_, self.offset_).log_odds(_scores(X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows,) or (n_rows, 1)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``.
        """
        log_odds = self.decision_function(X)
        second = keep_side(expit(log_odds), log_odds)
        return np.column_stack([1.0 - second, second])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likelier label; ``classes_[0]`` at a tie.

        Parameters
        ----------
        X : array-like of shape (n_rows,) or (n_rows, 1)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        is_second = self.decision_function(X) > 0
        return np.asarray(self.classes_[is_second.astype(np.intp)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _scores(X: ArrayLike) -> Floats:
    """Return scores as one column of finite numbers."""
    scores = np.asarray(check_array(X, ensure_2d=False, dtype=np.float64, input_name="X"))
    if scores.ndim == 2 and scores.shape[1] != 1:
        raise ValueError(
            f"X holds {scores.shape[1]} columns; give one score per row, as decision_function "
            "returns them."
        )
    return scores.ravel()
