# SPDX-License-Identifier: BSD-3-Clause
"""What one pass over some rows says of a loss, and how passes over parts add up.

Parts are added up along a binary tree over their numbers. Who computed a part plays no role, so
one process, threads and a cluster come to the same sums to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers._coordinates import Coordinates, Pull

Floats = NDArray[np.float64]
Summand = TypeVar("Summand", "Sums", NDArray[np.float64])


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the terms of a loss at one linear machine.

    Parameters
    ----------
    loss : float
        The loss.
    gap : float
        By how much it exceeds what the dual variables of these terms account for.
    slope : ndarray of shape (n_features + 1,)
        Gradient of the smoothed loss in the weights and, last, the intercept.
    curvature : ndarray of shape (n_features + 1, n_features + 1), or None
        Its Hessian, or a positive semidefinite stand-in; None where there is none.
    n_free : int
        Terms that have a curvature.
    """

    loss: float
    gap: float
    slope: Floats
    curvature: Floats | None = None
    n_free: int = 0

    @property
    def whole_curvature(self) -> Floats:
        """The curvature, of zeros where there is none."""
        size = len(self.slope)
        return np.zeros((size, size)) if self.curvature is None else self.curvature

    def __add__(self, other: Sums) -> Sums:
        curvatures = [c for c in (self.curvature, other.curvature) if c is not None]
        return Sums(
            self.loss + other.loss,
            self.gap + other.gap,
            self.slope + other.slope,
            sum(curvatures[1:], curvatures[0]) if curvatures else None,
            self.n_free + other.n_free,
        )


@dataclass(frozen=True, eq=False)
class InUnknowns:
    """A problem at one place, in the unknowns of an optimiser.

    Parameters
    ----------
    value : float
        Multiplied by the square of the length of a row, as all of it.
    gradient : ndarray of shape (size,)
    curvature : ndarray of shape (size, size)
    """

    value: float
    gradient: Floats
    curvature: Floats


def in_unknowns(coordinates: Coordinates, v: Floats, source: Sums, target: Sums) -> InUnknowns:
    """Return what the losses of both machines and the regulariser are in the unknowns.

    Parameters
    ----------
    coordinates : Coordinates
    v : ndarray of shape (size,)
        The place.
    source, target : Sums
        Of the losses there.

    Returns
    -------
    InUnknowns
    """
    unit, penalty = coordinates.row_length**2, coordinates.penalty
    pull = Pull(source.slope[:-1], source.slope[-1], target.slope[:-1], target.slope[-1])
    curvature = coordinates.curve_back(source.whole_curvature, target.whole_curvature)
    return InUnknowns(
        value=0.5 * float(v @ (penalty * v)) + unit * (source.loss + target.loss),
        gradient=penalty * v + unit * coordinates.pull_back(pull),
        curvature=unit * curvature + np.diag(penalty),
    )


def add_up(parts: Iterator[Summand], n_parts: int) -> Summand:
    """Add up what was computed of parts; no more than one sum per level of the tree is kept.

    The first power of two of parts that is at least half of them makes the left branch, and so on
    down. So the sums over an aligned block of a power of two of parts, wherever they were added
    up, enter the total unchanged.

    Parameters
    ----------
    parts : iterator
        In the order of their numbers; of things that can be added.
    n_parts : int
        How many there are; at least one.

    Returns
    -------
    object
        Their sum.
    """
    if n_parts == 1:
        return next(parts)
    left = 1 << ((n_parts - 1).bit_length() - 1)
    first = add_up(parts, left)
    return first + add_up(parts, n_parts - left)
