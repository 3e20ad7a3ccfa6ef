# SPDX-License-Identifier: BSD-3-Clause
r"""Out-of-bag scores made log odds by what is published about the bags.

The log odds of row :math:`j` of bag :math:`k` are :math:`T f_j + b`, and the temperature
:math:`T \ge 0` and the bias :math:`b` are those that give the published numbers of the bags the
highest likelihood. Where scores of bags lie further apart than rows put together at random would,
the bags differ by more than who is positive in them, and what holds between bags need not hold
within one. Then :math:`T (f_j - \bar f_k) + T_b \bar f_k + b` has a temperature for each, and
only the first, which the scatter of the numbers about their expectation tells, says anything about
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import chi2, rankdata

from bagshift.inspection._bounded_newton import minimise
from bagshift.solvers.count_likelihood import BagCounts, CountPosterior, count_posterior

Floats = NDArray[np.float64]

# Of scores of unit spread. So flat a prior only keeps coefficients finite where counts are as
# predicted to the last row.
_PRIOR_SLOPE, _PRIOR_BIAS = 20.0, 10.0
_STEEPEST, _MOST_BIAS = 60.0, 40.0
# Random bags are taken for shifted ones once in a thousand times.
_SURELY = 1e-3


@dataclass(frozen=True, eq=False)
class Calibration:
    """A temperature and what goes with it.

    Attributes
    ----------
    coefficients : ndarray of shape (n_terms,)
        Temperature, that between bags where there is one, and bias; of scores of unit spread.
    log_likelihood : float
        Of the published numbers, by the weights of the bags, less what the flat prior takes off.
    """

    coefficients: Floats
    log_likelihood: float

    @property
    def temperature(self) -> float:
        """The temperature, of scores of unit spread."""
        return float(self.coefficients[0])


@dataclass(frozen=True, eq=False)
class CountCalibration:
    """The problem of finding a temperature.

    Attributes
    ----------
    terms : ndarray of shape (n_terms, n_rows)
        What the coefficients multiply, rows bag by bag; the last term is 1.
    counts : BagCounts
        What is published about the bags.
    n_threads : int
    """

    terms: Floats
    counts: BagCounts
    n_threads: int = 1

    @classmethod
    def of_scores(
        cls, scores: Floats, counts: BagCounts, *, split: bool, n_threads: int = 1
    ) -> CountCalibration:
        """Return the problem for scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Towards the positive class, bag by bag.
        counts : BagCounts
        split : bool
            Whether there is a temperature between bags beside that within them.
        n_threads : int, default=1

        Returns
        -------
        CountCalibration
        """
        scaled = scores / spread_of(scores)
        means = np.repeat(_bag_means(scaled, counts), counts.sizes)
        slopes = [scaled - means, means] if split else [scaled]
        return cls(np.stack([*slopes, np.ones_like(scaled)]), counts, n_threads)

    @cached_property
    def _precision(self) -> Floats:
        slopes = np.full(len(self.terms) - 1, _PRIOR_SLOPE**-2)
        return np.append(slopes, _PRIOR_BIAS**-2)

    def posterior(self, coefficients: Floats) -> CountPosterior:
        """Return likelihoods of bags and probabilities of rows given their bag's number."""
        return count_posterior(coefficients @ self.terms, self.counts, n_threads=self.n_threads)

    def fit(
        self, weights: Floats, start: Floats | None = None, *, temperature: float | None = None
    ) -> Calibration:
        """Return the likeliest coefficients.

        Parameters
        ----------
        weights : ndarray of shape (n_bags,)
            How often each bag counts.
        start : ndarray of shape (n_terms,), optional
        temperature : float, optional
            Held fast.

        Returns
        -------
        Calibration
        """
        of_rows = np.repeat(weights, self.counts.sizes)

        def loss(coefficients: Floats) -> tuple[float, Floats]:
            log_odds = coefficients @ self.terms
            posterior = count_posterior(log_odds, self.counts, n_threads=self.n_threads)
            slack = of_rows * (posterior.probability - expit(log_odds))
            prior = self._precision * coefficients
            value = -weights @ posterior.log_likelihood + 0.5 * prior @ coefficients
            return float(value), prior - self.terms @ slack

        n_slopes = len(self.terms) - 1
        upper = np.append(np.full(n_slopes, _STEEPEST), _MOST_BIAS)
        lower = -upper
        lower[0] = 0.0
        if temperature is not None:
            lower[0] = upper[0] = temperature
        if start is None:
            start = np.append(np.ones(n_slopes), 0.0)
        point, value = minimise(loss, start, lower, upper)
        return Calibration(point, -value)

    def ends(self, best: Calibration, level: float) -> tuple[Calibration, Calibration]:
        """Return the coolest and the hottest temperature that the likelihood allows.

        Parameters
        ----------
        best : Calibration
            The likeliest, every bag counting once.
        level : float
            Of the interval.

        Returns
        -------
        tuple of two Calibration
        """
        weights = np.ones(self.counts.n_bags)
        allowed = best.log_likelihood - 0.5 * threshold(level)

        def at(temperature: float) -> Calibration:
            return self.fit(weights, best.coefficients, temperature=temperature)

        def excess(temperature: float) -> float:
            return at(temperature).log_likelihood - allowed

        def end(limit: float) -> Calibration:
            if excess(limit) >= 0.0:
                return at(limit)
            inside = best.temperature
            return at(float(brentq(excess, inside, limit, xtol=1e-3, rtol=1e-3)))

        return end(0.0), end(_STEEPEST)

    def evidence(self, best: Calibration) -> float:
        """Return twice the log-likelihood that the temperature gains over none."""
        none = self.fit(np.ones(self.counts.n_bags), best.coefficients, temperature=0.0)
        return max(0.0, 2.0 * (best.log_likelihood - none.log_likelihood))

    def take_slopes(self, coefficients: Floats, scores: Floats) -> Floats:
        """Return coefficients in the units of the scores as they were given."""
        units = np.full(len(coefficients), spread_of(scores))
        units[-1] = 1.0
        return np.asarray(coefficients / units)


def threshold(level: float) -> float:
    """Return how much twice the log-likelihood may fall short of the best.

    Twice the quantile of chi-squared: machines that held out different bags share the counts of
    all others, and on columns that say nothing this doubles the variance of how well held-out
    scores fit (that of a degenerate U-statistic).
    """
    return 2.0 * float(chi2.ppf(level, 1))


def spread_of(scores: Floats) -> float:
    """Return the standard deviation of scores; 1 where they do not differ."""
    spread = float(np.std(scores))
    return spread if spread > 1e-12 * (1.0 + float(np.max(np.abs(scores)))) else 1.0


def bags_differ(scores: Floats, counts: BagCounts) -> bool:
    """Tell whether scores of bags lie further apart than rows put together at random would.

    The test of Kruskal and Wallis, on ranks, at a level of one in a thousand.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    counts : BagCounts

    Returns
    -------
    bool
    """
    ranks = rankdata(scores)
    variance = float(np.var(ranks, ddof=1)) if len(ranks) > 1 else 0.0
    if counts.n_bags < 2 or variance == 0.0:
        return False
    distance = _bag_means(ranks, counts) - ranks.mean()
    statistic = float(counts.sizes @ distance**2) / variance
    return bool(chi2.sf(statistic, counts.n_bags - 1) < _SURELY)


def _bag_means(values: Floats, counts: BagCounts) -> Floats:
    return np.asarray(np.add.reduceat(values, counts.starts[:-1]) / counts.sizes)
