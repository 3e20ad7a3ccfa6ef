# SPDX-License-Identifier: BSD-3-Clause
r"""Out-of-bag scores of several classes made logarithms of probabilities by the counts of bags.

The probabilities of row :math:`j` are :math:`\mathrm{softmax}(T f_j + b)`, and the temperature
:math:`T \ge 0` and the biases :math:`b` are those that give the counts of all classes in the bags
the highest likelihood (:mod:`bagshift.solvers.class_counts`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import softmax

from bagshift.solvers.class_counts import (
    ClassCountPosterior,
    ClassCounts,
    class_count_posterior,
)

Floats = NDArray[np.float64]

# Of scores of unit spread. So flat a prior only keeps coefficients finite where counts are as
# predicted to the last row.
_PRIOR_SLOPE, _PRIOR_BIAS = 20.0, 10.0
_STEEPEST, _MOST_BIAS = 60.0, 40.0


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """A temperature and biases.

    Attributes
    ----------
    coefficients : ndarray of shape (n_classes,)
        Temperature, of scores of unit spread, and the bias of every class but the first.
    log_likelihood : float
        Of the counts, by the weights of the bags, less what the flat prior takes off.
    """

    coefficients: Floats
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class ClassCountCalibration:
    """The problem of finding them.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Of unit spread, bag by bag; rows sum to zero.
    counts : ClassCounts
    spread : float
        What the scores were divided by.
    """

    scores: Floats
    counts: ClassCounts
    spread: float

    @classmethod
    def of_scores(cls, scores: Floats, counts: ClassCounts) -> ClassCountCalibration:
        """Return the problem for scores as a machine gives them.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
            Bag by bag.
        counts : ClassCounts

        Returns
        -------
        ClassCountCalibration
        """
        centred = scores - scores.mean(axis=1, keepdims=True)
        spread = float(np.std(centred)) or 1.0
        return cls(centred / spread, counts, spread)

    def logits(self, coefficients: Floats) -> Floats:
        """Return scores times the temperature, and the biases added."""
        biases = np.append(0.0, coefficients[1:])
        return np.asarray(coefficients[0] * self.scores + biases)

    def posterior(self, coefficients: Floats) -> ClassCountPosterior:
        """Return likelihoods of bags, and probabilities of rows given the counts of their bag."""
        return class_count_posterior(self.logits(coefficients), self.counts)

    def chances_in_bags(self, coefficients: Floats) -> Floats:
        """Return those probabilities without what an approximation leaves outside of [0, 1]."""
        chances = np.clip(self.posterior(coefficients).probability, 0.0, 1.0)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def fit(
        self, weights: Floats, start: Floats | None = None, *, temperature: float | None = None
    ) -> ClassCalibration:
        """Return the likeliest coefficients.

        Parameters
        ----------
        weights : ndarray of shape (n_bags,)
            How often each bag counts.
        start : ndarray of shape (n_classes,), optional
        temperature : float, optional
            Held fast.

        Returns
        -------
        ClassCalibration
        """
        n_classes = self.counts.n_classes
        of_rows = np.repeat(weights, self.counts.sizes)[:, None]
        precision = np.append(_PRIOR_SLOPE**-2, np.full(n_classes - 1, _PRIOR_BIAS**-2))

        def loss(coefficients: Floats) -> tuple[float, Floats]:
            logits = self.logits(coefficients)
            found = class_count_posterior(logits, self.counts)
            slack = of_rows * (found.probability - softmax(logits, axis=1))
            pull = np.append((slack * self.scores).sum(), slack.sum(axis=0)[1:])
            prior = precision * coefficients
            value = -weights @ found.log_likelihood + 0.5 * prior @ coefficients
            return float(value), prior - pull

        if start is None:
            start = np.append(1.0, np.zeros(n_classes - 1))
        bounds = [(0.0, _STEEPEST), *[(-_MOST_BIAS, _MOST_BIAS)] * (n_classes - 1)]
        if temperature is not None:
            start = np.append(temperature, start[1:])
            bounds[0] = (temperature, temperature)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-6)
        return ClassCalibration(found.x, -float(found.fun))

    def ends(
        self, best: ClassCalibration, allowed_loss: float
    ) -> tuple[ClassCalibration, ClassCalibration]:
        """Return the coolest and the hottest temperature that the likelihood allows.

        Parameters
        ----------
        best : ClassCalibration
            The likeliest, every bag counting once.
        allowed_loss : float
            Of log-likelihood.

        Returns
        -------
        tuple of two ClassCalibration
        """
        even = np.ones(self.counts.n_bags)

        def at(temperature: float) -> ClassCalibration:
            return self.fit(even, best.coefficients, temperature=temperature)

        def excess(temperature: float) -> float:
            return at(temperature).log_likelihood - best.log_likelihood + allowed_loss

        def end(limit: float) -> ClassCalibration:
            if excess(limit) >= 0.0:
                return at(limit)
            return at(float(brentq(excess, best.coefficients[0], limit, xtol=1e-2, rtol=1e-2)))

        return end(0.0), end(_STEEPEST)
