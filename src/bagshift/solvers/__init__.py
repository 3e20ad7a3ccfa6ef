# SPDX-License-Identifier: BSD-3-Clause
"""Solvers: plain functions on arrays, which know nothing of estimators."""

from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers.coordinate_descent import solve_coordinate_descent
from bagshift.solvers.count_likelihood import (
    BagCounts,
    CountPosterior,
    count_log_probabilities,
    count_posterior,
)
from bagshift.solvers.coupled_chain import CoupledChain, solve_coupled_chain
from bagshift.solvers.coupled_least_squares import (
    CoupledLeastSquaresProblem,
    CoupledLeastSquaresResult,
    solve_coupled_least_squares,
)
from bagshift.solvers.coupled_linear import (
    CoupledLinearProblem,
    CoupledLinearResult,
    solve_coupled_linear,
)
from bagshift.solvers.coupled_logistic import (
    CoupledLogisticProblem,
    CoupledLogisticResult,
    Machines,
    solve_coupled_logistic,
)
from bagshift.solvers.coupled_qp import (
    CoupledProblem,
    CoupledResult,
    coupling_weights,
    solve_coupled,
)
from bagshift.solvers.least_squares_path import LeastSquaresPoint, least_squares_path
from bagshift.solvers.linear_units import LinearUnits

__all__ = [
    "BagCounts",
    "CountPosterior",
    "CoupledChain",
    "CoupledLeastSquaresProblem",
    "CoupledLeastSquaresResult",
    "CoupledLinearProblem",
    "CoupledLinearResult",
    "CoupledLogisticProblem",
    "CoupledLogisticResult",
    "CoupledProblem",
    "CoupledResult",
    "LeastSquaresPoint",
    "LinearMachine",
    "LinearUnits",
    "Machines",
    "count_log_probabilities",
    "count_posterior",
    "coupling_weights",
    "least_squares_path",
    "solve_coordinate_descent",
    "solve_coupled",
    "solve_coupled_chain",
    "solve_coupled_least_squares",
    "solve_coupled_linear",
    "solve_coupled_logistic",
]
