# SPDX-License-Identifier: BSD-3-Clause
"""Intercepts that the problem leaves open: the middle of what is optimal.

Where no unit is in the rounded part of its loss, the losses are straight in a common change of
the intercepts, and may be level: then every intercept up to the next border of a tube is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bagshift.solvers._coordinates import LinearMachine, Machines
from bagshift.solvers._linear_passes import LinearPasses
from bagshift.solvers.coupled_qp import NEGLIGIBLE_COUPLING

# Slopes below this part of the sum of the costs are level.
_LEVEL = 1e-9


def centre_intercepts(
    machines: Machines, source: LinearPasses | None, target: LinearPasses, coupling: float
) -> tuple[Machines, tuple[float, float]]:
    """Move intercepts to the middle of what is optimal with the weights as they are.

    Parameters
    ----------
    machines : Machines
        A solution.
    source : LinearPasses or None
    target : LinearPasses
    coupling : float
        Intercepts that nothing couples move on their own.

    Returns
    -------
    machines : Machines
    interval : tuple of float
        Lowest and highest optimal intercept of the target machine; may be infinite.
    """
    if source is None:
        low, high = _interval([(target, machines.target)])
        return _moved(machines, low, high, low, high), _around(machines, low, high)
    if coupling < NEGLIGIBLE_COUPLING:
        low, high = _interval([(target, machines.target)])
        moved = _moved(machines, *_interval([(source, machines.source)]), low, high)
        return moved, _around(machines, low, high)
    low, high = _interval([(source, machines.source), (target, machines.target)])
    return _moved(machines, low, high, low, high), _around(machines, low, high)


def _interval(parts: Sequence[tuple[LinearPasses, LinearMachine]]) -> tuple[float, float]:
    """Return how far the intercepts of some machines can fall and grow together."""
    cost = sum(passes.total_cost for passes, _ in parts)
    ends = []
    for up in (False, True):
        rooms = [passes.room(machine, up=up) for passes, machine in parts]
        is_level = abs(sum(slope for slope, _ in rooms)) <= _LEVEL * cost
        ends.append(min(room for _, room in rooms) if is_level else 0.0)
    return -ends[0], ends[1]


def _moved(
    machines: Machines, source_low: float, source_high: float, low: float, high: float
) -> Machines:
    return replace(
        machines,
        source_intercept=machines.source_intercept
        + _middle(machines.source_intercept, source_low, source_high),
        target_intercept=machines.target_intercept + _middle(machines.target_intercept, low, high),
    )


def _middle(intercept: float, low: float, high: float) -> float:
    """Return the move to the middle, or to the finite end, or to zero."""
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2.0
    if np.isfinite(low) or np.isfinite(high):
        return low if np.isfinite(low) else high
    return -intercept


def _around(machines: Machines, low: float, high: float) -> tuple[float, float]:
    return machines.target_intercept + low, machines.target_intercept + high
