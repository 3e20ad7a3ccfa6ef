# SPDX-License-Identifier: BSD-3-Clause
"""Both domains on a plane, with the boundary of a machine.

Two columns are the plane themselves. More of them have no plane on which the boundary would be a
line, but one: its first axis is the score of the machine, so that the boundary is where the score
is zero, and its second axis is the direction in which what the score leaves of the columns
spreads most (the first principal component of the residuals of all columns on the score).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bagshift.exceptions import plural
from bagshift.plotting._axes import axes_and_figure, name_axes, round_range
from bagshift.plotting._style import BLUE, GREY, INK, ORANGE, plain_axes

Floats = NDArray[np.float64]

__all__ = ["DomainBoundaryDisplay"]

# Of more rows of a domain some are drawn.
_MOST_POINTS = 2000
_STEPS = 200


class DomainBoundaryDisplay:
    """Rows of both domains and where a machine draws the line.

    Parameters
    ----------
    target : ndarray of shape (n_target, 2)
        Places of target rows.
    scores : ndarray of shape (n_target,)
        What the machine says of them; positive towards ``classes_[1]``.
    source : ndarray of shape (n_source, 2) or None, default=None
        Places of source rows.
    is_positive : ndarray of bool of shape (n_source,) or None, default=None
        Their labels.
    net : tuple of ndarray or None, default=None
        Places along both axes and the scores there, of shape (n_along, n_across); when None, the
        first axis is the score.
    axis_names : tuple of str

    Attributes
    ----------
    ax_ : Axes
        What was drawn into.
    figure_ : Figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        target: Floats,
        scores: Floats,
        *,
        source: Floats | None = None,
        is_positive: NDArray[np.bool_] | None = None,
        net: tuple[Floats, Floats, Floats] | None = None,
        axis_names: tuple[str, str] = ("", ""),
    ) -> None:
        self.target, self.scores = target, scores
        self.source, self.is_positive = source, is_positive
        self.net, self.axis_names = net, axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        source: tuple[Any, ...] | None = None,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> DomainBoundaryDisplay:
        """Place the rows and draw.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array-like of shape (n_rows, n_features)
            Target rows; up to 2,000 of them are drawn.
        source : tuple (X, y), default=None
            Labelled source rows.
        random_state : int, default=0
            Which rows are drawn where there are more.
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        DomainBoundaryDisplay
        """
        return cls.located(estimator, X, source=source, random_state=random_state).plot(ax)

    @classmethod
    def located(
        cls,
        estimator: Any,
        X: Any,
        *,
        source: tuple[Any, ...] | None = None,
        random_state: int = 0,
    ) -> DomainBoundaryDisplay:
        """Place the rows as `from_estimator` does, without drawing.

        Parameters
        ----------
        estimator : classifier
        X : array-like of shape (n_rows, n_features)
        source : tuple (X, y), default=None
        random_state : int, default=0

        Returns
        -------
        DomainBoundaryDisplay

        Raises
        ------
        ValueError
            When the classifier has more than two classes.
        """
        if len(getattr(estimator, "classes_", ())) > 2:
            raise ValueError(
                "This picture is of two classes; draw one class against the others, of a machine "
                "fitted to Bags.against_rest(label)."
            )
        generator = np.random.default_rng(random_state)
        names = [str(name) for name in getattr(X, "columns", [])]
        rows, labels = _drawn(X, generator)[0], None
        parts = [rows]
        if source is not None:
            older, kept = _drawn(source[0], generator)
            parts.append(older)
            labels = np.asarray(source[1])[kept] == estimator.classes_[1]
        scores = [np.asarray(estimator.decision_function(part), dtype=float) for part in parts]
        dense = [_dense(part) for part in parts]
        net, kind = None, _kind(dense[0])
        if kind == "plane":
            places = dense
            net = _net(estimator, np.concatenate(dense), names)
            axis_names = (names[0], names[1]) if names else ("first column", "second column")
        else:
            places = _beside_scores(dense, scores)
            columns = plural(dense[0].shape[1], "column")
            axis_names = (
                "score of the machine",
                f"main direction of what the score leaves of {columns}",
            )
        return cls(
            places[0],
            scores[0],
            source=places[1] if source is not None else None,
            is_positive=labels,
            net=net,
            axis_names=axis_names,
        )

    def draw_boundary(self, ax: Axes) -> None:
        """Draw the boundary alone.

        Parameters
        ----------
        ax : Axes
        """
        if self.net is None:
            ax.axvline(0.0, color=INK, linewidth=1.6)
        elif self.net[2].min() < 0.0 < self.net[2].max():
            ax.contour(*self.net, [0.0], colors=INK, linewidths=1.6)

    def plot(self, ax: Axes | None = None) -> DomainBoundaryDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            New ones when None.

        Returns
        -------
        DomainBoundaryDisplay
            This one.
        """
        self.ax_, self.figure_ = axes_and_figure(ax, (5.4, 4.4))
        if self.source is not None and self.is_positive is not None:
            for which, marker in ((self.is_positive, "x"), (~self.is_positive, "+")):
                places = self.source[which]
                self.ax_.scatter(
                    places[:, 0], places[:, 1], s=18, color=GREY, marker=marker, linewidth=0.9
                )
        for which, colour, marker in (
            (self.scores > 0, BLUE, "o"),
            (self.scores <= 0, ORANGE, "s"),
        ):
            places = self.target[which]
            self.ax_.scatter(
                places[:, 0],
                places[:, 1],
                s=12,
                color=colour,
                marker=marker,
                alpha=0.55,
                linewidth=0,
            )
        self.draw_boundary(self.ax_)
        name_axes(self.ax_, *self.axis_names)
        plain_axes(self.ax_)
        self.ax_.legend(
            handles=self._handles(),
            frameon=False,
            fontsize="small",
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=3,
        )
        return self

    def _handles(self) -> list[Line2D]:
        kinds = [
            ("target, called positive", BLUE, "o"),
            ("target, called negative", ORANGE, "s"),
        ]
        if self.source is not None:
            kinds += [("source, positive", GREY, "x"), ("source, negative", GREY, "+")]
        marks = [
            Line2D([], [], color=colour, marker=marker, linestyle="", label=label)
            for label, colour, marker in kinds
        ]
        return [*marks, Line2D([], [], color=INK, linewidth=1.6, label="boundary")]


def _kind(rows: Floats) -> Literal["plane", "scores"]:
    return "plane" if rows.shape[1] == 2 else "scores"


def _drawn(X: Any, generator: np.random.Generator) -> tuple[Any, NDArray[np.int64]]:
    """Draw some of the rows where there are many; and their numbers."""
    from sklearn.utils import _safe_indexing

    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows <= _MOST_POINTS:
        return X, np.arange(n_rows)
    kept = np.sort(generator.choice(n_rows, _MOST_POINTS, replace=False))
    return _safe_indexing(X, kept), kept


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)


def _net(estimator: Any, points: Floats, names: list[str]) -> tuple[Floats, Floats, Floats]:
    across, along = (np.linspace(*round_range(column, 0.05), _STEPS) for column in points.T)
    horizontal, vertical = np.meshgrid(across, along)
    places: Any = np.column_stack([horizontal.ravel(), vertical.ravel()])
    if names:
        import pandas as pd

        places = pd.DataFrame(places, columns=names)
    scores = np.asarray(estimator.decision_function(places), dtype=float)
    return across, along, scores.reshape(horizontal.shape)


def _beside_scores(parts: list[Floats], scores: list[Floats]) -> list[Floats]:
    """Place rows by their score and along the main direction of what it leaves of the columns."""
    rows, score = np.concatenate(parts), np.concatenate(scores)
    scale = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    centred = score - score.mean()
    rest = rows - np.outer(centred, centred @ rows / max(float(centred @ centred), 1e-300))
    # A linear machine on one column leaves nothing of it but rounding.
    rest[np.abs(rest) < 1e-9] = 0.0
    _, _, directions = np.linalg.svd(rest, full_matrices=False)
    places = np.column_stack([score, rest @ directions[0]])
    return np.split(places, np.cumsum([len(part) for part in parts])[:-1])
