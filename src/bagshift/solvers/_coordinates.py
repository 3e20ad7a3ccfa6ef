# SPDX-License-Identifier: BSD-3-Clause
r"""Coordinates in which the regulariser of the coupled machines is round.

The regulariser
:math:`\tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2 + \tfrac\lambda2\|w_c - w_h\|^2` has curvature 1 for
the mean of the two machines and :math:`1 + 2\lambda` for their difference. With
:math:`s = \sqrt{1 + 2\lambda}` and

.. math:: w_c = \frac{u + d/s}{\sqrt2}, \qquad w_h = \frac{u - d/s}{\sqrt2}

it is :math:`\tfrac12\|u\|^2 + \tfrac12\|d\|^2`, at any coupling from 0 to infinity, where
:math:`1/s = 0` makes the machines one. Intercepts are likewise :math:`b_c = p + q/s`,
:math:`b_h = p - q/s` with penalty :math:`2\lambda q^2 / (1 + 2\lambda)`.

Weights are counted in units of :math:`1/r`, with :math:`r` about the length of a row of features,
and the problem is multiplied by :math:`r^2`. So a column in other units of measurement, with costs
to match, gives the same path to the same machine, and intercepts are on the scale of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

Floats = NDArray[np.float64]

# Rows longer or shorter than two to this power are scaled as those are.
_MOST_DOUBLINGS = 250


def typical_row_length(parts: list[Any]) -> float:
    """Return the power of two nearest to the length of a row; to multiply by it rounds nothing.

    Parameters
    ----------
    parts : list of matrix
        Features, dense or CSR.

    Returns
    -------
    float
    """
    n_rows = sum(part.shape[0] for part in parts)
    squares = sum(float(row_norms(part, squared=True).sum()) for part in parts)
    return row_length_of(squares, n_rows)


def row_length_of(squares: float, n_rows: int) -> float:
    """Return the same of rows whose squares sum up to a number.

    Parameters
    ----------
    squares : float
        Sum of the squares of all features.
    n_rows : int

    Returns
    -------
    float
    """
    square = squares / n_rows
    if not 0.0 < square < np.inf:
        return 1.0
    return float(2.0 ** np.clip(np.rint(0.5 * np.log2(square)), -_MOST_DOUBLINGS, _MOST_DOUBLINGS))


@dataclass(frozen=True, eq=False)
class LinearMachine:
    """Weights and intercept.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
    intercept : float
    """

    weights: Floats
    intercept: float

    def scores(self, features: Any) -> Floats:
        """Return the score of every row.

        Parameters
        ----------
        features : matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(features @ self.weights + self.intercept)


@dataclass(frozen=True, eq=False)
class Machines:
    """The two linear machines.

    Parameters
    ----------
    source_weights : ndarray of shape (n_features,)
    source_intercept : float
    target_weights : ndarray of shape (n_features,)
    target_intercept : float
    """

    source_weights: Floats
    source_intercept: float
    target_weights: Floats
    target_intercept: float

    @property
    def source(self) -> LinearMachine:
        """The source machine."""
        return LinearMachine(self.source_weights, self.source_intercept)

    @property
    def target(self) -> LinearMachine:
        """The target machine."""
        return LinearMachine(self.target_weights, self.target_intercept)

    @classmethod
    def both(cls, weights: Floats, intercept: float) -> Machines:
        """Return two machines that are the same.

        Parameters
        ----------
        weights : ndarray of shape (n_features,)
        intercept : float

        Returns
        -------
        Machines
        """
        return cls(weights, intercept, weights, intercept)

    def mirrored(self) -> Machines:
        """Return the machines that say the opposite."""
        return Machines(
            -self.source_weights,
            -self.source_intercept,
            -self.target_weights,
            -self.target_intercept,
        )


@dataclass(frozen=True)
class Pull:
    """Gradient of the data terms in the two machines."""

    source_weights: Any
    source_intercept: float
    target_weights: Floats
    target_intercept: float


class TargetCoordinates:
    """The target machine alone; `row_length` is r of the module's head."""

    n_intercepts = 1

    def __init__(self, n_features: int, *, row_length: float = 1.0) -> None:
        self.size = n_features + 1
        self.n_features = n_features
        self.row_length = row_length

    def encode(self, machines: Machines) -> Floats:
        return np.append(self.row_length * machines.target_weights, machines.target_intercept)

    def decode(self, v: Floats) -> Machines:
        return Machines.both(v[:-1] / self.row_length, float(v[-1]))

    def pull_back(self, pull: Pull) -> Floats:
        return np.append(pull.target_weights / self.row_length, pull.target_intercept)

    def penalty_gradient(self, v: Floats) -> Floats:
        return np.append(v[:-1], 0.0)

    @property
    def penalty(self) -> Floats:
        """Return the curvature of the regulariser in every unknown."""
        return self.penalty_gradient(np.ones(self.size))

    def curve_back(self, source: Floats, target: Floats) -> Floats:
        """Return the curvature in the unknowns that curvatures in the machines amount to."""
        scale = np.append(np.full(self.size - 1, 1.0 / self.row_length), 1.0)
        return np.asarray(scale[:, None] * target * scale)


class CoupledCoordinates:
    """Mean and difference of the machines, scaled so that the regulariser is round.

    `row_length` is r of the module's head.
    """

    n_intercepts = 2

    def __init__(self, n_features: int, coupling: float, *, row_length: float = 1.0) -> None:
        self.size = 2 * n_features + 2
        self.n_features = n_features
        self.row_length = row_length
        self.shrink = 1.0 / np.sqrt(1.0 + 2.0 * coupling)
        penalty = 2.0 / (1.0 + 0.5 / coupling) if coupling > 0 else 0.0
        # The penalty grows with the length of rows; beyond 1 it sets the unit of q.
        self._shift_unit = max(1.0, row_length) if coupling > 0 else 1.0
        self.intercept_penalty = (row_length / self._shift_unit) ** 2 * penalty
        self._unit = row_length * np.sqrt(2.0)

    def _split(self, v: Floats) -> tuple[Floats, Floats, float, float]:
        q = self.n_features
        return v[:q], v[q : 2 * q], float(v[2 * q]), float(v[2 * q + 1])

    def encode(self, machines: Machines) -> Floats:
        stretch = 1.0 / self.shrink if self.shrink > 0 else 0.0
        half = self.row_length / np.sqrt(2.0)
        mean = half * (machines.source_weights + machines.target_weights)
        difference = half * (machines.target_weights - machines.source_weights)
        level = (machines.source_intercept + machines.target_intercept) / 2.0
        shift = (machines.target_intercept - machines.source_intercept) / 2.0
        return np.concatenate(
            [mean, stretch * difference, [level, stretch * self._shift_unit * shift]]
        )

    def decode(self, v: Floats) -> Machines:
        mean, difference, level, shift = self._split(v)
        difference, shift = self.shrink * difference, self.shrink / self._shift_unit * shift
        return Machines(
            source_weights=(mean - difference) / self._unit,
            source_intercept=float(level - shift),
            target_weights=(mean + difference) / self._unit,
            target_intercept=float(level + shift),
        )

    def pull_back(self, pull: Pull) -> Floats:
        mean = (pull.target_weights + pull.source_weights) / self._unit
        difference = (pull.target_weights - pull.source_weights) / self._unit
        level = pull.target_intercept + pull.source_intercept
        shift = pull.target_intercept - pull.source_intercept
        return np.concatenate(
            [mean, self.shrink * difference, [level, self.shrink / self._shift_unit * shift]]
        )

    def penalty_gradient(self, v: Floats) -> Floats:
        q = self.n_features
        return np.append(v[: 2 * q], [0.0, self.intercept_penalty * v[2 * q + 1]])

    @property
    def penalty(self) -> Floats:
        """Return the curvature of the regulariser in every unknown."""
        return self.penalty_gradient(np.ones(self.size))

    def curve_back(self, source: Floats, target: Floats) -> Floats:
        """Return the curvature in the unknowns that curvatures in the machines amount to.

        Parameters
        ----------
        source, target : ndarray of shape (n_features + 1, n_features + 1)
            In the weights and, last, the intercept of either machine.

        Returns
        -------
        ndarray of shape (2 n_features + 2, 2 n_features + 2)
        """
        q = self.n_features
        common = np.append(np.full(q, 1.0 / self._unit), 1.0)
        apart = np.append(np.full(q, self.shrink / self._unit), self.shrink / self._shift_unit)
        total, contrast = target + source, target - source
        across = common[:, None] * contrast * apart
        blocks = np.block(
            [
                [common[:, None] * total * common, across],
                [across.T, apart[:, None] * total * apart],
            ]
        )
        # From (weights, intercept) of mean and difference to both weights, then both intercepts.
        order = np.r_[:q, q + 1 : 2 * q + 1, q, 2 * q + 1]
        return np.asarray(blocks[np.ix_(order, order)])


Coordinates = TargetCoordinates | CoupledCoordinates


def coordinates_of(
    n_features: int, coupling: float | None, *, row_length: float = 1.0
) -> Coordinates:
    """Return the coordinates of coupled machines, or of the target machine alone.

    Parameters
    ----------
    n_features : int
    coupling : float or None
        None without a source.
    row_length : float, default=1.0
        r of the module's head.

    Returns
    -------
    Coordinates
    """
    if coupling is None:
        return TargetCoordinates(n_features, row_length=row_length)
    return CoupledCoordinates(n_features, coupling, row_length=row_length)
