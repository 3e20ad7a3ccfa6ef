# SPDX-License-Identifier: BSD-3-Clause
"""The coupled linear problem: the exact quadratic program, limits, invariances, and its passes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from bagshift.solvers import CoupledProblem, coupled_linear, unit_passes
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._sums import add_up
from bagshift.solvers.coupled_linear import CoupledLinearProblem, Machines, solve_coupled_linear
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.polish import solve_sharply
from bagshift.solvers.unit_passes import UnitPasses

COUPLINGS = (0.0, 2.0**-6, 1.0, 2.0**11, np.inf)


def hinge_units(X, signs, cost):
    """Return rows with labels."""
    return LinearUnits(
        X,
        signs,
        np.zeros(len(signs)),
        np.minimum(cost * signs, 0.0),
        np.maximum(cost * signs, 0.0),
    )


def make_problem(seed=0, *, n=300, coupling=1.0, costs=(1.0, 4.0), offset=0.0, with_source=True):
    """Noisy labels of a source, and bags of five target rows with logits of their shares."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=6)
    X = rng.normal(size=(n, 6)) + offset
    signs = np.where((X - offset) @ truth + rng.normal(size=n) > 0, 1.0, -1.0)
    means = rng.normal(size=(n // 5, 6)) / np.sqrt(5.0) + offset + 0.2
    logits = np.clip((means - offset) @ truth + 0.5 * rng.normal(size=n // 5), -2.2, 2.2)
    box = np.full(n // 5, costs[1])
    tube = 0.1 / (2.0 + np.exp(logits) + np.exp(-logits))
    return CoupledLinearProblem(
        source=hinge_units(X, signs, costs[0]) if with_source else None,
        target=LinearUnits(means, logits, tube, -box, box),
        coupling=coupling,
    )


def stacked(problem, name):
    parts = [part for part in (problem.source, problem.target) if part is not None]
    return np.concatenate([getattr(part, name) for part in parts])


def exact(problem):
    """Return the solution of the quadratic program, and its scores of all units."""
    X = stacked(problem, "features").astype(np.float64)
    program = CoupledProblem(
        gram=X @ X.T,
        n_source=0 if problem.source is None else problem.source.n_units,
        coupling=problem.coupling,
        **{n: stacked(problem, n) for n in ("targets", "half_widths", "lower", "upper")},
    )
    result = solve_sharply(program, tol=1e-7)
    weights = result.target_coefficients @ X
    return result, X @ weights + result.intercept_target


def scores(problem, result):
    return result.machines.target.scores(stacked(problem, "features"))


@pytest.fixture
def few_are_many(monkeypatch):
    """Make small problems take the way of large ones: a sample, and units that settle."""
    monkeypatch.setattr(coupled_linear, "_MANY_UNITS", 300)
    monkeypatch.setattr(unit_passes, "CHUNK_ROWS", 128)
    monkeypatch.setattr(unit_passes, "_MOST_HELD", 1000)


def test_no_unit_of_a_domain_near_a_border(few_are_many):
    """Shares take few values, and features that say nothing score all bags alike."""
    problem = make_problem(n=1000, costs=(0.01, 1.0))
    target = problem.target
    far = replace(
        target,
        features=np.zeros_like(target.features),
        targets=np.resize([-2.0, 2.0], target.n_units),
    )
    problem = replace(problem, target=far)
    result = solve_coupled_linear(problem, tol=1e-8)
    assert result.converged
    assert result.objective == pytest.approx(exact(problem)[0].objective, rel=1e-7)


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("costs", [(0.01, 0.04), (1.0, 4.0), (64.0, 64.0)])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_is_the_exact_machine(coupling, costs, offset):
    problem = make_problem(coupling=coupling, costs=costs, offset=offset)
    reference, decisions = exact(problem)
    result = solve_coupled_linear(problem)
    assert result.converged
    assert result.objective == pytest.approx(reference.objective, rel=1e-8)
    assert np.abs(scores(problem, result) - decisions).max() < 1e-3


def test_tolerance_bounds_the_distance_to_the_optimum():
    problem = make_problem(costs=(64.0, 64.0))
    best = exact(problem)[0].objective
    for tol in (1e-1, 1e-3, 1e-6, 1e-11):
        result = solve_coupled_linear(problem, tol=tol)
        assert result.converged
        assert -1e-12 * best <= result.objective - best <= result.dual_gap + 1e-12 * best
        assert result.dual_gap <= tol * result.objective


@pytest.mark.parametrize("coupling", [0.0, 1.0, np.inf])
def test_many_units_settle(few_are_many, coupling):
    problem = make_problem(n=3000, coupling=coupling, costs=(1.0, 4.0))
    reference, decisions = exact(problem)
    result = solve_coupled_linear(problem)
    assert result.converged
    assert result.objective == pytest.approx(reference.objective, rel=1e-8)
    assert np.abs(scores(problem, result) - decisions).max() < 1e-3


def test_units_that_cross_are_looked_at_again(few_are_many, monkeypatch):
    monkeypatch.setattr(coupled_linear, "_WIDTH", 0.02)
    problem = make_problem(n=3000)
    result = solve_coupled_linear(problem)
    assert result.converged
    assert result.objective == pytest.approx(exact(problem)[0].objective, rel=1e-8)


def test_threads_change_nothing(few_are_many):
    problem = make_problem(n=3000)
    one, two = (solve_coupled_linear(problem, n_threads=n) for n in (1, 2))
    assert np.array_equal(one.machines.target_weights, two.machines.target_weights)
    assert one.machines.target_intercept == two.machines.target_intercept
    assert one.objective == two.objective


def test_sparse_and_single_precision_rows():
    problem = make_problem()
    dense = solve_coupled_linear(problem)
    for make in (sparse.csr_array, sparse.csr_matrix):
        parts = {
            name: replace(part, features=make(part.features))
            for name, part in vars(problem).items()
            if name != "coupling"
        }
        result = solve_coupled_linear(replace(problem, **parts))
        np.testing.assert_allclose(
            result.machines.target_weights, dense.machines.target_weights, rtol=1e-6
        )
    single = replace(
        problem,
        source=replace(problem.source, features=problem.source.features.astype(np.float32)),
        target=replace(problem.target, features=problem.target.features.astype(np.float32)),
    )
    reference, decisions = exact(single)
    result = solve_coupled_linear(single)
    assert result.objective == pytest.approx(reference.objective, rel=1e-8)
    assert np.abs(scores(single, result) - decisions).max() < 1e-3


def test_without_a_source():
    problem = make_problem(with_source=False)
    reference, decisions = exact(problem)
    result = solve_coupled_linear(problem)
    assert result.objective == pytest.approx(reference.objective, rel=1e-8)
    assert np.abs(scores(problem, result) - decisions).max() < 1e-3


def test_labelled_rows_alone_are_a_support_vector_machine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    signs = np.where(X.sum(axis=1) + rng.normal(size=200) > 0, 1.0, -1.0)
    result = solve_coupled_linear(CoupledLinearProblem(None, hinge_units(X, signs, 0.5), 0.0))
    svm = SVC(kernel="linear", C=0.5, tol=1e-9).fit(X, signs)
    np.testing.assert_allclose(result.machines.target_weights, svm.coef_[0], atol=1e-5)
    assert result.machines.target_intercept == pytest.approx(svm.intercept_[0], abs=1e-5)


def test_exchanging_the_classes_turns_the_machines_round():
    problem = make_problem()
    turned = replace(
        problem,
        source=replace(
            problem.source,
            targets=-problem.source.targets,
            lower=-problem.source.upper,
            upper=-problem.source.lower,
        ),
        target=replace(problem.target, targets=-problem.target.targets),
    )
    there, back = (solve_coupled_linear(p).machines for p in (problem, turned))
    np.testing.assert_allclose(there.target_weights, -back.target_weights, atol=1e-7)
    np.testing.assert_allclose(there.source_weights, -back.source_weights, atol=1e-7)
    assert there.target_intercept == pytest.approx(-back.target_intercept, abs=1e-7)


def test_units_of_measurement_do_not_matter():
    problem = make_problem()
    factor = 1e3
    scaled = CoupledLinearProblem(
        source=replace(
            problem.source,
            features=factor * problem.source.features,
            lower=problem.source.lower / factor**2,
            upper=problem.source.upper / factor**2,
        ),
        target=replace(
            problem.target,
            features=factor * problem.target.features,
            lower=problem.target.lower / factor**2,
            upper=problem.target.upper / factor**2,
        ),
        coupling=0.0,
    )
    apart = solve_coupled_linear(replace(problem, coupling=0.0)).machines
    machines = solve_coupled_linear(scaled).machines
    np.testing.assert_allclose(factor * machines.target_weights, apart.target_weights, rtol=1e-4)


def test_a_weight_is_a_number_of_copies():
    problem = make_problem()
    once = solve_coupled_linear(problem)
    twice = solve_coupled_linear(
        replace(
            problem,
            source=replace(
                problem.source.take(np.repeat(np.arange(problem.source.n_units), 2)),
                lower=np.repeat(problem.source.lower, 2) / 2.0,
                upper=np.repeat(problem.source.upper, 2) / 2.0,
            ),
        )
    )
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)
    np.testing.assert_allclose(
        once.machines.target_weights, twice.machines.target_weights, atol=1e-5
    )


@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_open_intercepts_are_in_the_middle(coupling):
    """Two rows of each class, so cheap that all duals are at their bounds."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.5]])
    problem = CoupledLinearProblem(
        source=hinge_units(X, np.array([-1.0, -1.0, 1.0, 1.0]), 0.01),
        target=hinge_units(X, np.array([-1.0, -1.0, 1.0, 1.0]), 0.01),
        coupling=coupling,
    )
    reference, _ = exact(problem)
    result = solve_coupled_linear(problem)
    assert result.machines.target_intercept == pytest.approx(reference.intercept_target, abs=1e-5)
    assert result.machines.source_intercept == pytest.approx(reference.intercept_source, abs=1e-5)
    np.testing.assert_allclose(result.intercept_interval, reference.intercept_interval, atol=1e-5)
    assert result.intercept_interval[0] < result.intercept_interval[1]


def test_units_that_cost_nothing_play_no_part():
    problem = make_problem()
    free = np.arange(problem.target.n_units) < 20
    muted = replace(
        problem.target,
        lower=np.where(free, 0.0, problem.target.lower),
        upper=np.where(free, 0.0, problem.target.upper),
    )
    left_out = solve_coupled_linear(replace(problem, target=problem.target.take(~free)))
    result = solve_coupled_linear(replace(problem, target=muted))
    np.testing.assert_allclose(
        result.machines.target_weights, left_out.machines.target_weights, atol=1e-6
    )


def test_nothing_costs_anything():
    problem = make_problem(costs=(0.0, 0.0))
    result = solve_coupled_linear(problem)
    assert result.objective == 0.0
    assert result.converged
    assert not result.machines.target_weights.any()


def test_a_start_leads_to_the_same_end():
    problem = make_problem()
    cold = solve_coupled_linear(problem)
    start = Machines(np.ones(6), 1.0, -np.ones(6), -1.0)
    warm = solve_coupled_linear(problem, start=start)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    near = solve_coupled_linear(problem, start=cold.machines)
    assert near.n_iter < cold.n_iter


def test_a_limit_of_passes_is_kept_and_told():
    result = solve_coupled_linear(make_problem(), max_iter=3)
    assert not result.converged
    assert result.dual_gap > 1e-8 * result.objective


def test_derivatives_of_the_smoothed_losses():
    units = make_problem().target
    machine = LinearMachine(np.linspace(-0.5, 0.5, 6), 0.1)
    sums = units.sums(machine, 0.5)
    step = 1e-6
    for direction in np.eye(7):
        moved = [
            units.sums(
                LinearMachine(
                    machine.weights + sign * step * direction[:6],
                    machine.intercept + sign * step * direction[6],
                ),
                0.5,
            )
            for sign in (1, -1)
        ]
        bend = (moved[0].slope - moved[1].slope) / (2 * step)
        np.testing.assert_allclose(sums.curvature @ direction, bend, rtol=1e-4, atol=1e-4)
    line = LinearMachine(np.ones(6), -1.0)
    slopes = UnitPasses(units).line(machine, line, 0.5)(np.array([0.0, 0.3]))
    there = units.sums(LinearMachine(machine.weights + 0.3, machine.intercept - 0.3), 0.5)
    np.testing.assert_allclose(slopes, [v.slope @ np.r_[np.ones(6), -1.0] for v in (sums, there)])


def test_sums_do_not_depend_on_who_adds_them_up():
    values = np.random.default_rng(0).normal(size=(21, 3)) * 10.0 ** np.arange(21)[:, None]
    whole = add_up(iter(values), 21)
    blocks = [values[k : k + 4] for k in range(0, 21, 4)]
    parts = [add_up(iter(block), len(block)) for block in blocks]
    assert np.array_equal(whole, add_up(iter(parts), len(parts)))


def test_a_sample_stands_for_all():
    units = make_problem(n=3000).source
    passes = UnitPasses(units)
    sample = passes.sample(0.1)
    assert sample.n_units == pytest.approx(300, abs=2)
    assert sample.costs.sum() == pytest.approx(units.costs.sum())
    assert np.array_equal(sample.targets, passes.sample(0.1).targets)


@pytest.mark.parametrize(("n_cheap", "lead"), [(0, 1), (1, 1), (20, 1), (20, 5), (200, 5)])
def test_intercept_is_found_whatever_the_scale_of_features(n_cheap, lead):
    """Bags at two ends, a few more at one of them, and cheap ones between: the weighted median."""
    ends = np.repeat([6.9, -6.9], [1000 + lead, 1000])
    targets = np.r_[ends, np.linspace(-6.9, 6.9, n_cheap + 2)[1:-1]]
    costs = np.r_[np.ones(len(ends)), np.full(n_cheap, 0.01)]
    X = 1e-9 * np.random.default_rng(0).normal(size=(len(targets), 1))
    units = LinearUnits(X, targets, np.zeros(len(targets)), -costs, costs)
    result = solve_coupled_linear(CoupledLinearProblem(None, units, 0.0), tol=1e-6)
    best = min((costs * np.abs(targets - level)).sum() for level in np.unique(targets))
    assert result.converged
    assert result.objective == pytest.approx(best, rel=1e-6)
