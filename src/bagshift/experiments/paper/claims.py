# SPDX-License-Identifier: BSD-3-Clause
"""What the paper observed, one claim after the other, against the cells.

Each claim is looked at twice: on the bagged rows with the paper's choice of parameters, as the
paper does, and on fresh rows, by the honest protocol where its cells are at hand. Differences are
paired over draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bagshift.experiments.paper.statistics import Interval, Results, Where, interval
from bagshift.experiments.paper.verdicts import NOTHING, Finding

# What "about equal" may mean, in accuracy.
ABOUT_EQUAL = 0.02
# What share of the labels is "the same hyperplane", and "almost only" the target's.
THE_SAME, ALMOST = 0.99, 0.95


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


@dataclass(frozen=True)
class Along:
    """A method along one of its parameters.

    Attributes
    ----------
    task : str
        Of the cells.
    bag_size : int
        Of the cells.
    methods : sequence of str
        Methods of the cells, in the order of the parameter.
    names : sequence of str
        How its values are written.
    """

    task: str
    bag_size: int
    methods: Sequence[str]
    names: Sequence[str]


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
    return signed(found, f"{better} − {worse} {found}")


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
    numbers = f"{first} − {second} at K = {size}: {found}"
    if np.isnan(found.mean):
        return NOTHING
    if found.low > -ABOUT_EQUAL and found.high < ABOUT_EQUAL:
        return Finding("yes", numbers)
    is_apart = found.low > ABOUT_EQUAL or found.high < -ABOUT_EQUAL
    return Finding("no" if is_apart else "open", numbers)


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
    return signed(slope, f"gaps {gaps}; per doubling of K {slope}")


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
    return signed(slope, f"{means}; per doubling of K {slope}", claimed=-1)


def rises(evidence: Evidence, path: Along) -> Finding:
    """Judge whether accuracy rises from the least value of a parameter to the best.

    The best that a draw is compared with is that of the other draws, so that choosing it does not
    favour the claim.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    path : Along
        Along which parameter.

    Returns
    -------
    Finding
    """
    curves, at_top = _curves(evidence, path)
    rise = interval(at_top - curves[:, 0])
    return signed(rise, f"top at {_top_name(curves, path)}; rise {rise}")


def falls_sharply(evidence: Evidence, path: Along) -> Finding:
    """Judge whether accuracy falls after its top, by more than it rose before.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    path : Along
        Along which parameter.

    Returns
    -------
    Finding
        The top is chosen as in :func:`rises`.
    """
    curves, at_top = _curves(evidence, path)
    rise, fall = at_top - curves[:, 0], at_top - curves[:, -1]
    found, more = interval(fall), interval(fall - rise)
    judged = found if found.low < more.low else more
    return signed(judged, f"fall {found}; less the rise {more}")


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
    if np.isnan(claimed).any():
        return NOTHING
    return Finding("yes" if min(claimed) >= at_least else "no", f"same label as {numbers}")


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


def _curves(evidence: Evidence, path: Along) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return accuracies by draw along a path, and that of each draw where the others are best."""
    columns = [evidence.of(path.task, path.bag_size, method) for method in path.methods]
    curves = np.column_stack(columns)
    at_top = [curve[_top_of_others(curves, i)] for i, curve in enumerate(curves)]
    return curves, np.array(at_top)


def _top_of_others(curves: NDArray[np.float64], i: int) -> int:
    others = np.delete(curves, i, axis=0) if len(curves) > 1 else curves
    return int(np.argmax(others.mean(axis=0)))


def _top_name(curves: NDArray[np.float64], path: Along) -> str:
    return path.names[int(curves.mean(axis=0).argmax())]


def signed(found: Interval, numbers: str, claimed: Literal[1, -1] = 1) -> Finding:
    """Judge by the sign of a difference.

    Parameters
    ----------
    found : Interval
        Of the difference.
    numbers : str
        What to show.
    claimed : {1, -1}
        The sign that is claimed.

    Returns
    -------
    Finding
        Open when the interval holds zero or has no width.
    """
    if np.isnan(found.mean):
        return NOTHING
    if not (found.is_above_zero or found.is_below_zero):
        return Finding("open", numbers)
    return Finding("yes" if found.is_above_zero == (claimed == 1) else "no", numbers)


# The paper's one sentence, in the two halves that can be true apart.
ABOUT_COUPLING = {
    "accuracy rises (slowly) with a small coupling": rises,
    "accuracy falls sharply with a large coupling": falls_sharply,
}
