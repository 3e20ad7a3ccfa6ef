# SPDX-License-Identifier: BSD-3-Clause
"""What the paper observed, one claim after the other, against the cells.

Each claim is looked at twice: on the bagged rows with the paper's choice of parameters, as the
paper does, and on fresh rows, by the honest protocol where its cells are at hand. Differences are
paired over draws, and a difference counts when its 95 % interval does not hold zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bagshift.experiments.paper.statistics import Interval, Results, Where, interval

Verdict = Literal[
    "reproduced",
    "not reproduced",
    "only under its protocol",
    "only on fresh rows",
    "not run",
    "holds",
    "does not hold",
    "holds in-sample only",
]
# What "about equal" may mean, in accuracy.
ABOUT_EQUAL = 0.02


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds on some rows, with the numbers.

    Attributes
    ----------
    holds : bool or None
        None where there is nothing to judge by.
    numbers : str
        In points of accuracy.
    """

    holds: bool | None
    numbers: str


@dataclass(frozen=True)
class Claim:
    """An observation of the paper and what was found.

    Attributes
    ----------
    statement : str
        What the paper says.
    data : str
        On which data it was looked at.
    in_sample : Finding
        By the paper's protocol, on the bagged rows.
    fresh : Finding
        On fresh rows.
    is_ours : bool
        Whether the paper does not say so, and it is told beside its claims.
    """

    statement: str
    data: str
    in_sample: Finding
    fresh: Finding
    is_ours: bool = field(default=False, kw_only=True)

    @property
    def verdict(self) -> Verdict:
        """The two findings in a phrase."""
        match self.in_sample.holds, self.fresh.holds:
            case None, _:
                return "not run"
            case True, True:
                return "holds" if self.is_ours else "reproduced"
            case True, _:
                return "holds in-sample only" if self.is_ours else "only under its protocol"
            case False, True:
                return "only on fresh rows"
        return "does not hold" if self.is_ours else "not reproduced"


@dataclass(frozen=True)
class Evidence:
    """The cells that a claim is judged by.

    Attributes
    ----------
    results : Results
        The cells.
    where : {"in_sample", "fresh"}
        On which rows.
    """

    results: Results
    where: Where

    def of(self, task: str, bag_size: int, method: str) -> NDArray[np.float64]:
        """Return accuracies by draw; see :meth:`Results.of`.

        Parameters
        ----------
        task : str
            Of the cells.
        bag_size : int
            Of the cells.
        method : str
            Of the cells.

        Returns
        -------
        ndarray of shape (n_draws,)
        """
        return self.results.of(self.where, task, bag_size, method)

    def over_sizes(self, task: str, sizes: Sequence[int], method: str) -> NDArray[np.float64]:
        """Return accuracies by draw and bag size; see :meth:`Results.over_sizes`.

        Parameters
        ----------
        task : str
            Of the cells.
        sizes : sequence of int
            Bag sizes.
        method : str
            Of the cells.

        Returns
        -------
        ndarray of shape (n_draws, n_sizes)
        """
        return self.results.over_sizes(self.where, task, sizes, method)


def is_better(
    evidence: Evidence, task: str, sizes: Sequence[int], better: str, worse: str
) -> Finding:
    """Judge whether one method is better than another, in the mean over bag sizes.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    task : str
        Of the cells.
    sizes : sequence of int
        Bag sizes.
    better, worse : str
        Methods.

    Returns
    -------
    Finding
    """
    gap = evidence.over_sizes(task, sizes, better) - evidence.over_sizes(task, sizes, worse)
    found = interval(gap.mean(axis=1))
    return _finding(found, found.is_above_zero, f"{better} − {worse} {found}")


def is_about_equal(evidence: Evidence, task: str, size: int, first: str, second: str) -> Finding:
    """Judge whether two methods are within two points of each other at a bag size.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    task : str
        Of the cells.
    size : int
        Bag size.
    first, second : str
        Methods.

    Returns
    -------
    Finding
    """
    found = interval(evidence.of(task, size, first) - evidence.of(task, size, second))
    is_equal = found.low > -ABOUT_EQUAL and found.high < ABOUT_EQUAL
    return _finding(found, is_equal, f"{first} − {second} at K = {size}: {found}")


def gap_grows(
    evidence: Evidence, task: str, sizes: Sequence[int], better: str, worse: str
) -> Finding:
    """Judge whether the gap between two methods grows with the bag size.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    task : str
        Of the cells.
    sizes : sequence of int
        Bag sizes, each twice the last.
    better, worse : str
        Methods.

    Returns
    -------
    Finding
    """
    gap = evidence.over_sizes(task, sizes, better) - evidence.over_sizes(task, sizes, worse)
    slope = interval(slopes(gap))
    gaps = ", ".join(f"{100 * value:+.1f}" for value in gap.mean(axis=0))
    return _finding(slope, slope.is_above_zero, f"gaps {gaps}; per doubling of K {slope}")


def falls_with_size(evidence: Evidence, task: str, sizes: Sequence[int], method: str) -> Finding:
    """Judge whether the accuracy of a method falls as bags grow.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    task : str
        Of the cells.
    sizes : sequence of int
        Bag sizes, each twice the last.
    method : str
        The method.

    Returns
    -------
    Finding
    """
    values = evidence.over_sizes(task, sizes, method)
    slope = interval(slopes(values))
    means = ", ".join(f"{100 * value:.1f}" for value in values.mean(axis=0))
    return _finding(slope, slope.is_below_zero, f"{means}; per doubling of K {slope}")


def rises_then_falls(
    evidence: Evidence, task: str, bag_size: int, methods: Sequence[str], names: Sequence[str]
) -> Finding:
    """Judge whether accuracy rises slowly along a parameter and then falls sharply.

    The top that a draw is compared with is that of the other draws, so that choosing it does not
    favour the claim.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    task : str
        Of the cells.
    bag_size : int
        Of the cells.
    methods : sequence of str
        Methods in the order of the parameter.
    names : sequence of str
        How its values are written.

    Returns
    -------
    Finding
    """
    curves = np.column_stack([evidence.of(task, bag_size, method) for method in methods])
    mean = curves.mean(axis=0)
    at_top = np.array([curve[_top_of_others(curves, i)] for i, curve in enumerate(curves)])
    rise, fall = interval(at_top - curves[:, 0]), interval(at_top - curves[:, -1])
    steps = np.diff(mean)
    is_sharper = bool(-steps.min() > steps.max())
    numbers = (
        f"top at {names[int(mean.argmax())]}; rise {rise}, fall {fall}; "
        f"steepest step up {100 * max(steps.max(), 0):.1f}, down {100 * max(-steps.min(), 0):.1f}"
    )
    return _finding(rise, rise.is_above_zero and fall.is_above_zero and is_sharper, numbers)


def agree(
    evidence: Evidence,
    task: str,
    bag_size: int,
    comparisons: Mapping[str, str],
    others: Mapping[str, str],
    at_least: float,
) -> Finding:
    """Judge whether machines agree on nearly all rows.

    Parameters
    ----------
    evidence : Evidence
        Agreements in place of accuracies.
    task : str
        Of the cells.
    bag_size : int
        Of the cells.
    comparisons : mapping of str to str
        Those that the claim is about: names for the reader, and methods of the cells.
    others : mapping of str to str
        Those that are told beside it.
    at_least : float
        What share of the rows is nearly all.

    Returns
    -------
    Finding
    """
    means = {
        name: interval(evidence.of(task, bag_size, method)).mean
        for name, method in {**comparisons, **others}.items()
    }
    numbers = ", ".join(f"{name}: {100 * value:.1f} %" for name, value in means.items())
    claimed = [means[name] for name in comparisons]
    holds = None if np.isnan(claimed).any() else min(claimed) >= at_least
    return Finding(holds, f"same label as {numbers}")


def slopes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares slope of every row over equally spaced columns.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        At least two columns.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    places = np.arange(values.shape[1]) - (values.shape[1] - 1) / 2
    slope: NDArray[np.float64] = values @ places / (places @ places)
    return slope


def _top_of_others(curves: NDArray[np.float64], i: int) -> int:
    others = np.delete(curves, i, axis=0) if len(curves) > 1 else curves
    return int(np.argmax(others.mean(axis=0)))


def _finding(found: Interval, holds: bool, numbers: str) -> Finding:
    return Finding(None, "") if np.isnan(found.mean) else Finding(holds, numbers)
