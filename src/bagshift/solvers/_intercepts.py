# SPDX-License-Identifier: BSD-3-Clause
r"""Intercepts of two machines that are not penalised but for their distance.

The conditions of a least-squares problem of both machines are :math:`Mz + Eb = t` and
:math:`E^\top z = \lambda Lb` with a column of :math:`E` and an entry of :math:`b` for each
unknown intercept. Without :math:`z` they are :math:`(E^\top M^{-1}E + \lambda L)\,b =
E^\top M^{-1}t`. In what both machines share and what one has on top, :math:`\lambda L` is zero but
for one number on the diagonal, and the solution loses nothing where :math:`\lambda` is tiny, huge
or infinite; the machine with less weight is the one that has something on top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers.coupled_qp import NEGLIGIBLE_COUPLING

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Intercepts:
    """Which unknowns the intercepts of the machines are made of.

    Attributes
    ----------
    target, source : ndarray of shape (n_unknowns,)
        How often each unknown counts in the intercept of a machine.
    coupling : float
        Cost of the square of the second unknown, of two that share one.
    """

    target: Floats
    source: Floats
    coupling: float

    @property
    def are_apart(self) -> bool:
        """Whether each machine has an unknown of its own."""
        return float(self.target @ self.source) == 0.0

    def columns(self, n_source: int, m: int) -> Floats:
        """Return E: how often each unknown counts in the score of every unit.

        Parameters
        ----------
        n_source, m : int
            How many units there are, of which the first are the source.

        Returns
        -------
        ndarray of shape (m, n_unknowns)
        """
        columns = np.empty((m, len(self.target)))
        columns[:n_source], columns[n_source:] = self.source, self.target
        return columns

    def inverse(self, curvature: Floats) -> Floats:
        r"""Return the inverse of :math:`E^\top M^{-1}E + \lambda L`.

        Parameters
        ----------
        curvature : ndarray of shape (n_unknowns, n_unknowns)
            :math:`E^\top M^{-1}E`.

        Returns
        -------
        ndarray of shape (n_unknowns, n_unknowns)
            With zeros for an unknown that no unit depends on, which is zero then.
        """
        if self.are_apart or len(curvature) == 1:
            return np.diag([_reciprocal(value) for value in curvature.diagonal()])
        (shared, across), (_, own) = curvature
        if not shared > 0:
            return np.zeros((2, 2))
        rigid = 1.0 if np.isinf(self.coupling) else self.coupling / (self.coupling + own)
        loose = 0.0 if np.isinf(self.coupling) else 1.0 / (self.coupling + own)
        determinant = shared * rigid + (shared * own - across * across) * loose
        adjugate = np.array(
            [[rigid + own * loose, -across * loose], [-across * loose, shared * loose]]
        )
        return np.asarray(adjugate / determinant)


def _reciprocal(value: float) -> float:
    return 1.0 / value if value > 0 else 0.0


def one_intercept() -> Intercepts:
    """Return the intercept of a machine alone.

    Returns
    -------
    Intercepts
    """
    return Intercepts(np.ones(1), np.ones(1), 0.0)


def two_intercepts(source_cost: float, target_cost: float, coupling: float) -> Intercepts:
    """Return the intercepts of two machines.

    Parameters
    ----------
    source_cost, target_cost : float
        Summed costs of the units of each machine.
    coupling : float
        From 0 (or anything below 1e-15), where each has its own intercept, to infinity, where
        both have the same.

    Returns
    -------
    Intercepts
    """
    if coupling < NEGLIGIBLE_COUPLING:
        return Intercepts(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0)
    shared, with_own = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    if source_cost <= target_cost:
        return Intercepts(shared, with_own, coupling)
    return Intercepts(with_own, shared, coupling)
