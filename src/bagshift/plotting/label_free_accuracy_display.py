# SPDX-License-Identifier: BSD-3-Clause
"""How good predictions are, told without labels: estimates and their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bagshift.bags import Bags
from bagshift.inspection.class_accuracy import of_two_classes
from bagshift.inspection.estimate_accuracy import AccuracyEstimate, estimate_accuracy
from bagshift.plotting._axes import axes_and_figure
from bagshift.plotting._style import BLUE, GREY, INK, ORANGE, plain_axes

__all__ = ["LabelFreeAccuracyDisplay"]

_FIGURES = {
    "accuracy": "accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "positive_predictive_value": "positive predictive value",
    "negative_predictive_value": "negative predictive value",
    "auc": "AUC",
}
_APART = 0.16


class LabelFreeAccuracyDisplay:
    """One row for each figure, with the estimate by the count posterior and by Goodman's way.

    Parameters
    ----------
    estimate : AccuracyEstimate

    Attributes
    ----------
    ax_ : Axes
        What was drawn into.
    figure_ : Figure

    See Also
    --------
    bagshift.inspection.estimate_accuracy : What the figures are, and what they assume.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, estimate: AccuracyEstimate) -> None:
        self.estimate = estimate

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        bags: Bags,
        *,
        source: tuple[Any, ...] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> LabelFreeAccuracyDisplay:
        """Estimate and draw.

        Parameters
        ----------
        estimator : classifier
            As :func:`~bagshift.inspection.estimate_accuracy` takes it.
        X : array-like of shape (n_rows, n_features)
        bags : Bags of length n_rows
        source : tuple (X, y) or (X, y, sample_weight), default=None
        ax : Axes or None, default=None
            New ones when None.
        **options
            Other arguments of that function.

        Returns
        -------
        LabelFreeAccuracyDisplay
        """
        found = estimate_accuracy(estimator, X, bags, source, **options)
        return cls(of_two_classes(found)).plot(ax)

    @classmethod
    def from_predictions(
        cls, bags: Bags, scores: Any, *, estimator: Any, ax: Axes | None = None, **options: Any
    ) -> LabelFreeAccuracyDisplay:
        """Estimate from scores of held-out bags and draw; nothing is fitted.

        Parameters
        ----------
        bags : Bags of length n_rows
        scores : array-like of shape (n_rows,)
            By :func:`~bagshift.bag_cross_val_predict`.
        estimator : classifier
            What made them.
        ax : Axes or None, default=None
        **options
            Other arguments of :func:`~bagshift.inspection.estimate_accuracy`.

        Returns
        -------
        LabelFreeAccuracyDisplay
        """
        found = estimate_accuracy(estimator, None, bags, scores=scores, **options)
        return cls(of_two_classes(found)).plot(ax)

    def plot(self, ax: Axes | None = None) -> LabelFreeAccuracyDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        LabelFreeAccuracyDisplay
            This one.
        """
        estimate = self.estimate
        self.ax_, self.figure_ = axes_and_figure(ax, (6.0, 3.4))
        rows = np.arange(len(_FIGURES))
        ways = [
            (estimate.count_posterior, "count posterior", BLUE, "o", -_APART),
            (estimate.goodman, "Goodman's regression, as a check", ORANGE, "s", _APART),
        ]
        for figures, label, colour, marker, shift in ways:
            found = [getattr(figures, name) for name in _FIGURES]
            ends = np.array([[part.low, part.estimate, part.high] for part in found])
            places = rows + shift
            self.ax_.hlines(places, ends[:, 0], ends[:, 2], color=colour, linewidth=1.4)
            self.ax_.plot(
                ends[:, 1], places, color=colour, marker=marker, linestyle="", label=label
            )
        self.ax_.plot(
            [estimate.chance] * 2,
            [-0.5, 0.5],
            color=GREY,
            linestyle=(0, (4, 3)),
            label="calling every row the more frequent class",
        )
        self.ax_.set_yticks(rows, list(_FIGURES.values()))
        self.ax_.set(ylim=(len(rows) - 0.5, -0.6), xlim=(-0.02, 1.02))
        self.ax_.set_xlabel(f"estimate and {100 * estimate.level:g} % interval, without labels")
        title = (
            f"Held-out rows of {estimate.n_bags:,} bags"
            if estimate.can_tell
            else f"Cannot tell: {estimate.n_bags:,} bags say too little"
        )
        self.ax_.set_title(title, color=INK, fontsize="medium")
        plain_axes(self.ax_)
        self.ax_.legend(
            frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, -0.2)
        )
        return self
