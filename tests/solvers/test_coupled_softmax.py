# SPDX-License-Identifier: BSD-3-Clause
"""The coupled problem of several classes, against the one of two and general optimisers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from bagshift.solvers.class_counts import ClassCounts, class_count_posterior
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.coupled_logistic import CoupledLogisticProblem, solve_coupled_logistic
from bagshift.solvers.coupled_softmax import (
    ClassMachines,
    CoupledSoftmaxProblem,
    solve_coupled_softmax,
)


def problem(n_classes=3, n_features=2, bag_size=4, n_bags=8, n_source=15, coupling=0.7, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, n_features))
    labels = rng.integers(n_classes, size=bag_size * n_bags)
    codes = np.arange(n_source) % n_classes
    return CoupledSoftmaxProblem(
        source_features=centres[codes] + rng.normal(size=(n_source, n_features)),
        source_codes=codes,
        source_costs=rng.uniform(0.5, 1.5, n_source),
        target_features=centres[labels] + rng.normal(size=(len(labels), n_features)),
        counts=ClassCounts(
            bag_size * np.arange(n_bags + 1),
            [np.bincount(part, minlength=n_classes) for part in labels.reshape(n_bags, -1)],
        ),
        bag_costs=rng.uniform(1.0, 2.0, n_bags),
        coupling=coupling,
    )


def objective_as_written(given, machines):
    C = given.n_classes
    W_h, b_h, W_c, b_c = vars(machines).values()
    value = 0.5 * (W_c**2).sum() + 0.5 * (W_h**2).sum()
    value += given.coupling / 2 * (((W_c - W_h) ** 2).sum() + ((b_c - b_h) ** 2).sum())
    source = log_softmax(given.source_features @ W_h.T + b_h, axis=1)
    value = C / (C - 1) * value
    value -= given.source_costs @ source[np.arange(given.n_source), given.source_codes]
    found = class_count_posterior(given.target_features @ W_c.T + b_c, given.counts)
    return value - given.bag_costs @ found.log_likelihood


@pytest.mark.parametrize("coupling", [0.0, 0.7, 50.0])
def test_the_objective_as_it_is_written(coupling):
    given = problem(coupling=coupling)
    found = solve_coupled_softmax(given, tol=1e-9)
    assert found.converged
    assert objective_as_written(given, found.machines) == pytest.approx(found.objective)
    shapes = [values.shape for values in vars(found.machines).values()]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def value(v):
        parts = [p.reshape(s) for p, s in zip(np.split(v, cuts), shapes, strict=True)]
        return objective_as_written(given, ClassMachines(*parts))

    start = np.concatenate([values.ravel() for values in vars(found.machines).values()])
    polished = minimize(value, start + 0.01, method="BFGS", options={"gtol": 1e-6})
    assert found.objective <= polished.fun + 1e-8


@pytest.mark.parametrize("coupling", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("with_source", [True, False])
def test_two_classes_are_the_machine_of_two(coupling, with_source):
    given = problem(n_classes=2, bag_size=6, coupling=coupling)
    if not with_source:
        given = without_source(given)
    found = solve_coupled_softmax(given, tol=1e-10)
    alone = solve_coupled_logistic(
        CoupledLogisticProblem(
            given.source_features,
            2.0 * given.source_codes - 1.0,
            given.source_costs,
            given.target_features,
            BagCounts.exact(given.counts.counts[:, 1], given.counts.sizes),
            given.bag_costs,
            coupling,
        ),
        tol=1e-10,
    )
    assert found.objective == pytest.approx(alone.objective, rel=1e-9)
    W, b = found.machines.target_weights, found.machines.target_intercepts
    scores = given.target_features @ (W[1] - W[0]) + b[1] - b[0]
    expected = alone.machines.target.scores(given.target_features)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def without_source(given):
    return replace(
        given,
        source_features=None,
        source_codes=np.empty(0, dtype=int),
        source_costs=np.empty(0),
    )


def test_bags_of_one_row_are_multinomial_logistic_regression():
    given = replace(without_source(problem(bag_size=1, n_bags=40)), bag_costs=np.full(40, 3.0))
    found = solve_coupled_softmax(given, tol=1e-10).machines
    labels = given.counts.counts.argmax(axis=1)
    # The penalty is C / (C - 1) times as large as that of scikit-learn.
    twin = LogisticRegression(C=3.0 * 2 / 3, tol=1e-10, max_iter=10**4)
    twin.fit(given.target_features, labels)
    np.testing.assert_allclose(found.target_weights, twin.coef_, atol=1e-5)
    np.testing.assert_allclose(found.target_intercepts, twin.intercept_, atol=1e-5)


def test_limits_of_the_coupling():
    given = problem(coupling=0.0)
    apart = solve_coupled_softmax(given, tol=1e-9).machines
    alone = solve_coupled_softmax(without_source(given), tol=1e-9).machines
    np.testing.assert_allclose(apart.target_weights, alone.target_weights, atol=1e-5)
    one = solve_coupled_softmax(replace(given, coupling=np.inf), tol=1e-9).machines
    np.testing.assert_allclose(one.source_weights, one.target_weights, atol=1e-12)
    near = solve_coupled_softmax(replace(given, coupling=1e7), tol=1e-9).machines
    np.testing.assert_allclose(near.target_weights, one.target_weights, atol=1e-4)


def test_other_names_of_the_classes_and_starts():
    given = problem(n_classes=4)
    found = solve_coupled_softmax(given, tol=1e-9).machines
    order = np.array([2, 0, 3, 1])
    turned = replace(
        given,
        source_codes=np.argsort(order)[given.source_codes],
        counts=ClassCounts(given.counts.starts, given.counts.counts[:, order]),
    )
    other = solve_coupled_softmax(turned, tol=1e-9).machines
    np.testing.assert_allclose(other.target_weights, found.target_weights[order], atol=1e-5)
    assert np.abs(found.target_weights.sum(axis=0)).max() < 1e-9
    shifted = ClassMachines(*(values + 5.0 for values in vars(found).values()))
    again = solve_coupled_softmax(given, start=shifted, tol=1e-6)
    assert again.n_iter <= 2
    np.testing.assert_allclose(again.machines.target_weights, found.target_weights, atol=1e-5)


def test_sparse_and_single_precision():
    given = problem()
    found = solve_coupled_softmax(given, tol=1e-8).machines
    for change in (sparse.csr_array, lambda X: X.astype(np.float32).astype(np.float64)):
        twin = replace(
            given,
            source_features=change(given.source_features),
            target_features=change(given.target_features),
        )
        weights = solve_coupled_softmax(twin, tol=1e-8).machines.target_weights
        np.testing.assert_allclose(weights, found.target_weights, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_units_of_the_columns(factor):
    given = problem()
    found = solve_coupled_softmax(given, tol=1e-9)
    scaled = replace(
        given,
        source_features=factor * given.source_features,
        target_features=factor * given.target_features,
        source_costs=given.source_costs / factor**2,
        bag_costs=given.bag_costs / factor**2,
        coupling=0.0,
    )
    base = solve_coupled_softmax(replace(given, coupling=0.0), tol=1e-9)
    other = solve_coupled_softmax(scaled, tol=1e-9)
    np.testing.assert_allclose(
        factor * other.machines.target_weights, base.machines.target_weights, atol=1e-4
    )
    assert found.converged


def test_large_bags_of_many_classes_end():
    given = problem(n_classes=8, n_features=12, bag_size=32, n_bags=12, n_source=60)
    found = solve_coupled_softmax(replace(given, bag_costs=np.full(12, 64.0)))
    assert found.converged
    assert np.isfinite(found.objective)
