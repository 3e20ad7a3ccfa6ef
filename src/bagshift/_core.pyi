# SPDX-License-Identifier: BSD-3-Clause
"""Compiled core: see ``cpp/bindings.cpp``."""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

class Status(Enum):
    optimal = 1
    max_iter = 2
    stalled = 3

class CoreSolution:
    @property
    def dual(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> float: ...
    @property
    def intercept_low(self) -> float: ...
    @property
    def intercept_high(self) -> float: ...
    @property
    def intercept_shift(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def dual_objective(self) -> float: ...
    @property
    def dual_gap(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def n_newton(self) -> int: ...
    @property
    def status(self) -> Status: ...

def solve_coupled(
    *,
    gram: NDArray[np.float64] | NDArray[np.float32],
    n_source: int,
    targets: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    within: float,
    across: float,
    inverse_coupling: float,
    guess: NDArray[np.float64] | None = None,
    tol: float,
    max_iter: int,
    use_newton: bool,
) -> CoreSolution: ...
def solve_chain(
    *,
    gram: NDArray[np.float64] | NDArray[np.float32],
    n_source: int,
    targets: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    source_costs: NDArray[np.float64],
    target_costs: NDArray[np.float64],
    within: NDArray[np.float64],
    across: NDArray[np.float64],
    inverse_couplings: NDArray[np.float64],
    starts: NDArray[np.int64],
    tol: float,
    max_iter: int,
    duals: NDArray[np.float64],
    summaries: NDArray[np.float64],
) -> None: ...
def rbf_values(
    *,
    products: NDArray[np.float64] | NDArray[np.float32],
    row_norms: NDArray[np.float64],
    column_norms: NDArray[np.float64],
    gamma: float,
    same_rows: bool = False,
) -> None: ...
def count_posterior(
    *,
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first_counts: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def class_count_posterior(
    *,
    chances: NDArray[np.float64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def count_loss(
    *,
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first_counts: NDArray[np.int64],
    weight_starts: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    costs: NDArray[np.float64],
    n_threads: int,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
def bag_sums(
    features: NDArray[np.float64] | NDArray[np.float32],
    factors: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]: ...
def weighted_squares(
    features: NDArray[np.float64] | NDArray[np.float32], factors: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def count_log_probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]: ...

class CoreUnits: ...

class CoreDescent:
    @property
    def source_weights(self) -> NDArray[np.float64]: ...
    @property
    def target_weights(self) -> NDArray[np.float64]: ...
    @property
    def source_intercept(self) -> float: ...
    @property
    def target_intercept(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def dual_objective(self) -> float: ...
    @property
    def dual(self) -> NDArray[np.float64]: ...
    @property
    def n_iter(self) -> int: ...

def dense_units(
    *,
    features: NDArray[np.float64] | NDArray[np.float32],
    targets: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> CoreUnits: ...
def sparse_units(
    *,
    values: NDArray[np.float64] | NDArray[np.float32],
    columns: NDArray[np.int32] | NDArray[np.int64],
    starts: NDArray[np.int32] | NDArray[np.int64],
    n_features: int,
    targets: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> CoreUnits: ...
def descend(
    *,
    source: CoreUnits | None,
    target: CoreUnits,
    coupling: float,
    guess: NDArray[np.float64] | None = None,
    tol: float,
    max_iter: int,
    seed: int,
) -> CoreDescent: ...
