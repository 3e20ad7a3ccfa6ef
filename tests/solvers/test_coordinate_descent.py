# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent against the exact program, a plain twin, and its own promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bagshift.solvers import CoupledProblem, coupling_weights
from bagshift.solvers.coordinate_descent import solve_coordinate_descent
from bagshift.solvers.coupled_linear import CoupledLinearProblem
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.polish import solve_sharply

COUPLINGS = (0.0, 2.0**-6, 1.0, 2.0**11, np.inf)


def labelled(features, labels, cost):
    return LinearUnits(
        features,
        labels,
        np.zeros(len(labels)),
        np.where(labels > 0, 0.0, -cost),
        np.where(labels > 0, cost, 0.0),
    )


def bags(features, targets, cost, tube=0.1):
    costs = np.full(len(targets), cost)
    return LinearUnits(features, targets, np.full(len(targets), tube), -costs, costs)


def make_problem(
    coupling, *, seed=0, n=160, n_bags=40, d=6, source_cost=0.1, target_cost=0.3, offset=0.0
):
    """Noisy labels, and means of ten rows that lie elsewhere."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d) / np.sqrt(d)
    labels = rng.choice([-1.0, 1.0], size=n)
    source = rng.normal(size=(n, d)) + labels[:, None] * direction + offset
    labels[rng.random(n) < 0.05] *= -1.0
    shares = rng.random(n_bags)
    hidden = np.where(rng.random((n_bags, 10)) < shares[:, None], 1.0, -1.0)
    rows = rng.normal(size=(n_bags, 10, d)) + hidden[:, :, None] * direction + offset + 0.3
    scores = np.log(np.clip(shares, 0.01, 0.99) / np.clip(1.0 - shares, 0.01, 0.99))
    return CoupledLinearProblem(
        labelled(source, labels, source_cost),
        bags(rows.mean(axis=1), scores, target_cost),
        coupling,
    )


def parts(problem):
    return [units for units in (problem.source, problem.target) if units is not None]


def stacked(problem, name):
    return np.concatenate([getattr(units, name) for units in parts(problem)])


def dense(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features, dtype=float)


def converted(problem, convert):
    """Return the problem with other arrays for the same features."""

    def of(units):
        return None if units is None else replace(units, features=convert(units.features))

    return replace(problem, source=of(problem.source), target=of(problem.target))


def exact_objective(problem):
    features = np.vstack([dense(units.features).astype(float) for units in parts(problem)])
    program = CoupledProblem(
        gram=features @ features.T,
        n_source=0 if problem.source is None else problem.source.n_units,
        targets=stacked(problem, "targets"),
        half_widths=stacked(problem, "half_widths"),
        lower=stacked(problem, "lower"),
        upper=stacked(problem, "upper"),
        coupling=problem.coupling,
    )
    return solve_sharply(program, tol=1e-9).objective


def objective_at(problem, machines):
    """Value of the problem, from its definition."""
    total = 0.5 * machines.target_weights @ machines.target_weights
    pairs = [(problem.target, machines.target)]
    if problem.source is not None:
        total += 0.5 * machines.source_weights @ machines.source_weights
        pairs.append((problem.source, machines.source))
        shift = machines.target_weights - machines.source_weights
        apart = shift @ shift + (machines.target_intercept - machines.source_intercept) ** 2
        if np.isinf(problem.coupling):
            assert apart == 0
        else:
            total += 0.5 * problem.coupling * apart
    for units, machine in pairs:
        r = units.targets - machine.scores(dense(units.features).astype(float))
        above, below = units.upper * (r - units.half_widths), units.lower * (r + units.half_widths)
        total += np.maximum(0.0, np.maximum(above, below)).sum()
    return total


def check(problem, *, tol=1e-7, max_iter=200_000):
    result = solve_coordinate_descent(problem, tol=tol, max_iter=max_iter)
    exact = exact_objective(problem)
    assert result.converged
    assert result.dual_gap <= tol * result.objective
    assert -1e-9 * exact <= result.objective - exact <= result.dual_gap + 1e-9 * exact
    # Intercepts that nothing seems to hold were moved by what is level but for rounding.
    assert objective_at(problem, result.machines) == pytest.approx(result.objective, rel=1e-7)
    assert (result.dual >= stacked(problem, "lower")).all()
    assert (result.dual <= stacked(problem, "upper")).all()
    return result


# The exact program ------------------------------------------------------------------------------


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("offset", [0.0, 3.0, -30.0])
def test_equals_the_exact_program(coupling, offset):
    check(make_problem(coupling, offset=offset))


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("costs", [(1e-4, 1e-4), (3.0, 3.0), (1e-4, 1.0), (1.0, 1e-4)])
def test_equals_the_exact_program_at_small_and_large_costs(coupling, costs):
    check(make_problem(coupling, source_cost=costs[0], target_cost=costs[1], offset=1.0), tol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows(dtype, index):
    """More columns than units, and most entries zero."""
    rng = np.random.default_rng(3)

    def to_sparse(features):
        wide = rng.normal(size=(len(features), 300)) * (rng.random((len(features), 300)) < 0.05)
        wide[:, :3] = features[:, :3]
        rows = sparse.csr_matrix(wide.astype(dtype))
        rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
        return rows

    problem = converted(make_problem(1.0, source_cost=1.0), to_sparse)
    found = check(problem)
    same = solve_coordinate_descent(converted(problem, dense), tol=1e-7)
    assert same.objective == pytest.approx(found.objective, rel=1e-6)


@pytest.mark.parametrize("convert", [np.float32, sparse.csr_array])
def test_kinds_of_features(convert):
    check(converted(make_problem(0.5, offset=2.0), convert))


def test_domains_may_differ_in_kind():
    problem = make_problem(0.5)
    source = replace(problem.source, features=sparse.csr_matrix(problem.source.features))
    target = replace(problem.target, features=problem.target.features.astype(np.float32))
    check(replace(problem, source=source, target=target))


def test_columns_may_come_in_any_order_and_twice():
    def scramble(features):
        columns = np.indices(features.shape)[1]
        halves = np.concatenate([0.25 * features, 0.75 * features], axis=1)
        order = np.random.default_rng(0).permutation(halves.shape[1])
        starts = np.arange(len(features) + 1) * halves.shape[1]
        columns = np.concatenate([columns, columns], axis=1)[:, order]
        arrays = (halves[:, order].ravel(), columns.ravel(), starts)
        return sparse.csr_matrix(arrays, shape=features.shape)

    problem = make_problem(1.0)
    scrambled = converted(problem, scramble)
    assert not scrambled.source.features.has_canonical_format
    result = solve_coordinate_descent(scrambled, tol=1e-8)
    assert result.converged
    assert result.objective == pytest.approx(exact_objective(problem), rel=1e-7)


def test_rows_cut_out_of_a_wider_array():
    problem = make_problem(1.0)
    wide = converted(problem, lambda features: np.hstack([features, features])[:, :6])
    assert wide.source.features.strides[0] > 6 * 8
    assert solve_coordinate_descent(wide).objective == solve_coordinate_descent(problem).objective


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_one_machine(offset):
    problem = replace(make_problem(7.0, offset=offset), source=None)
    result = check(problem)
    np.testing.assert_array_equal(result.machines.source_weights, result.machines.target_weights)
    assert result.machines.source_intercept == result.machines.target_intercept


@pytest.mark.parametrize("coupling", [0.0, 1.0, np.inf])
def test_labelled_target_rows(coupling):
    problem = make_problem(coupling)
    rows = make_problem(coupling, seed=1, n=50).source
    names = ("features", "targets", "half_widths", "lower", "upper")
    both = (problem.target, rows)
    joined = {name: np.concatenate([getattr(units, name) for units in both]) for name in names}
    check(replace(problem, target=LinearUnits(**joined)))


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_units_without_cost_and_rows_without_entries(coupling):
    problem = make_problem(coupling)
    keep = np.random.default_rng(1).random(160) < 0.7
    units = problem.source
    source = replace(units, lower=units.lower * keep, upper=units.upper * keep)
    source.features[::9] = 0.0
    result = check(replace(problem, source=source))
    assert (result.dual[:160][~keep] == 0).all()


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_source_without_costs(coupling):
    """The source machine follows the other one, or is free where nothing couples them."""
    problem = make_problem(coupling, source_cost=0.0)
    result = check(problem)
    if coupling == 0:
        assert (result.machines.source_weights == 0).all()


@pytest.mark.parametrize("seed", [1, 24, 25, 26, 367])
def test_units_that_rest_are_not_forgotten(seed):
    """All of four cheap rows rest, while their level moves on and on."""
    sizes = {"n": 4, "n_bags": 19, "d": 5, "offset": 30.0}
    problem = make_problem(2.0**-6, seed=seed, source_cost=0.004, target_cost=31.0, **sizes)
    check(problem, tol=1e-6, max_iter=3000)


def test_features_that_say_nothing():
    problem = converted(make_problem(1.0), lambda features: np.ones_like(features))
    check(problem)


def test_nothing_to_lose():
    """Scores within their tubes at once: no weights, no loss."""
    target = bags(np.ones((3, 2)), np.array([1.0, 1.1, 1.2]), 1.0, tube=0.2)
    result = solve_coordinate_descent(CoupledLinearProblem(None, target, 0.0))
    assert result.converged
    assert result.objective == result.dual_gap == 0.0
    np.testing.assert_allclose(result.intercept_interval, (1.0, 1.2), atol=1e-5)
    assert result.machines.target_intercept == pytest.approx(1.1)


# Certificate, invariances -----------------------------------------------------------------------


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("max_iter", [0, 1, 2, 5, 20])
def test_gap_bounds_the_distance_at_any_time(coupling, max_iter):
    problem = make_problem(coupling, source_cost=1.0, offset=1.0)
    result = solve_coordinate_descent(problem, tol=1e-12, max_iter=max_iter)
    assert result.n_iter == max_iter
    assert not result.converged
    exact = exact_objective(problem)
    assert 0 <= result.objective - exact <= result.dual_gap
    assert objective_at(problem, result.machines) == pytest.approx(result.objective, rel=1e-10)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_duals_make_the_machines(coupling):
    problem = make_problem(coupling, offset=2.0)
    result = solve_coordinate_descent(problem, tol=1e-10, max_iter=100_000)
    within, across = coupling_weights(coupling)
    z_source, z_target = result.dual[:160], result.dual[160:]
    u, v = z_source @ problem.source.features, z_target @ problem.target.features
    machines = result.machines
    np.testing.assert_allclose(machines.source_weights, within * u + across * v, atol=1e-4)
    np.testing.assert_allclose(machines.target_weights, within * v + across * u, atol=1e-4)
    assert z_source.sum() == pytest.approx(-z_target.sum(), abs=1e-4)
    if coupling < 100:
        shift = machines.source_intercept - machines.target_intercept
        assert coupling * shift == pytest.approx(z_source.sum(), abs=1e-4)


def test_offset_does_not_matter():
    """The same work on features at any distance from zero."""
    at_zero, far = (
        solve_coordinate_descent(make_problem(np.inf, offset=offset), tol=1e-6)
        for offset in (0.0, 100.0)
    )
    assert far.n_iter == at_zero.n_iter
    np.testing.assert_allclose(
        far.machines.target_weights, at_zero.machines.target_weights, atol=1e-8
    )


def test_exchanging_the_classes_mirrors_the_machines():
    problem = make_problem(0.7)

    def mirrored(units):
        return replace(units, targets=-units.targets, lower=-units.upper, upper=-units.lower)

    other = replace(problem, source=mirrored(problem.source), target=mirrored(problem.target))
    one, two = solve_coordinate_descent(problem), solve_coordinate_descent(other)
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    np.testing.assert_allclose(two.dual, -one.dual, atol=1e-9)
    np.testing.assert_allclose(two.machines.mirrored().target_weights, one.machines.target_weights)


def test_exchanging_the_domains_exchanges_the_machines():
    problem = make_problem(0.7)
    other = CoupledLinearProblem(problem.target, problem.source, 0.7)
    one, two = (solve_coordinate_descent(p, tol=1e-10, max_iter=10**5) for p in (problem, other))
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    np.testing.assert_allclose(two.machines.source_weights, one.machines.target_weights, atol=1e-4)


def test_same_seed_same_digits():
    problem = make_problem(1.0)
    one, two = (solve_coordinate_descent(problem, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.dual, two.dual)
    np.testing.assert_array_equal(one.machines.target_weights, two.machines.target_weights)
    other = solve_coordinate_descent(problem, random_state=6)
    assert (other.dual != one.dual).any()
    assert other.objective == pytest.approx(one.objective, rel=2e-4)


def test_start_from_a_solution():
    problem = make_problem(1.0, offset=2.0)
    solved = solve_coordinate_descent(problem, tol=1e-9, max_iter=10**5)
    again = solve_coordinate_descent(problem, tol=1e-3, start=solved.dual)
    assert again.n_iter < solve_coordinate_descent(problem, tol=1e-3).n_iter
    dearer = make_problem(1.0, offset=2.0, source_cost=0.12)
    result = solve_coordinate_descent(dearer, tol=1e-7, max_iter=10**5, start=solved.dual)
    assert result.objective == pytest.approx(exact_objective(dearer), rel=1e-6)


# Plain twin -------------------------------------------------------------------------------------


class Draws:
    """The generator of the core."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (((z ^ (z >> 31)) >> 32) * n) >> 32

    def order(self, n):
        order = list(range(n))
        for k in range(n, 1, -1):
            j = self.below(k)
            order[k - 1], order[j] = order[j], order[k - 1]
        return order


class Twin:
    """One epoch, where every step solves the charged problem in all weights and intercepts."""

    def __init__(self, problem: CoupledLinearProblem, dual: Any):
        self.problem, self.dual = problem, dual.copy()
        self.d = problem.n_features
        widths = stacked(problem, "upper") - stacked(problem, "lower")
        rows = np.vstack([units.features for units in parts(problem)])
        self.mean = widths @ rows / widths.sum()
        self.domains = np.repeat([0, 1], [problem.source.n_units, problem.target.n_units])
        self.unit_rows = np.array(
            [self.row(p, x) for p, x in zip(self.domains, rows, strict=True)]
        )
        self.mean_rows = np.array([self.row(p, self.mean) for p in (0, 1)])
        lengths = ((rows - self.mean) ** 2).sum(axis=1)
        self.charges = np.empty(2)
        for p in (0, 1):
            own = widths * (self.domains == p)
            size, length = own.sum(), own @ lengths / own.sum()
            self.charges[p] = min(0.2 * size, 0.7 * np.sqrt(size / length))
        self.curvature = self.regulariser()
        for charge, row in zip(self.charges, self.mean_rows, strict=True):
            self.curvature += charge * np.outer(row, row)
        self.centres = np.array([self.first_centre(p) for p in (0, 1)])

    def row(self, p, x):
        """Return x in the unknowns (w_h, b_h, w_c, b_c)."""
        full = np.zeros((2, self.d + 1))
        full[p] = np.append(x, 1.0)
        return full.ravel()

    def regulariser(self):
        one = np.eye(self.d + 1)
        no_intercept = np.diag(np.append(np.ones(self.d), 0.0))
        coupled = self.problem.coupling * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return np.kron(np.eye(2), no_intercept) + np.kron(coupled, one)

    def first_centre(self, p):
        """Return the score at the mean row that balances the losses."""
        within, across = coupling_weights(self.problem.coupling)
        sums = [
            (self.dual * (self.domains == q)) @ (self.unit_rows.reshape(-1, 2, self.d + 1)[:, q])
            for q in (0, 1)
        ]
        weights = (within * sums[p] + across * sums[1 - p])[:-1]
        units = (self.problem.source, self.problem.target)[p]
        left, tube = units.targets - units.features @ weights, units.half_widths
        low, high = (left - tube).min(), (left + tube).max()
        for _ in range(20):
            level = (low + high) / 2
            r = left - level
            slope = units.upper[r > tube].sum() + units.lower[r < -tube].sum()
            if abs(slope) < 1e-9 * (units.upper - units.lower).sum():
                return level + weights @ self.mean
            low, high = (level, high) if slope > 0 else (low, level)
        return (low + high) / 2 + weights @ self.mean

    def unknowns(self):
        pull = self.dual @ self.unit_rows + (self.charges * self.centres) @ self.mean_rows
        return np.linalg.solve(self.curvature, pull)

    def epoch(self, draws):
        t, e = stacked(self.problem, "targets"), stacked(self.problem, "half_widths")
        lower, upper = stacked(self.problem, "lower"), stacked(self.problem, "upper")
        for p in (0, 1):
            own = np.flatnonzero((self.domains == p) & (lower < upper))
            for i in own[draws.order(len(own))]:
                row = self.unit_rows[i]
                curvature = row @ np.linalg.solve(self.curvature, row)
                pulled = self.dual[i] * curvature + t[i] - row @ self.unknowns()
                best = np.sign(pulled) * max(abs(pulled) - e[i], 0.0) / curvature
                self.dual[i] = np.clip(best, lower[i], upper[i])


@pytest.mark.parametrize("coupling", COUPLINGS[:-1])
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_an_epoch_equals_that_of_a_plain_twin(coupling, offset):
    problem = make_problem(coupling, n=30, n_bags=12, d=3, offset=offset)
    rng = np.random.default_rng(0)
    lower, upper = stacked(problem, "lower"), stacked(problem, "upper")
    dual = np.clip(rng.normal(size=42), lower, upper)
    twin = Twin(problem, dual)
    twin.epoch(Draws(9))
    result = solve_coordinate_descent(problem, tol=1e-300, max_iter=1, start=dual, random_state=9)
    np.testing.assert_allclose(result.dual, twin.dual, atol=1e-10)


# Refusals, interruption -------------------------------------------------------------------------


def with_source(problem, **changes):
    return replace(problem, source=replace(problem.source, **changes))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda p: replace(p, coupling=-1.0), ValueError, "coupling must be a number from 0"),
        (lambda p: replace(p, coupling=np.nan), ValueError, "coupling must be a number from 0"),
        (
            lambda p: with_source(p, features=p.source.features[:, :3]),
            ValueError,
            "the same columns: there are 3 and 6",
        ),
        (
            lambda p: with_source(p, targets=np.ones(3)),
            ValueError,
            "source.targets must have shape",
        ),
        (lambda p: with_source(p, half_widths=-np.ones(160)), ValueError, "must not be negative"),
        (lambda p: with_source(p, lower=np.ones(160)), ValueError, "Every box of the source"),
        (
            lambda p: with_source(p, upper=np.full(160, np.inf)),
            ValueError,
            "source.upper holds values that are not finite",
        ),
        (
            lambda p: with_source(p, features=p.source.features.astype(int)),
            TypeError,
            "source.features must be float64 or float32",
        ),
        (
            lambda p: with_source(p, features=np.asfortranarray(p.source.features)),
            ValueError,
            "source.features must be in C order",
        ),
        (
            lambda p: with_source(p, features=sparse.csc_matrix(p.source.features)),
            TypeError,
            "source.features must be in CSR format",
        ),
        (
            lambda p: with_source(p, features=p.source.features * np.nan),
            ValueError,
            "features are not finite",
        ),
        (
            lambda p: with_source(p, features=np.full((160, 6), 1e200)),
            ValueError,
            "too large to be squared",
        ),
    ],
)
def test_refuses(change, error, words):
    with pytest.raises(error, match=words):
        solve_coordinate_descent(change(make_problem(1.0)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": -1}, "max_iter must not be negative"),
        ({"random_state": -1}, "random_state must be an integer from 0"),
        ({"start": np.ones(3)}, "start must have shape"),
    ],
)
def test_refuses_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        solve_coordinate_descent(make_problem(1.0), **arguments)


def test_refuses_broken_sparse_rows():
    problem = converted(make_problem(1.0), sparse.csr_matrix)
    problem.source.features.indices[5] = 6
    with pytest.raises(ValueError, match="columns or starts"):
        solve_coordinate_descent(problem)


LONG_SOLVE = """
import numpy as np
from bagshift.solvers.coordinate_descent import solve_coordinate_descent
from bagshift.solvers.coupled_linear import CoupledLinearProblem
from bagshift.solvers.linear_units import LinearUnits

rng = np.random.default_rng(0)
rows, targets, ones = rng.normal(size=(2000, 20)), rng.normal(size=2000), np.ones(2000)
units = LinearUnits(rows, targets, 0 * ones, -1e6 * ones, 1e6 * ones)
print("started", flush=True)
try:
    problem = CoupledLinearProblem(None, units, 0.0)
    solve_coordinate_descent(problem, tol=1e-300, max_iter=10**9)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_ends_a_long_solve():
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_SOLVE], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline().strip() == "started"
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert output.strip() == "interrupted"
    finally:
        process.kill()
        process.wait()
