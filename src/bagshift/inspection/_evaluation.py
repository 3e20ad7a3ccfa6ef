# SPDX-License-Identifier: BSD-3-Clause
"""From out-of-bag scores and what is published about bags to figures and their intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._base import is_positive
from bagshift.estimators._count_units import bag_counts
from bagshift.inspection._count_calibration import (
    Calibration,
    CountCalibration,
    bags_differ,
    threshold,
)
from bagshift.inspection._figures import ScoredRows, goodman_figures
from bagshift.inspection._interval import Interval

Floats = NDArray[np.float64]

# Two ways that agree are said not to five times more rarely than an interval fails.
_SHARE_OF_FALSE_ALARMS = 0.2
# Of more bags, so many are resampled.
_MOST_BAGS = 4000


@dataclass(frozen=True)
class Judgement:
    """What scores and bags say together.

    Attributes
    ----------
    figures, checks : list of Interval
        By the count posterior and by Goodman's regression, in the order of ``_figures.NAMES``.
    difference : Interval
        First figure less first check.
    coefficients : list of Interval
        Temperature, that between bags where there is one, and bias, in units of the scores.
    evidence : float
        Twice the log-likelihood gained by the temperature.
    chance : float
        Accuracy of calling every row the more frequent class.
    splits : bool
        Whether bags differ by more than chance.
    can_tell : bool
        Whether the bags tell the predictions from guesses.
    n_rows, n_bags, n_bootstrap : int
    """

    figures: list[Interval]
    checks: list[Interval]
    difference: Interval
    coefficients: list[Interval]
    evidence: float
    chance: float
    splits: bool
    can_tell: bool
    n_rows: int
    n_bags: int
    n_bootstrap: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Out-of-bag scores with what is published, rows bag by bag.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        Towards the positive class.
    calibration : CountCalibration
    rows : ScoredRows
    predicted, given : ndarray of shape (n_bags,)
        Shares of rows called positive, and published shares.
    splits : bool
        Whether bags differ by more than chance.
    """

    scores: Floats
    calibration: CountCalibration
    rows: ScoredRows
    predicted: Floats
    given: Floats
    splits: bool

    @classmethod
    def of(cls, scores: Floats, bags: Bags, *, flipped: bool, n_threads: int) -> Evaluation:
        """Arrange scores of rows, all of them in bags.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            As ``decision_function`` gives them.
        bags : Bags of length n_rows
        flipped : bool
            Whether low scores mean the positive class.
        n_threads : int

        Returns
        -------
        Evaluation
        """
        order, counts = bag_counts(bags, warn=False)
        called = is_positive(scores, flipped=flipped)
        towards = (-scores if flipped else scores)[order]
        splits = bags_differ(towards, counts)
        return cls(
            scores=towards,
            calibration=CountCalibration.of_scores(
                towards, counts, split=splits, n_threads=n_threads
            ),
            rows=ScoredRows.of(towards, called[order]),
            predicted=bags.bag_means(called.astype(np.float64)),
            given=bags.positive_shares,
            splits=splits,
        )

    @property
    def _sizes(self) -> NDArray[np.int64]:
        return self.calibration.counts.sizes

    def figures_at(self, coefficients: Floats, weights: Floats) -> Floats:
        """Return figures by the count posterior, with bags counting by weights."""
        probability = self.calibration.posterior(coefficients).probability
        return self.rows.figures(probability, np.repeat(weights, self._sizes))

    def checks_at(self, weights: Floats) -> Floats:
        """Return figures by Goodman's regression, with bags counting by weights."""
        return goodman_figures(self.predicted, self.given, weights * self._sizes)

    def judge(self, n_bootstrap: int, level: float, random: np.random.RandomState) -> Judgement:
        """Return figures with intervals.

        Parameters
        ----------
        n_bootstrap : int
        level : float
        random : RandomState

        Returns
        -------
        Judgement
        """
        even = np.ones(len(self.given))
        best = self.calibration.fit(even)
        allowed = self.calibration.ends(best, level)
        drawn = self._resample_some(best, n_bootstrap, random)
        own, check = self.figures_at(best.coefficients, even), self.checks_at(even)
        at_ends = np.stack([self.figures_at(end.coefficients, even) for end in allowed])
        figures = _intervals(own, drawn.figures, level, at_ends)
        evidence, chance = self.calibration.evidence(best), self._chance(best)
        coefficients = self._coefficients(best, allowed, drawn, level)
        can_tell = (
            evidence > threshold(level)
            and coefficients[0].low > 0.0
            and figures[0].width < 1.0 - chance
        )
        differences = (drawn.figures - drawn.checks)[:, :1]
        surely = 1.0 - _SHARE_OF_FALSE_ALARMS * (1.0 - level)
        return Judgement(
            figures=figures,
            checks=_intervals(check, drawn.checks, level),
            difference=_intervals(own[:1] - check[:1], differences, surely)[0],
            coefficients=coefficients,
            evidence=evidence,
            chance=chance,
            splits=self.splits,
            can_tell=bool(can_tell),
            n_rows=len(self.scores),
            n_bags=len(self.given),
            n_bootstrap=n_bootstrap,
        )

    def _resample_some(self, best: Calibration, n: int, random: np.random.RandomState) -> _Drawn:
        """Return values on resampled bags; of many bags a part is resampled.

        Values on resamples of m out of n bags scatter more than on all of them, by the square root
        of n / m, and are drawn together by it.
        """
        n_bags = len(self.given)
        if n_bags <= _MOST_BAGS:
            return self._resample(best, n, random)
        some = self._take(np.sort(random.permutation(n_bags)[:_MOST_BAGS]))
        even = np.ones(_MOST_BAGS)
        own = some.calibration.fit(even, best.coefficients)
        drawn = some._resample(own, n, random)
        factor = np.sqrt(_MOST_BAGS / n_bags)

        def about(centre: Floats, centre_of_some: Floats, values: Floats) -> Floats:
            return np.asarray(centre + factor * (values - centre_of_some))

        every = np.ones(n_bags)
        return _Drawn(
            about(best.coefficients, own.coefficients, drawn.coefficients),
            about(
                self.figures_at(best.coefficients, every),
                some.figures_at(own.coefficients, even),
                drawn.figures,
            ),
            about(self.checks_at(every), some.checks_at(even), drawn.checks),
        )

    def _take(self, bags: NDArray[np.intp]) -> Evaluation:
        """Return some of the bags."""
        rows = self.calibration.counts.rows_of(bags)
        calibration = replace(
            self.calibration,
            terms=np.ascontiguousarray(self.calibration.terms[:, rows]),
            counts=self.calibration.counts.take(bags),
        )
        return Evaluation(
            scores=self.scores[rows],
            calibration=calibration,
            rows=ScoredRows.of(self.scores[rows], self.rows.is_positive[rows]),
            predicted=self.predicted[bags],
            given=self.given[bags],
            splits=self.splits,
        )

    def _resample(self, best: Calibration, n: int, random: np.random.RandomState) -> _Drawn:
        n_bags = len(self.given)
        draws = random.multinomial(n_bags, np.full(n_bags, 1.0 / n_bags), size=n)
        coefficients, figures, checks = [], [], []
        for weights in draws.astype(np.float64):
            found = self.calibration.fit(weights, best.coefficients)
            coefficients.append(found.coefficients)
            figures.append(self._drawn_figures(found.coefficients, weights, random))
            checks.append(self.checks_at(weights))
        return _Drawn(np.stack(coefficients), np.stack(figures), np.stack(checks))

    def _drawn_figures(
        self, coefficients: Floats, weights: Floats, random: np.random.RandomState
    ) -> Floats:
        """Return figures with labels drawn from their probabilities, as so many rows show them."""
        probability = self.calibration.posterior(coefficients).probability
        labels = (random.random_sample(len(probability)) < probability).astype(np.float64)
        return self.rows.figures(labels, np.repeat(weights, self._sizes))

    def _coefficients(
        self,
        best: Calibration,
        allowed: tuple[Calibration, Calibration],
        drawn: _Drawn,
        level: float,
    ) -> list[Interval]:
        def in_units(coefficients: Floats) -> Floats:
            return self.calibration.take_slopes(coefficients, self.scores)

        at_ends = np.stack([in_units(end.coefficients) for end in allowed])
        resampled = np.stack([in_units(each) for each in drawn.coefficients])
        return _intervals(in_units(best.coefficients), resampled, level, at_ends)

    def _chance(self, best: Calibration) -> float:
        share = float(self.calibration.posterior(best.coefficients).probability.mean())
        return max(share, 1.0 - share)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Values on resampled bags, one row per resample."""

    coefficients: Floats
    figures: Floats
    checks: Floats


def _intervals(
    own: Floats, resampled: Floats, level: float, at_ends: Floats | None = None
) -> list[Interval]:
    """Return percentile intervals, widened to hold the estimate and the values at the ends."""
    return [
        _interval(value, drawn, level, () if at_ends is None else at_ends[:, i])
        for i, (value, drawn) in enumerate(zip(own, resampled.T, strict=True))
    ]


def _interval(value: float, drawn: Floats, level: float, at_ends: Floats | tuple[()]) -> Interval:
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or not len(drawn):
        return Interval(float(value), np.nan, np.nan, level)
    low, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    held = [value, *(each for each in at_ends if np.isfinite(each))]
    return Interval(float(value), float(min(low, *held)), float(max(high, *held)), level)
