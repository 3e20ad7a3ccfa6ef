# SPDX-License-Identifier: BSD-3-Clause
"""Softmax regression on real targets, against a general optimiser and the problem of two."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from bagshift.solvers.linear_heads import solve_targeted_logistic
from bagshift.solvers.targeted_softmax import solve_targeted_softmax


def problem(n_classes=3, n_rows=40, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    targets = np.eye(n_classes)[rng.integers(n_classes, size=n_rows)]
    targets = targets + 0.2 * rng.normal(size=targets.shape)
    targets += (1 - targets.sum(axis=1, keepdims=True)) / n_classes
    return X, targets, rng.uniform(0.5, 2.0, n_rows)


def test_the_objective_as_it_is_written():
    X, targets, weights = problem()
    found = solve_targeted_softmax(X, targets, weights)

    def value(v):
        W, b = v[:6].reshape(3, 2), v[6:]
        f = X @ W.T + b
        loss = weights @ (logsumexp(f, axis=1) - (targets * f).sum(axis=1))
        return 1.5 * 0.5 * (W**2).sum() + loss

    v = np.concatenate([found.weights.ravel(), found.intercepts])
    assert found.converged
    np.testing.assert_allclose(value(v), found.objective, rtol=1e-10)
    assert minimize(value, v + 0.1, method="BFGS").fun >= found.objective - 1e-6


def test_two_classes_are_the_machine_of_two():
    X, targets, weights = problem(n_classes=2)
    found = solve_targeted_softmax(X, targets, weights, tol=1e-10)
    alone = solve_targeted_logistic(X, targets[:, 1], weights).machines
    difference = found.weights[1] - found.weights[0]
    np.testing.assert_allclose(difference, alone.target_weights, atol=1e-7)
    level = found.intercepts[1] - found.intercepts[0]
    np.testing.assert_allclose(level, alone.target_intercept, atol=1e-7)


def test_sparse_rows_and_units_of_the_columns():
    X, targets, weights = problem()
    found = solve_targeted_softmax(X, targets, weights)
    thin = solve_targeted_softmax(sparse.csr_array(X), targets, weights)
    np.testing.assert_allclose(thin.weights, found.weights, atol=1e-8)
    small = solve_targeted_softmax(1e-3 * X, targets, 1e6 * weights)
    np.testing.assert_allclose(small.weights, 1e3 * found.weights, rtol=1e-5)
