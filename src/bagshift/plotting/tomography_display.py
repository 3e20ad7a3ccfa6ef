# SPDX-License-Identifier: BSD-3-Clause
r"""What the margins of two-by-two tables leave open: King's tomography plot.

In a bag a part :math:`x` of the rows belongs to a group, and a part :math:`t` is positive. The
rates of positives in the group, :math:`\beta_1`, and outside of it, :math:`\beta_0`, then lie on
the line

.. math:: t = x \beta_1 + (1 - x) \beta_0, \qquad 0 \le \beta_0, \beta_1 \le 1,

and nothing that is published about the bag alone says where [1]_.

References
----------
.. [1] G. King (1997). A solution to the ecological inference problem. Princeton University Press.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from bagshift.bags import Bags
from bagshift.estimators._guesses import positiveness
from bagshift.plotting._axes import axes_and_figure, name_axes
from bagshift.plotting._style import BLUE, INK, ORANGE, plain_axes

Floats = NDArray[np.float64]

__all__ = ["TomographyDisplay"]


class TomographyDisplay:
    """One line for each bag, of all pairs of rates that its margins allow.

    Parameters
    ----------
    group_shares : array-like of shape (n_bags,)
        Part of the rows of each bag that belongs to the group.
    shares : array-like of shape (n_bags,)
        Part that is positive.
    rates : array-like of shape (n_bags, 2) or None, default=None
        Predicted rates in the group and outside of it, drawn as points; NaN where a bag has no
        such rows.
    group : str, default="the group"
        What to call the group.

    Attributes
    ----------
    ax_ : Axes
        What was drawn into.
    figure_ : Figure

    Raises
    ------
    ValueError
        When shares are not numbers from 0 to 1, one of each kind for every bag.

    Examples
    --------
    >>> from bagshift.plotting import TomographyDisplay
    >>> display = TomographyDisplay([0.5, 0.25], [0.5, 0.25])
    >>> display.lines[0].round(2)
    array([[0., 1.],
           [1., 0.]])
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        group_shares: ArrayLike,
        shares: ArrayLike,
        *,
        rates: ArrayLike | None = None,
        group: str = "the group",
    ) -> None:
        self.group_shares = np.asarray(group_shares, dtype=float)
        self.shares = np.asarray(shares, dtype=float)
        self.rates = None if rates is None else np.asarray(rates, dtype=float)
        self.group = group
        both = (self.group_shares, self.shares)
        if self.group_shares.shape != self.shares.shape or self.shares.ndim != 1:
            raise ValueError("group_shares and shares must be of the same bags.")
        if not all(((part >= 0.0) & (part <= 1.0)).all() for part in both):
            raise ValueError("group_shares and shares must be numbers from 0 to 1.")
        if self.rates is not None and self.rates.shape != (len(self.shares), 2):
            raise ValueError("rates must have one row for each bag and two columns.")

    @property
    def lines(self) -> Floats:
        """Ends of the lines, of shape (n_bags, 2, 2): rates in the group and outside of it."""
        x, t = self.group_shares, self.shares
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.clip(np.where(x > 0.0, (t - (1.0 - x)) / x, 0.0), 0.0, 1.0)
            most = np.clip(np.where(x > 0.0, t / x, 1.0), 0.0, 1.0)
            ends = np.stack([least, most], axis=1)
            outside = (t[:, None] - x[:, None] * ends) / (1.0 - x)[:, None]
        # A bag that is all of the group says nothing of the others.
        outside = np.where((x < 1.0)[:, None], outside, [[0.0, 1.0]])
        return np.stack([ends, np.clip(outside, 0.0, 1.0)], axis=2)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        bags: Bags,
        is_member: ArrayLike,
        *,
        group: str = "the group",
        ax: Axes | None = None,
    ) -> TomographyDisplay:
        """Predict the rows and draw lines of the bags with predicted rates as points.

        Points lie on the lines where predicted shares are the given ones.

        Parameters
        ----------
        estimator : classifier
            Fitted. Rates are means of probabilities where it has them, else parts of labels.
        X : array-like of shape (n_rows, n_features)
        bags : Bags of length n_rows
        is_member : array-like of bool of shape (n_rows,)
            Which rows belong to the group.
        group : str, default="the group"
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        TomographyDisplay
        """
        chances = positiveness(estimator, X, bags)
        return cls.from_predictions(bags, is_member, chances, group=group, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        bags: Bags,
        is_member: ArrayLike,
        predictions: ArrayLike | None = None,
        *,
        group: str = "the group",
        ax: Axes | None = None,
    ) -> TomographyDisplay:
        """Average over bags and draw.

        Parameters
        ----------
        bags : Bags of length n_rows
        is_member : array-like of bool of shape (n_rows,)
            Which rows belong to the group.
        predictions : array-like of shape (n_rows,) or None, default=None
            Probability of each row to be positive.
        group : str, default="the group"
        ax : Axes or None, default=None

        Returns
        -------
        TomographyDisplay
        """
        member = np.asarray(is_member, dtype=float)
        group_shares = bags.bag_means(member)
        rates = None
        if predictions is not None:
            chances = np.asarray(predictions, dtype=float)
            positive_members = bags.bag_means(member * chances)
            with np.errstate(divide="ignore", invalid="ignore"):
                inside = positive_members / group_shares
                outside = (bags.bag_means(chances) - positive_members) / (1.0 - group_shares)
            rates = np.column_stack([inside, outside])
        display = cls(group_shares, bags.clipped_shares, rates=rates, group=group)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> TomographyDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        TomographyDisplay
            This one.
        """
        self.ax_, self.figure_ = axes_and_figure(ax, (4.6, 4.6))
        faint = float(np.clip(12.0 / max(len(self.shares), 1), 0.08, 0.7))
        lines = LineCollection(list(self.lines), colors=BLUE, alpha=faint, linewidths=1)
        self.ax_.add_collection(lines)
        if self.rates is not None:
            self.ax_.scatter(
                self.rates[:, 0], self.rates[:, 1], s=14, color=ORANGE, zorder=3, linewidth=0
            )
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        name_axes(
            self.ax_, f"rate of positives in {self.group}", "rate of positives outside of it"
        )
        what = "lines: what margins allow" + ("" if self.rates is None else "; dots: predicted")
        self.ax_.set_title(what, color=INK, fontsize="medium")
        plain_axes(self.ax_)
        return self
