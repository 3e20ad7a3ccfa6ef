# SPDX-License-Identifier: BSD-3-Clause
"""Small coupled logistic problems, and their machines as vectors."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.coupled_logistic import CoupledLogisticProblem

COUPLINGS = (0.0, 0.7, 50.0, np.inf)
SIZES = np.array([1, 2, 3, 5, 8, 12, 4, 6, 1, 10])


def make_problem(seed=0, *, with_source=True, coupling=0.7, sizes=SIZES, labelled=False):
    """Rows of two classes; counts are those of hidden labels, or all labels are known."""
    rng = np.random.default_rng(seed)
    sizes = np.ones(40, dtype=int) if labelled else sizes
    labels = rng.random(sizes.sum()) < 0.5
    X = rng.normal(size=(len(labels), 3)) + 0.8 * labels[:, None] - 0.2
    signs = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    X_source = rng.normal(size=(30, 3)) + 0.4 * signs[:, None]
    counts = np.add.reduceat(labels.astype(int), np.cumsum(sizes) - sizes)
    return CoupledLogisticProblem(
        source_features=X_source if with_source else None,
        source_signs=signs if with_source else np.empty(0),
        source_costs=rng.uniform(0.5, 1.5, size=30 if with_source else 0),
        target_features=X,
        counts=BagCounts.exact(counts, sizes),
        bag_costs=rng.uniform(0.5, 2.0, size=len(sizes)),
        coupling=coupling,
    )


def as_sparse(problem):
    source = problem.source_features
    return replace(
        problem,
        source_features=None if source is None else sparse.csr_matrix(source),
        target_features=sparse.csr_matrix(problem.target_features),
    )


def with_law(problem, weights):
    """Publish every count under one law: log weights at distances 0, 1, ... from the count."""
    counts = problem.counts
    around = np.concatenate([weights[:0:-1], weights])
    return replace(
        problem,
        counts=BagCounts(
            starts=counts.starts,
            first_counts=counts.first_counts - len(weights) + 1,
            weight_starts=len(around) * np.arange(counts.n_bags + 1),
            log_weights=np.tile(around, counts.n_bags),
        ),
    )


def vector(machines):
    return np.concatenate(
        [
            machines.source_weights,
            [machines.source_intercept],
            machines.target_weights,
            [machines.target_intercept],
        ]
    )


def same_machines(one, two, tolerance):
    np.testing.assert_allclose(vector(one.machines), vector(two.machines), atol=tolerance, rtol=0)
