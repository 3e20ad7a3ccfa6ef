# SPDX-License-Identifier: BSD-3-Clause
"""A hinge machine on explicit features, solved as it is written by an interior-point solver."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np


@dataclass(frozen=True)
class ConicMachine:
    """Weights, bias and objective of a linear machine."""

    weights: np.ndarray
    bias: float
    objective: float

    def scores(self, rows):
        return rows @ self.weights + self.bias


def conic_machine(rows, signs, costs, *, margins=1.0, penalty=None):
    """Minimise w'w / 2 + w' penalty w + sum of costs times [margins - signs (w'x + b)]_+."""
    weights, bias = cp.Variable(rows.shape[1]), cp.Variable()
    slack = cp.pos(margins - cp.multiply(signs, rows @ weights + bias))
    objective = 0.5 * cp.sum_squares(weights) + costs @ slack
    if penalty is not None:
        objective += cp.quad_form(weights, cp.psd_wrap(penalty))
    program = cp.Problem(cp.Minimize(objective))
    program.solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200
    )
    return ConicMachine(weights.value, float(bias.value), program.value)
