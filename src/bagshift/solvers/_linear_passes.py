# SPDX-License-Identifier: BSD-3-Clause
"""What the optimiser of the coupled linear problem asks of units, wherever they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._sums import Sums
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses

Floats = NDArray[np.float64]


class LinearPasses(Protocol):
    """What the optimiser asks of the units of one machine, wherever they lie.

    :class:`UnitPasses` says what each of these is.
    """

    @property
    def n_units(self) -> int:
        """Return the number of units."""

    @property
    def n_features(self) -> int:
        """Return the number of features."""

    @property
    def total_cost(self) -> float:
        """Return the sum of the costs."""

    @property
    def holds_lines(self) -> bool:
        """Return whether slopes along a line take one pass, however many are asked for."""

    @property
    def waits(self) -> bool:
        """Return whether others compute the answers, so that two can be waited for at once."""

    def square_sum(self) -> float:
        """Return the sum of the squares of all features."""

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        """Return loss, gap, slope and curvature at a machine."""

    def line(
        self, machine: LinearMachine, direction: LinearMachine, smoothing: float
    ) -> Callable[[Floats], Floats]:
        """Return the slope of the smoothed loss along a line."""

    def sample(self, part: float) -> LinearUnits:
        """Draw units, with costs that stand for all of them."""

    def near(self, machine: LinearMachine, width: float) -> tuple[UnitPasses, Sums]:
        """Return the units near a border, in memory, and the slope of the others."""

    def settled(self, machine: LinearMachine, width: float, later: LinearMachine) -> Sums:
        """Return loss and gap of those that `near` left out, at a later machine."""

    def room(self, machine: LinearMachine, *, up: bool) -> tuple[float, float]:
        """Return what a small change of the intercept does, and how long that stays so."""

    def gathered(self) -> UnitPasses:
        """Return passes over the same units in memory; asked when they are few."""
