# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method by passes: the machines of truncated Newton, in few passes over the rows."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from bagshift.solvers import _passes_newton, coupled_logistic
from bagshift.solvers._coordinates import Machines, typical_row_length
from bagshift.solvers._secants import CurvedPoint, corrected
from bagshift.solvers._trust_region import minimise
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.coupled_logistic import (
    CoupledLogisticProblem,
    _coordinates,
    _Objective,
    solve_coupled_logistic,
    solve_coupled_logistic_passes,
)
from solvers.logistic_problems import (
    COUPLINGS,
    SIZES,
    as_sparse,
    make_problem,
    same_machines,
    vector,
    with_law,
)

KINDS = ("exact", "noisy", "labelled", "pure bags")


@pytest.fixture
def few_are_many(monkeypatch):
    """Make small problems take the way of large ones."""
    monkeypatch.setattr(coupled_logistic, "_MANY_ROWS", 0)


@pytest.fixture
def samples_lead(few_are_many, monkeypatch):
    """Make small problems begin with a sample."""
    monkeypatch.setattr(_passes_newton, "_LEAST_ROWS", 600)


def make_kind(kind, **settings):
    problem = make_problem(labelled=kind == "labelled", **settings)
    if kind == "noisy":
        return with_law(problem, -np.arange(10) / 2.0)
    if kind == "pure bags":
        counts = np.where(np.arange(len(SIZES)) % 2, SIZES, 0)
        return replace(problem, counts=BagCounts.exact(counts, SIZES))
    return problem


def make_many(n=3000, *, size=6, seed=0, with_source=True):
    """As many source rows as target rows, in bags of one size."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=4)
    X_source, X = rng.normal(size=(n, 4)), rng.normal(size=(n, 4)) + 0.2
    signs = np.where(rng.random(n) < expit(X_source @ truth - 0.5), 1.0, -1.0)
    labels = rng.random(n) < expit(X @ (truth + 0.5) - 1.0)
    n_source = n if with_source else 0
    return CoupledLogisticProblem(
        source_features=X_source if with_source else None,
        source_signs=signs[:n_source],
        source_costs=np.ones(n_source),
        target_features=X,
        counts=BagCounts.exact(labels.reshape(-1, size).sum(axis=1), np.full(n // size, size)),
        bag_costs=np.ones(n // size),
        coupling=1.0,
    )


def passes_of(problem, **settings):
    source = LabelledRows(problem.source_features, problem.source_signs, problem.source_costs)
    target = CountedRows(problem.target_features, problem.counts, problem.bag_costs)
    return (
        RowPasses(source, **settings) if problem.n_source else None,
        RowPasses(target, **settings),
    )


def same_bits(one, two):
    np.testing.assert_array_equal(vector(one.machines), vector(two.machines))
    assert (one.objective, one.n_iter, one.n_passes) == (two.objective, two.n_iter, two.n_passes)


# Solutions --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_machines_are_those_of_truncated_newton(coupling, with_source, kind, few_are_many):
    problem = make_kind(kind, coupling=coupling, with_source=with_source)
    found = solve_coupled_logistic(problem, tol=1e-11)
    assert found.converged
    assert found.n_passes >= found.n_iter > 0
    coordinates = _coordinates(problem)
    start = coordinates.encode(found.machines) + 1e-3
    expected = minimise(_Objective(problem, coordinates), start, tol=1e-11, max_iter=100)
    assert expected.converged
    np.testing.assert_allclose(
        vector(found.machines), vector(coordinates.decode(expected.point.v)), atol=1e-8
    )
    assert found.objective == pytest.approx(expected.point.value, rel=1e-12)


def test_few_rows_take_the_way_they_always_took(monkeypatch):
    def search(*_, **__):
        raise AssertionError("Few rows were gone through by passes.")

    monkeypatch.setattr(coupled_logistic, "search", search)
    problem = make_problem()
    found = solve_coupled_logistic(problem)
    row_length = typical_row_length([problem.source_features, problem.target_features])
    coordinates = _coordinates(problem, row_length)
    in_units = coupled_logistic._in_units(problem, row_length)
    end = minimise(
        _Objective(in_units, coordinates), np.zeros(coordinates.size), tol=1e-6, max_iter=500
    )
    np.testing.assert_array_equal(vector(found.machines), vector(coordinates.decode(end.point.v)))
    assert (found.n_iter, found.n_passes) == (end.n_iter, 0)


@pytest.mark.parametrize("as_other", [as_sparse, lambda p: p], ids=["sparse", "wide"])
def test_sparse_or_wide_rows_are_not_gone_through_by_passes(as_other, few_are_many, monkeypatch):
    monkeypatch.setattr(coupled_logistic, "_MOST_FEATURES", 3 if as_other is as_sparse else 2)
    found = solve_coupled_logistic(as_other(make_problem()))
    assert found.converged
    assert found.n_passes == 0


@pytest.mark.parametrize(
    ("n_rows", "n_features", "dtype", "expected"),
    [
        (50_000, 50, np.float64, False),
        (50_001, 50, np.float64, True),
        (60_000, 400, np.float64, False),
        (400_001, 400, np.float64, True),
        # Products with all of them would copy them.
        (60_000, 400, np.float32, True),
        (10**7, 2001, np.float32, False),
    ],
)
def test_number_and_kind_of_rows_choose_the_way(n_rows, n_features, dtype, expected):
    rows = np.broadcast_to(np.zeros((), dtype), (n_rows, n_features))
    problem = SimpleNamespace(source_features=None, target_features=rows, n_features=n_features)
    assert coupled_logistic._has_many_rows(problem) == expected


def test_limit_on_steps_is_told(few_are_many):
    short = solve_coupled_logistic(make_problem(), max_iter=1)
    assert not short.converged
    assert (short.n_iter, short.n_passes) == (1, 2)


def test_rounding_is_no_failure(few_are_many):
    problem = make_problem(labelled=True, with_source=False)
    far = replace(problem, target_features=1e4 * problem.target_features + 3e4)
    assert solve_coupled_logistic(far, tol=1e-14).converged


# Samples ----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("size", [1, 6])
def test_a_sample_leads_to_the_same_machines_in_fewer_passes(
    size, with_source, few_are_many, monkeypatch
):
    problem = make_many(size=size, with_source=with_source)
    plain = solve_coupled_logistic(problem, tol=1e-10)
    monkeypatch.setattr(_passes_newton, "_LEAST_ROWS", 600)
    led = solve_coupled_logistic(problem, tol=1e-10)
    assert led.converged
    assert led.n_passes < plain.n_passes
    same_machines(plain, led, 1e-8)


def test_a_start_at_the_end_is_kept(samples_lead):
    problem = make_many()
    found = solve_coupled_logistic(problem, tol=1e-8)
    again = solve_coupled_logistic(problem, tol=1e-6, start=found.machines)
    assert (again.n_iter, again.n_passes) == (0, 1)
    same_machines(found, again, 1e-12)


def test_a_start_on_the_other_side_stays_there(samples_lead):
    problem = make_many(with_source=False, size=2)
    halves = replace(problem, counts=BagCounts.exact(np.ones(1500, int), np.full(1500, 2)))
    start = Machines.both(np.array([1.0, 0.0, 0.0, 0.0]), 0.0)
    one, other = (solve_coupled_logistic(halves, start=s) for s in (start, start.mirrored()))
    np.testing.assert_allclose(vector(one.machines), -vector(other.machines), atol=1e-6)
    assert np.linalg.norm(one.machines.target_weights) > 0.05


def test_few_large_bags_are_not_sampled(samples_lead):
    problem = make_many(size=300)
    part, leads = _passes_newton._part(*passes_of(problem))
    assert not leads
    # Enough to tell how long a row is.
    assert part == pytest.approx(5000 / 6000)
    assert solve_coupled_logistic(problem).converged


@pytest.mark.parametrize(
    ("n_source", "n_target", "size", "part"),
    [
        (10**6, 10**6, 10, 0.05),
        (10**8, 10**8, 10, 0.001),
        (10**5, 10**5, 10, 0.25),
        # Twenty bags for each unknown.
        (10**6, 10**6, 1000, 20 * 5 / 1000),
    ],
)
def test_size_of_a_sample(n_source, n_target, size, part):
    class Numbers:
        def __init__(self, n_rows, size):
            self.n_rows, self.n_units, self.n_features = n_rows, n_rows // size, 4

    found = _passes_newton._part(Numbers(n_source, 1), Numbers(n_target, size))
    assert found == (pytest.approx(part), True)


# Who computes -----------------------------------------------------------------------------


def test_number_of_threads_changes_no_bit(samples_lead):
    problem = make_many()
    alone = solve_coupled_logistic(problem)
    threaded = solve_coupled_logistic(replace(problem, n_threads=3))
    with ThreadPoolExecutor(2) as executor:
        given = solve_coupled_logistic(problem, executor=executor)
    same_bits(alone, threaded)
    same_bits(alone, given)


def test_size_of_chunks_changes_nothing_but_rounding():
    problem = make_many()
    results = [
        solve_coupled_logistic_passes(*passes_of(problem, chunk_rows=n), 1.0, tol=1e-9)
        for n in (300, 1000, 8192)
    ]
    for result in results[1:]:
        same_machines(results[0], result, 1e-10)


def test_a_known_length_of_rows_saves_drawing_them():
    problem = make_many()
    source, target = passes_of(problem)
    row_length = typical_row_length([problem.source_features, problem.target_features])
    plain = solve_coupled_logistic_passes(source, target, 1.0, tol=1e-9)
    # Neither can be drawn from.
    one, two = (
        SimpleNamespace(
            n_rows=p.n_rows,
            n_units=p.n_units,
            n_features=p.n_features,
            waits=False,
            sums=p.sums,
        )
        for p in (source, target)
    )
    found = solve_coupled_logistic_passes(one, two, 1.0, tol=1e-9, row_length=row_length)
    same_machines(plain, found, 1e-8)


class Partitions:
    """Passes of an engine that keeps the rows in two places and has to be waited for."""

    waits = True

    def __init__(self, rows, chunk_rows, n_chunks):
        cut = rows.borders(chunk_rows)[n_chunks]
        parts = rows.between(0, cut), rows.between(cut, rows.n_units)
        self.n_rows, self.n_units, self.n_features = rows.n_rows, rows.n_units, rows.n_features
        self._parts = [RowPasses(part, chunk_rows=chunk_rows) for part in parts]
        self._whole = RowPasses(rows, chunk_rows=chunk_rows)

    def sums(self, machine):
        first, second = (part.sums(machine) for part in self._parts)
        return first + second

    def sample(self, part):
        return self._whole.sample(part)


def test_an_engine_hands_in_its_own_passes():
    problem = make_many()
    source, target = passes_of(problem, chunk_rows=200)
    alone = solve_coupled_logistic_passes(source, target, 1.0)
    apart = (Partitions(passes.rows, 200, 8) for passes in (source, target))
    same_bits(alone, solve_coupled_logistic_passes(*apart, 1.0))


def test_single_precision_in_a_file_is_solved_like_its_values_in_memory(samples_lead, tmp_path):
    problem = make_many()
    parts = {}
    for name in ("source_features", "target_features"):
        rows = getattr(problem, name)
        mapped = np.memmap(tmp_path / name, np.float32, "w+", shape=rows.shape)
        mapped[:] = rows
        parts[name] = mapped
    doubles = {name: np.array(rows, dtype=np.float64) for name, rows in parts.items()}
    in_file = solve_coupled_logistic(replace(problem, **parts))
    same_machines(in_file, solve_coupled_logistic(replace(problem, **doubles)), 1e-9)


# Steps ------------------------------------------------------------------------------------


class Quadratic:
    """A quadratic objective, whose places are counted."""

    def __init__(self, curvature, optimum):
        self.curvature, self.optimum, self.n_places = curvature, optimum, 0

    def at(self, v):
        self.n_places += 1
        gradient = self.curvature @ (v - self.optimum)
        return CurvedPoint(v, 0.5 * float((v - self.optimum) @ gradient), gradient, self.curvature)

    def hessian_product(self, point, direction):
        return self.curvature @ direction


def test_a_known_newton_step_is_taken_when_it_is_in_the_ball():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    objective = Quadratic(root @ root.T + np.eye(6), 0.3 * np.ones(6))
    end = minimise(
        objective,
        np.zeros(6),
        tol=1e-10,
        max_iter=50,
        newton_step=lambda point: -np.linalg.solve(point.curvature, point.gradient),
    )
    assert end.converged
    assert (end.n_iter, objective.n_places) == (1, 2)
    np.testing.assert_allclose(end.point.v, 0.3, rtol=1e-10)


def test_without_a_newton_step_conjugate_gradients_go_on():
    objective = Quadratic(np.diag([1.0, 4.0, 9.0]), np.ones(3))
    end = minimise(objective, np.zeros(3), tol=1e-8, max_iter=50, newton_step=lambda _: None)
    assert end.converged
    np.testing.assert_allclose(end.point.v, 1.0, rtol=1e-7)


def two_points(missing, *, size=5):
    """Two places of a quadratic objective, whose stand-in lacks a part of the Hessian."""
    curvature = np.diag(np.arange(1.0, size + 1.0))
    hessian = curvature + missing
    places = np.ones(size), np.ones(size) + 0.1 * np.sin(np.arange(size))
    return [CurvedPoint(v, 0.5 * v @ hessian @ v, hessian @ v, curvature) for v in places]


def test_a_step_tells_what_is_missing_along_it():
    missing = 0.1 * np.ones((5, 5))
    origin, point = two_points(missing)
    found = corrected(np.zeros((5, 5)), origin, point)
    step = point.v - origin.v
    np.testing.assert_allclose(found @ step, missing @ step, atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-15)
    # What is missing has rank one here, so one step tells all.
    np.testing.assert_allclose(found, missing, atol=1e-12)


def test_nothing_is_missing_where_the_curvature_is_exact():
    origin, point = two_points(np.zeros((5, 5)))
    assert np.abs(corrected(np.zeros((5, 5)), origin, point)).max() < 1e-12


def test_what_is_larger_than_the_curvature_is_forgotten():
    origin, point = two_points(-3.0 * np.eye(5))
    np.testing.assert_array_equal(corrected(np.zeros((5, 5)), origin, point), 0.0)
    here = two_points(np.zeros((5, 5)))[0]
    np.testing.assert_array_equal(corrected(2.0 * np.eye(5), here, here), 0.0)
    kept = 0.1 * np.eye(5)
    np.testing.assert_array_equal(corrected(kept, here, here), kept)


def test_what_is_missing_is_learned_on_the_way(few_are_many, monkeypatch):
    problem = make_many(size=30)
    with_secants = solve_coupled_logistic(problem, tol=1e-9)
    monkeypatch.setattr(_passes_newton, "corrected", lambda missing, *_: missing)
    without = solve_coupled_logistic(problem, tol=1e-9)
    same_machines(with_secants, without, 1e-7)
    assert with_secants.n_passes < 0.7 * without.n_passes
