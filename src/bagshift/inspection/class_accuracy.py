# SPDX-License-Identifier: BSD-3-Clause
r"""How good predictions of more than two classes are, told from the counts of the bags.

As with two classes (:func:`bagshift.inspection.estimate_accuracy`): every bag is scored by a
machine that held it out; a temperature and a bias for each class make the scores logarithms of
probabilities that give the counts the highest likelihood; and the probability :math:`r_{jc}` of
a row given the counts of its bag stands in for its label. The accuracy is the mean of
:math:`r_{j\hat y_j}` over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.class_labels import shares_by_class
from bagshift.estimators._class_scores import best_places, class_places
from bagshift.estimators._class_units import class_bag_counts
from bagshift.exceptions import BagError, plural
from bagshift.inspection._class_calibration import ClassCalibration, ClassCountCalibration
from bagshift.inspection._count_calibration import threshold
from bagshift.inspection._interval import Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassAccuracyEstimate:
    """What is known of predictions of more than two classes; printed, it is a table.

    Attributes
    ----------
    accuracy : Interval
        Share of rows whose label is right.
    classes : tuple
        In the order of the lists below.
    sensitivity, predictive_value : tuple of Interval
        Share of right labels among rows of each class, and among rows called so; NaN where there
        is none.
    chance : float
        Accuracy of calling every row the most frequent class.
    can_tell : bool
        Whether the bags tell the predictions from guesses: some temperature is needed, and the
        interval of the accuracy is narrower than the room above `chance`.
    temperature : Interval
        Factor that makes scores logarithms of probabilities.
    evidence : float
        Twice the log-likelihood gained by the temperature.
    n_rows, n_bags : int
        Rows and bags that were held out.
    n_bootstrap : int
        Number of resamples.
    level : float
        Of the intervals.
    scores : ndarray of shape (n_rows_given, n_classes)
        Out-of-bag scores as ``decision_function`` gives them, to be used again.
    """

    accuracy: Interval
    classes: tuple[Any, ...]
    sensitivity: tuple[Interval, ...]
    predictive_value: tuple[Interval, ...]
    chance: float
    can_tell: bool
    temperature: Interval
    evidence: float
    n_rows: int
    n_bags: int
    n_bootstrap: int
    level: float
    scores: Floats = field(repr=False, compare=False)

    def __str__(self) -> str:
        held_out = f"{plural(self.n_rows, 'row')} in {plural(self.n_bags, 'bag')}"
        lines = [
            f"Accuracy without labels, from {held_out}, each scored by a machine that held it out",
            "",
            f"{'accuracy':20}{_shown(self.accuracy)}",
            f"{'chance':20}{100 * self.chance:5.1f} %, by calling every row the largest class",
            "",
            f"{'class':20}{'right among its rows':28}right among rows called so",
        ]
        for label, own, called in zip(
            self.classes, self.sensitivity, self.predictive_value, strict=True
        ):
            lines.append(f"{str(label)[:18]:20}{_shown(own):28}{_shown(called)}")
        lines += [
            "",
            f"Brackets: {100 * self.level:g} % intervals, {self.n_bootstrap:,} resamples of bags.",
        ]
        if not self.can_tell:
            lines.append(
                "Warning: cannot tell: these bags do not tell the predictions from guesses, and "
                "their accuracy may lie anywhere in the interval, or near chance."
            )
        return "\n".join(lines)


def of_two_classes(found: Any) -> Any:
    """Refuse an estimate for more than two classes.

    Parameters
    ----------
    found : AccuracyEstimate or ClassAccuracyEstimate

    Returns
    -------
    AccuracyEstimate

    Raises
    ------
    BagError
        When it is for more.
    """
    if isinstance(found, ClassAccuracyEstimate):
        raise BagError(
            "This picture is of two classes; print the estimate for all classes, or take one "
            "class against the others with Bags.against_rest(label)."
        )
    return found


def judge_classes(
    scores: Floats,
    bags: Bags,
    classes: NDArray[Any],
    *,
    n_bootstrap: int,
    level: float,
    random: np.random.RandomState,
) -> ClassAccuracyEstimate:
    """Estimate accuracy from out-of-bag scores of more than two classes.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        As ``decision_function`` gives them; NaN in rows of bags that were not held out.
    bags : Bags of length n_rows
        Whole bags.
    classes : ndarray of shape (n_classes,)
        Those of the machine.
    n_bootstrap : int
    level : float
    random : RandomState

    Returns
    -------
    ClassAccuracyEstimate

    Raises
    ------
    BagError
        When shares are of a class that is none of the classes.
    """
    class_places(classes, bags)
    held_out = np.flatnonzero(np.isfinite(scores).all(axis=1) & (bags.bag_index >= 0))
    part = bags[held_out]
    order, counts = class_bag_counts(part, shares_by_class(part, classes), warn=False)
    own = scores[held_out][order]
    problem = ClassCountCalibration.of_scores(own, counts)
    called = best_places(own)
    even = np.ones(counts.n_bags)
    best = problem.fit(even)
    figures = _figures(problem.chances_in_bags(best.coefficients), called, np.ones(len(called)))
    drawn, slopes = _resampled(problem, best, called, n_bootstrap, random)
    allowed = problem.ends(best, 0.5 * threshold(level))
    at_ends = np.array(
        [
            _figures(problem.chances_in_bags(end.coefficients), called, np.ones(len(called)))
            for end in allowed
        ]
    )
    none = problem.fit(even, best.coefficients, temperature=0.0)
    evidence = max(0.0, 2.0 * (best.log_likelihood - none.log_likelihood))
    intervals = [
        _interval(value, drawn[:, i], at_ends[:, i], level) for i, value in enumerate(figures)
    ]
    chance = float((counts.counts.sum(axis=0) / counts.n_rows).max())
    coolest, hottest = (end.coefficients[0] for end in allowed)
    temperature = _interval(best.coefficients[0], slopes, np.array([coolest, hottest]), level)
    can_tell = (
        evidence > threshold(level) and temperature.low > 0.0 and intervals[0].width < 1.0 - chance
    )
    n_classes = len(classes)
    return ClassAccuracyEstimate(
        accuracy=intervals[0],
        classes=tuple(np.asarray(classes).tolist()),
        sensitivity=tuple(intervals[1 : 1 + n_classes]),
        predictive_value=tuple(intervals[1 + n_classes :]),
        chance=chance,
        can_tell=bool(can_tell),
        temperature=_divided(temperature, problem.spread),
        evidence=evidence,
        n_rows=len(called),
        n_bags=counts.n_bags,
        n_bootstrap=n_bootstrap,
        level=level,
        scores=scores,
    )


def _figures(chances: Floats, called: NDArray[np.intp], weights: Floats) -> Floats:
    """Return accuracy, and for each class what is right among its rows and those called so."""
    right = weights * chances[np.arange(len(called)), called]
    n_classes = chances.shape[1]
    right_of = np.bincount(called, right, minlength=n_classes)
    of_class = weights @ chances
    called_so = np.bincount(called, weights, minlength=n_classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.concatenate(
            [[right.sum() / weights.sum()], right_of / of_class, right_of / called_so]
        )


def _resampled(
    problem: ClassCountCalibration,
    best: ClassCalibration,
    called: NDArray[np.intp],
    n_bootstrap: int,
    random: np.random.RandomState,
) -> tuple[Floats, Floats]:
    """Return figures and temperatures on resampled bags, with labels drawn as rows show them."""
    counts = problem.counts
    draws = random.multinomial(
        counts.n_bags, np.full(counts.n_bags, 1.0 / counts.n_bags), size=n_bootstrap
    )
    figures, slopes = [], []
    for weights in draws.astype(np.float64):
        found = problem.fit(weights, best.coefficients)
        cumulative = np.cumsum(problem.chances_in_bags(found.coefficients), axis=1)
        drawn = (random.random_sample((len(called), 1)) > cumulative[:, :-1]).sum(axis=1)
        labels = np.eye(counts.n_classes)[drawn]
        figures.append(_figures(labels, called, np.repeat(weights, counts.sizes)))
        slopes.append(found.coefficients[0])
    return np.array(figures), np.array(slopes)


def _interval(value: float, drawn: Floats, at_ends: Floats, level: float) -> Interval:
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or not len(drawn):
        return Interval(float(value), np.nan, np.nan, level)
    low, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    held = [value, *at_ends[np.isfinite(at_ends)]]
    return Interval(float(value), float(min(low, *held)), float(max(high, *held)), level)


def _divided(interval: Interval, unit: float) -> Interval:
    return Interval(
        interval.estimate / unit, interval.low / unit, interval.high / unit, interval.level
    )


def _shown(interval: Interval) -> str:
    if not np.isfinite(interval.estimate):
        return "not defined"
    return (
        f"{100 * interval.estimate:5.1f} %  [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
    )
