# SPDX-License-Identifier: BSD-3-Clause
"""What held-out bags say along the coupling, from no transfer to one machine for both domains."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.inspection.transfer_report import TransferReport, transfer_report
from bagshift.plotting._axes import axes_and_figure
from bagshift.plotting._style import BLUE, GREY, INK, LIGHT, ORANGE, plain_axes

Floats = NDArray[np.float64]

__all__ = ["TransferPathDisplay"]


class TransferPathDisplay:
    """The mean vote of held-out bags for every coupling, against no transfer.

    A point above zero speaks for the history, one below against it. The criterion itself stands
    below the couplings. The machine of the history alone is often far off; it is then a mark on
    the edge with its number, so that the others can be told apart.

    Parameters
    ----------
    report : TransferReport

    Attributes
    ----------
    ax_ : Axes
        What was drawn into.
    figure_ : Figure

    See Also
    --------
    bagshift.inspection.transfer_report : Votes and verdict.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, report: TransferReport) -> None:
        self.report = report

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
    ) -> TransferPathDisplay:
        """Hold out bags along the coupling and draw.

        Parameters
        ----------
        estimator : classifier
            As :func:`~bagshift.inspection.transfer_report` takes it.
        X : array-like of shape (n_rows, n_features)
        bags : Bags of length n_rows
        source : tuple (X, y) or (X, y, sample_weight), default=None
        ax : Axes or None, default=None
            New ones when None.
        **options
            Other arguments of that function.

        Returns
        -------
        TransferPathDisplay
        """
        return cls(transfer_report(estimator, X, bags, source, **options)).plot(ax)

    def plot(self, ax: Axes | None = None) -> TransferPathDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        TransferPathDisplay
            This one.
        """
        report = self.report
        self.ax_, self.figure_ = axes_and_figure(ax, (6.0, 3.6))
        points = [report.target_only, *report.path, report.source_only]
        votes = np.array([[p.vote.low, p.vote.estimate, p.vote.high] for p in points])
        places = np.arange(len(points))
        inner = slice(1, len(points) - 1)
        self.ax_.axhline(0.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        self.ax_.vlines(
            places[:-1], votes[:-1, 0], votes[:-1, 2], color=LIGHT, linewidth=5, zorder=1
        )
        self.ax_.plot(places[inner], votes[inner, 1], color=BLUE, marker="o", zorder=2)
        self.ax_.scatter(places[0], votes[0, 1], color=INK, marker="D", zorder=3)
        self._draw_source_only(votes)
        judged = [i for i, point in enumerate(report.path, 1) if point.coupling == report.coupling]
        self.ax_.scatter(places[judged], votes[judged, 1], color=ORANGE, s=70, zorder=4)
        # All names have two lines, and numbers a line of their own, so that none lie side by side.
        names = [
            "target\nonly",
            *(f"{_name(point.coupling)}\n" for point in report.path),
            "source\nonly",
        ]
        scores = [f"{point.score:.2f}" for point in points]
        self.ax_.set_xticks(
            places,
            [f"{name}\n{score}" for name, score in zip(names, scores, strict=True)],
            fontsize="small",
        )
        self.ax_.set(
            xlabel=f"coupling, and mean {report.criterion} of held-out bags",
            ylabel="mean vote for it against none",
        )
        title = f"The history: {report.verdict} at coupling {_name(report.coupling)} (large dot)"
        self.ax_.set_title(title, color=INK, fontsize="medium")
        plain_axes(self.ax_)
        return self

    def _draw_source_only(self, votes: Floats) -> None:
        """Draw the last point; one far from the others as a mark on the edge with its number."""
        place, vote = len(votes) - 1, float(votes[-1, 1])
        low, high = float(votes[:-1, 0].min()), float(votes[:-1, 2].max())
        height = high - low
        if not height or low - height <= vote <= high + height:
            self.ax_.vlines(place, votes[-1, 0], votes[-1, 2], color=LIGHT, linewidth=5, zorder=1)
            self.ax_.scatter(place, vote, color=INK, marker="D", zorder=3)
            return
        is_below = vote < low
        self.ax_.set_ylim(low - 0.25 * height, high + 0.25 * height)
        edge = self.ax_.get_ylim()[0 if is_below else 1]
        marker = "v" if is_below else "^"
        self.ax_.scatter(place, edge, color=INK, marker=marker, zorder=3, clip_on=False)
        self.ax_.annotate(
            f"{vote:.2f}",
            (place, edge),
            (0, 8 if is_below else -8),
            textcoords="offset points",
            ha="center",
            va="bottom" if is_below else "top",
            color=INK,
            fontsize="small",
        )


def _name(coupling: float) -> str:
    return "∞" if np.isinf(coupling) else f"{coupling:g}"
