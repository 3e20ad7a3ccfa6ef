# SPDX-License-Identifier: BSD-3-Clause
r"""Units of the hinge and the tube loss under a linear machine, exactly and smoothed.

A unit with features :math:`x`, target :math:`t`, half width :math:`\varepsilon` and box
:math:`[L, U]` has at the residual :math:`r = t - w^\top x - b` the loss

.. math:: \ell(r) = \max_{L \le z \le U}\ z r - \varepsilon |z|,

which is the hinge loss for :math:`t = \pm 1`, :math:`\varepsilon = 0` and the box
:math:`[0, C]` or :math:`[-C, 0]`, and the tube loss for the box :math:`[-C, C]`. It is smoothed by
a charge for the distance of :math:`z` from a guess :math:`\bar z`, its anchor: with
:math:`c = \max(-L, U)`,

.. math::

    \ell_\mu(r) = \max_{L \le z \le U}\ z r - \varepsilon |z|
    - \frac{\mu}{2 c} (z - \bar z)^2 .

With :math:`\bar r = r + \mu \bar z / c` the maximum is at
:math:`z = \operatorname{clip}(c\,(\bar r \mp \varepsilon) / \mu, L, U)` where
:math:`\bar r > \varepsilon` or :math:`\bar r < -\varepsilon`, and at 0 between; :math:`-z` is the
slope of :math:`\ell_\mu` in the score, and :math:`c / \mu` its curvature where :math:`z` is
strictly between its bounds and, if :math:`\varepsilon > 0`, not zero. An anchor in the middle of
the box makes Huber's rounding, with the kink of a hinge in the middle of the rounded part [1]_;
the rounded parts of a tube begin at its borders and reach outwards by :math:`\mu`. The
maximisers at a minimum of the smoothed problem, as anchors of the next one, make the method of
multipliers [2]_, which comes to the exact minimum without :math:`\mu` going to zero.

These :math:`z` are dual variables. At a minimum of the smoothed problem they are feasible for the
dual of the exact one, and :math:`\sum \ell(r) - (z r - \varepsilon |z|)` is the duality gap.

References
----------
.. [1] O. Chapelle. Training a support vector machine in the primal. Neural Computation 19(5),
   2007.
.. [2] R. T. Rockafellar. Augmented Lagrangians and applications of the proximal point algorithm
   in convex programming. Mathematics of Operations Research 1(2), 1976.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._row_products import (
    as_double,
    in_memory,
    weighted_squares,
    weighted_sum,
)
from bagshift.solvers._sums import Sums

Floats = NDArray[np.float64]

# Units this near a border are on it, in units of score.
_TOUCH = 1e-6


@dataclass(frozen=True, eq=False)
class LinearUnits:
    """Units of one machine; see the module for their loss.

    Parameters
    ----------
    features : matrix of shape (n_units, n_features)
        Dense or CSR, float64 or float32; sums are in double precision. Or what gives such rows
        when it is sliced, and an array when it is asked for one.
    targets : ndarray of shape (n_units,)
        -1 or +1 on labelled units, calibrated score on bags.
    half_widths : ndarray of shape (n_units,)
        Half width of the tube; 0 on labelled units.
    lower, upper : ndarray of shape (n_units,)
        Box of each dual variable, with zero in it.
    anchors : ndarray of shape (n_units,), optional
        Guesses of the dual variables; by default the middles of the boxes.
    """

    features: Any
    targets: Floats
    half_widths: Floats
    lower: Floats
    upper: Floats
    anchors: Floats | None = None

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.targets)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @cached_property
    def costs(self) -> Floats:
        """Largest size of each dual variable; shape (n_units,)."""
        return np.maximum(-self.lower, self.upper)

    def take(self, rows: Any) -> LinearUnits:
        """Return some of the units.

        Parameters
        ----------
        rows : slice or int ndarray

        Returns
        -------
        LinearUnits
        """
        return LinearUnits(
            self.features[rows],
            self.targets[rows],
            self.half_widths[rows],
            self.lower[rows],
            self.upper[rows],
            None if self.anchors is None else self.anchors[rows],
        )

    def read(self) -> LinearUnits:
        """Return the units with their features in memory.

        Returns
        -------
        LinearUnits
        """
        features = in_memory(self.features)
        return self if features is self.features else replace(self, features=features)

    def duals(self, residuals: Floats, smoothing: float) -> Floats:
        r"""Return the maximisers z of the module's head.

        Parameters
        ----------
        residuals : ndarray of shape (n_units,)
        smoothing : float
            :math:`\mu`, in units of score; positive.

        Returns
        -------
        ndarray of shape (n_units,)
        """
        rate = self.costs / smoothing
        anchors = 0.5 * (self.lower + self.upper) if self.anchors is None else self.anchors
        pulled = rate * residuals + anchors
        beyond = np.maximum(np.abs(pulled) - rate * self.half_widths, 0.0)
        return np.clip(np.copysign(beyond, pulled), self.lower, self.upper)

    def reached(self, duals: Floats, residuals: Floats) -> Floats:
        r"""Return :math:`z r - \varepsilon |z|`: the part of the loss that dual variables reach.

        Parameters
        ----------
        duals, residuals : ndarray of shape (n_units,)

        Returns
        -------
        ndarray of shape (n_units,)
        """
        return np.asarray(duals * residuals - self.half_widths * np.abs(duals))

    def residuals(self, machine: LinearMachine) -> Floats:
        """Return target less score of every unit.

        Parameters
        ----------
        machine : LinearMachine

        Returns
        -------
        ndarray of shape (n_units,)
        """
        return self.targets - machine.scores(as_double(self.features))

    def is_free(self, duals: Floats) -> NDArray[np.bool_]:
        """Return whether dual variables are strictly between their bounds and off the kink at 0.

        Parameters
        ----------
        duals : ndarray of shape (n_units,)

        Returns
        -------
        bool ndarray of shape (n_units,)
        """
        is_inside = (duals > self.lower) & (duals < self.upper)
        return np.asarray(is_inside & ((duals != 0) | (self.half_widths == 0)))

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        """Return loss, gap, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine
        smoothing : float

        Returns
        -------
        Sums
        """
        features = as_double(self.features)
        residuals = self.targets - machine.scores(features)
        duals = self.duals(residuals, smoothing)
        loss = self.reached(self.settled(self.sides(residuals)), residuals)
        reached = self.reached(duals, residuals)
        is_free = self.is_free(duals)
        n_free = int(is_free.sum())
        curvature = None
        if n_free:
            curvature = weighted_squares(features[is_free], self.costs[is_free] / smoothing)
        return Sums(
            loss=float(loss.sum()),
            gap=float((loss - reached).sum()),
            slope=-weighted_sum(features, duals),
            curvature=curvature,
            n_free=n_free,
        )

    def along(self, machine: LinearMachine, direction: LinearMachine) -> tuple[Floats, Floats]:
        """Return the residuals at a machine, and how scores change along a line from there.

        Parameters
        ----------
        machine : LinearMachine
            Where the line begins.
        direction : LinearMachine
            Where it goes.

        Returns
        -------
        residuals, change : ndarray of shape (n_units,)
        """
        features = as_double(self.features)
        products = features @ np.column_stack([machine.weights, direction.weights])
        residuals = self.targets - (products[:, 0] + machine.intercept)
        return residuals, products[:, 1] + direction.intercept

    def slopes(
        self, residuals: Floats, change: Floats, *, smoothing: float, lengths: Floats
    ) -> Floats:
        """Return the slope of the smoothed loss at some places on a line.

        Parameters
        ----------
        residuals, change : ndarray of shape (n_units,)
            What `along` returns.
        smoothing : float
        lengths : ndarray of shape (n_lengths,)
            How far along the line the places are.

        Returns
        -------
        ndarray of shape (n_lengths,)
        """
        slopes = [-(self.duals(residuals - a * change, smoothing) @ change) for a in lengths]
        return np.array(slopes)

    def sides(self, residuals: Floats) -> NDArray[np.int8]:
        """Return 1 above the tube, -1 below it and 0 in it, for every unit.

        Parameters
        ----------
        residuals : ndarray of shape (n_units,)

        Returns
        -------
        int ndarray of shape (n_units,)
        """
        above = (residuals > self.half_widths).astype(np.int8)
        return above - (residuals < -self.half_widths).astype(np.int8)

    def distances(self, residuals: Floats) -> Floats:
        """Return how far each unit is from the nearest border of its tube, in units of score.

        Parameters
        ----------
        residuals : ndarray of shape (n_units,)

        Returns
        -------
        ndarray of shape (n_units,)
        """
        return np.asarray(np.abs(np.abs(residuals) - self.half_widths))

    def settled(self, sides: NDArray[np.int8]) -> Floats:
        """Return the dual variables of units that are far on their side.

        Parameters
        ----------
        sides : int ndarray of shape (n_units,)

        Returns
        -------
        ndarray of shape (n_units,)
        """
        return np.where(sides > 0, self.upper, np.where(sides < 0, self.lower, 0.0))

    def settled_sums(self, sides: NDArray[np.int8], residuals: Floats) -> Sums:
        """Return loss, gap and slope of units whose dual variables are those of given sides.

        Parameters
        ----------
        sides : int ndarray of shape (n_units,)
        residuals : ndarray of shape (n_units,)

        Returns
        -------
        Sums
        """
        duals = self.settled(sides)
        loss = self.reached(self.settled(self.sides(residuals)), residuals)
        gap = loss - self.reached(duals, residuals)
        slope = -weighted_sum(self.features, duals)
        return Sums(float(loss.sum()), float(gap.sum()), slope)

    def room(self, residuals: Floats, *, up: bool) -> tuple[float, float]:
        """Return what a small change of the intercept does, and how long that stays so.

        Parameters
        ----------
        residuals : ndarray of shape (n_units,)
        up : bool
            Whether the intercept grows or falls.

        Returns
        -------
        slope : float
            Growth of the loss by unit of change.
        room : float
            Change up to which the slope stays, in units of score; may be infinite.
        """
        after = residuals - _TOUCH if up else residuals + _TOUCH
        duals = self.settled(self.sides(after))
        borders = np.stack([self.half_widths, -self.half_widths])
        ways = after - borders if up else borders - after
        ways = np.where((ways > 0) & (self.costs > 0), ways, np.inf)
        total = float(duals.sum())
        return -total if up else total, float(ways.min(initial=np.inf))
