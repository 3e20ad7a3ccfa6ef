# SPDX-License-Identifier: BSD-3-Clause
"""Solvers: plain functions on arrays, which know nothing of estimators."""

from bagshift.solvers.coupled_qp import (
    CoupledProblem,
    CoupledResult,
    coupling_weights,
    solve_coupled,
)

__all__ = ["CoupledProblem", "CoupledResult", "coupling_weights", "solve_coupled"]
