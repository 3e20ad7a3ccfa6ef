# SPDX-License-Identifier: BSD-3-Clause
"""Given against predicted shares of bags, with intervals where they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from bagshift.bags import Bags
from bagshift.estimators._guesses import positiveness
from bagshift.exceptions import BagError
from bagshift.inspection._interval import Intervals
from bagshift.plotting._axes import axes_and_figure
from bagshift.plotting._style import BLUE, INK
from bagshift.plotting.shares import plot_shares

Floats = NDArray[np.float64]

__all__ = ["BagShareDisplay"]

# Of more bags the intervals would cover the points.
_MOST_INTERVALS = 200


class BagShareDisplay:
    """The predicted share of every bag against the given one.

    Bags on the diagonal are predicted as given. It shows how well shares are met, and not how
    many rows are right: two rows of a bag that change places change no share.

    Parameters
    ----------
    given, predicted : array-like of shape (n_bags,)
        Shares of positives.
    sizes : array-like of shape (n_bags,), default=None
        Rows of each bag; areas of points grow with them.
    intervals : Intervals or None, default=None
        Of the predicted shares, as :func:`~bagshift.inspection.bag_bootstrap` has them; drawn for
        up to 200 bags.

    Attributes
    ----------
    ax_ : Axes
        What was drawn into.
    figure_ : Figure

    Raises
    ------
    ValueError
        When the numbers of shares differ.

    Examples
    --------
    >>> from bagshift.plotting import BagShareDisplay
    >>> display = BagShareDisplay([0.25, 0.5], [0.3, 0.45], sizes=[8, 16])
    >>> round(display.error, 3)
    0.05
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        given: ArrayLike,
        predicted: ArrayLike,
        *,
        sizes: ArrayLike | None = None,
        intervals: Intervals | None = None,
    ) -> None:
        self.given = np.asarray(given, dtype=float)
        self.predicted = np.asarray(predicted, dtype=float)
        self.sizes = None if sizes is None else np.asarray(sizes, dtype=float)
        self.intervals = intervals
        lengths = {len(self.given), len(self.predicted)}
        lengths |= set() if self.sizes is None else {len(self.sizes)}
        lengths |= set() if intervals is None else {len(intervals)}
        if len(lengths) > 1:
            raise ValueError("given, predicted, sizes and intervals must be of the same bags.")

    @property
    def error(self) -> float:
        """Mean distance of the shares, bags weighted by their sizes."""
        return float(np.average(np.abs(self.given - self.predicted), weights=self.sizes))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        bags: Bags,
        *,
        intervals: Intervals | None = None,
        ax: Axes | None = None,
    ) -> BagShareDisplay:
        """Predict the rows and draw.

        Parameters
        ----------
        estimator : classifier
            Fitted. Shares are means of probabilities where it has them, else parts of labels.
        X : array-like of shape (n_rows, n_features)
        bags : Bags of length n_rows
        intervals : Intervals or None, default=None
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        BagShareDisplay
        """
        chances = positiveness(estimator, X, bags)
        return cls.from_predictions(bags, chances, intervals=intervals, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        bags: Bags,
        predictions: ArrayLike,
        *,
        intervals: Intervals | None = None,
        ax: Axes | None = None,
    ) -> BagShareDisplay:
        """Average what was predicted of rows over bags and draw.

        Parameters
        ----------
        bags : Bags of length n_rows
        predictions : array-like of shape (n_rows,)
            Probability of the positive class of each row, or whether it is called positive.
        intervals : Intervals or None, default=None
        ax : Axes or None, default=None

        Returns
        -------
        BagShareDisplay

        Raises
        ------
        BagError
            When there is no bag.
        """
        if not bags.n_bags:
            raise BagError("there are no bags, and so no shares to compare with.")
        display = cls(
            bags.clipped_shares,
            bags.bag_means(np.asarray(predictions, dtype=float)),
            sizes=bags.rows_per_bag,
            intervals=intervals,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> BagShareDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        BagShareDisplay
            This one.
        """
        self.ax_, self.figure_ = axes_and_figure(ax, (4.6, 4.6))
        if self.intervals is not None and len(self.given) <= _MOST_INTERVALS:
            low, high = self.intervals.low, self.intervals.high
            self.ax_.vlines(self.given, low, high, color=BLUE, alpha=0.45, linewidth=1, zorder=1)
        plot_shares(self.given, self.predicted, self.ax_, sizes=self.sizes)
        self.ax_.set(xlabel="given share of the bag", ylabel="predicted share of the bag")
        self.ax_.set_title(
            f"{len(self.given):,} bags, mean distance {self.error:.3f}",
            color=INK,
            fontsize="medium",
        )
        return self
