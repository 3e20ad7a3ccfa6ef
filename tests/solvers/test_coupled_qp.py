# SPDX-License-Identifier: BSD-3-Clause
"""The solver's own promises: gap, constraint, starts, precision, odd problems, interruption."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest

from bagshift.solvers import CoupledProblem, solve_coupled
from bagshift.solvers.reference import solve_reference

COUPLINGS = (0.0, 2.0**-6, 1.0, 2.0**11, np.inf)


def rank_deficient_problem(rng):
    """Dimension 3, repeated rows, identical bags, random tubes and boxes, any coupling."""
    n, d = rng.integers(4, 31), rng.integers(2, 10)
    features = rng.normal(size=(n + d, 3)) * rng.choice([0.01, 1.0, 3.0])
    features[1 : n // 2] = features[0]
    features[n + 1] = features[n]
    labels = rng.choice([-1.0, 1.0], size=n)
    c_source, c_target = 2.0 ** rng.uniform(-8, 10, size=2)
    weight = rng.choice([0.5, 1.0, 3.0], size=d)
    return CoupledProblem(
        gram=features @ features.T,
        n_source=int(n),
        targets=np.concatenate([labels, rng.normal(scale=3.0, size=d)]),
        half_widths=np.concatenate([np.zeros(n), rng.choice([0.0, 1e-4, 0.1, 2.0], size=d)]),
        lower=np.concatenate([np.where(labels > 0, 0.0, -c_source), -c_target * weight]),
        upper=np.concatenate([np.where(labels > 0, c_source, 0.0), c_target * weight]),
        coupling=float(rng.choice([2.0**-6, 0.3, 1.0, 2.0**11, np.inf, 0.0])),
    )


def check_certificate(problem, result, tol):
    n = problem.n_source
    size = max(problem.upper.max(), -problem.lower.min())
    assert result.converged
    assert result.kkt_gap < tol
    assert 0 <= result.dual_gap <= result.gap_bound
    difference = result.objective - result.dual_objective
    assert result.dual_gap == pytest.approx(difference, abs=1e-12 * (1 + result.objective))
    assert (problem.lower <= result.dual).all()
    assert (result.dual <= problem.upper).all()
    parts = [result.dual[:n], result.dual[n:]] if problem.coupling == 0 else [result.dual]
    for part in parts:
        assert abs(part.sum()) <= 1e-14 * size * len(part)


def test_500_rank_deficient_problems_keep_gap_and_constraint():
    rng = np.random.default_rng(0)
    used, drift = [], []
    for _ in range(500):
        problem = rank_deficient_problem(rng)
        tol = float(rng.choice([1e-3, 1e-5]))
        result = solve_coupled(problem, tol=tol)
        check_certificate(problem, result, tol)
        used.append(result.dual_gap / result.gap_bound)
        drift.append(abs(result.dual.sum()) / problem.upper.max())
    print(f"largest gap {max(used):.2f} of its bound, largest |sum z| / C {max(drift):.1e}")


def test_million_iterations_do_not_drift(make_task):
    """The bags contradict each other, so that large steps cancel over and over."""
    task = make_task(5, n_source=60, n_bags=20)
    problem = task.problem(2.0**-6, 2.0**14, 2.0**14)
    result = solve_coupled(problem, tol=1e-12, max_iter=1_000_000, newton=False)
    assert result.n_iter > 50_000
    assert abs(result.dual.sum()) < 1e-14 * 2.0**14 * len(result.dual)
    assert result.dual_gap < 1e-8 * result.objective


@pytest.mark.parametrize("seed", range(6))
def test_a_rounded_matrix_of_low_rank_does_not_take_long(seed):
    """In single precision it has negative eigenvalues, for which SMO alone zigzags."""
    rng = np.random.default_rng(seed)
    rows = 50 * rng.normal(size=(63, 2))
    labels = rng.choice([-1.0, 1.0], size=63)
    problem = CoupledProblem(
        gram=(rows @ rows.T).astype(np.float32),
        n_source=0,
        targets=labels,
        half_widths=np.zeros(63),
        lower=np.where(labels > 0, 0.0, -10.0),
        upper=np.where(labels > 0, 10.0, 0.0),
        coupling=0.0,
    )
    result = solve_coupled(problem, max_iter=20_000)
    assert result.converged


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("seed", range(3))
def test_equals_plain_numpy_twin(make_task, coupling, seed):
    problem = make_task(seed).problem(coupling, 2.0, 4.0, tube=1.0)
    result = solve_coupled(problem, tol=1e-7)
    twin = solve_reference(problem, tol=1e-7)
    np.testing.assert_allclose(problem.gram @ result.dual, problem.gram @ twin, atol=1e-4)
    n = problem.n_source
    assert result.dual[:n].sum() == pytest.approx(twin[:n].sum(), abs=1e-5)
    # At most the last bits of the twin's variables are left to move.
    assert solve_coupled(problem, tol=1e-6, start=twin).n_iter <= 2


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_float32_gram_gives_the_same_machines(make_task, coupling):
    task = make_task(0)
    double = solve_coupled(task.problem(coupling, 1.0, 2.0), tol=1e-8)
    single = solve_coupled(task.problem(coupling, 1.0, 2.0, dtype=np.float32), tol=1e-8)
    assert single.converged
    assert single.objective == pytest.approx(double.objective, rel=1e-5)
    for name in ("target_coefficients", "source_coefficients"):
        np.testing.assert_allclose(
            task.features.T @ getattr(single, name),
            task.features.T @ getattr(double, name),
            atol=1e-4,
        )


def test_square_cut_out_of_a_larger_gram_is_read_in_place(make_task):
    problem = make_task(0).problem(1.0, 1.0, 1.0)
    m = len(problem.targets)
    larger = np.full((m + 5, m + 5), np.nan)
    larger[2 : m + 2, 3 : m + 3] = problem.gram
    cut = replace(problem, gram=larger[2 : m + 2, 3 : m + 3])
    np.testing.assert_array_equal(solve_coupled(cut).dual, solve_coupled(problem).dual)


def test_read_only_arrays_are_accepted(make_task):
    problem = make_task(0).problem(1.0, 1.0, 1.0)
    for name in ("gram", "targets", "half_widths", "lower", "upper"):
        getattr(problem, name).flags.writeable = False
    assert solve_coupled(replace(problem)).converged


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_warm_start_reaches_the_same_objective(make_task, coupling, scale):
    task = make_task(1)
    cold = solve_coupled(task.problem(coupling, 1.0, 2.0), tol=1e-7)
    neighbour = solve_coupled(task.problem(coupling, scale, 2.0 * scale), tol=1e-7)
    warm = solve_coupled(task.problem(coupling, 1.0, 2.0), tol=1e-7, start=neighbour.dual)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    if scale == 1.0:
        assert warm.n_iter == 0


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_start_outside_box_and_constraint_is_repaired(make_task, coupling):
    problem = make_task(1).problem(coupling, 1.0, 2.0)
    cold = solve_coupled(problem, tol=1e-7)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e6):
        start = rng.normal(loc=0.3, scale=scale, size=len(problem.targets))
        at_once = solve_coupled(problem, start=start, max_iter=0)
        assert abs(at_once.dual.sum()) < 1e-13
        assert (at_once.dual >= problem.lower).all()
        assert (at_once.dual <= problem.upper).all()
        warm = solve_coupled(problem, tol=1e-7, start=start)
        check_certificate(problem, warm, 1e-7)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


def test_start_is_not_changed(make_task):
    problem = make_task(1).problem(1.0, 1.0, 2.0)
    start = np.ones(len(problem.targets))
    solve_coupled(problem, start=start)
    np.testing.assert_array_equal(start, 1.0)


def test_iteration_limit_is_reported_with_a_true_gap(make_task):
    problem = make_task(0).problem(1.0, 32.0, 32.0)
    best = solve_coupled(problem, tol=1e-9)
    early = solve_coupled(problem, tol=1e-9, max_iter=20)
    assert (early.status, early.converged, early.n_iter) == ("max_iter", False, 20)
    assert early.kkt_gap > 1e-9
    assert early.dual_objective < best.objective < early.objective
    assert early.dual_gap == pytest.approx(early.objective - early.dual_objective)


def test_tolerance_below_precision_ends_as_stalled(make_task):
    problem = make_task(0).problem(1.0, 1.0, 1.0)
    result = solve_coupled(problem, tol=1e-300)
    assert result.status == "stalled"
    assert result.dual_gap < 1e-12


def test_units_without_weight_change_nothing(make_task):
    """C = 0 for some units equals leaving them out."""
    task = make_task(0)
    problem = task.problem(1.0, 1.0, 1.0)
    keep = np.arange(len(problem.targets)) % 3 != 1
    emptied = replace(problem, lower=problem.lower * keep, upper=problem.upper * keep)
    left_out = CoupledProblem(
        gram=np.ascontiguousarray(problem.gram[np.ix_(keep, keep)]),
        n_source=int(keep[: problem.n_source].sum()),
        targets=problem.targets[keep],
        half_widths=problem.half_widths[keep],
        lower=problem.lower[keep],
        upper=problem.upper[keep],
        coupling=problem.coupling,
    )
    first, second = solve_coupled(emptied, tol=1e-9), solve_coupled(left_out, tol=1e-9)
    assert first.objective == pytest.approx(second.objective, rel=1e-9)
    assert first.intercept_target == pytest.approx(second.intercept_target, abs=1e-6)
    assert not first.dual[~keep].any()


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_nothing_to_fit_gives_zero_and_any_intercept(make_task, coupling):
    problem = make_task(0).problem(coupling, 0.0, 0.0)
    result = solve_coupled(problem)
    assert result.converged
    assert not result.dual.any()
    assert result.intercept_target == result.intercept_source == 0.0
    assert result.intercept_interval == (-np.inf, np.inf)
    assert result.objective == 0.0


@pytest.mark.parametrize(("label", "interval"), [(1.0, (1.0, np.inf)), (-1.0, (-np.inf, -1.0))])
def test_single_class_is_a_constant_on_its_side(one_machine, label, interval):
    problem = one_machine(np.eye(3), np.full(3, label), c=1.0, labelled=True)
    result = solve_coupled(problem)
    assert result.converged
    assert not result.dual.any()
    assert result.intercept_target == label
    assert result.intercept_interval == interval
    assert result.objective == 0.0


def test_single_bag_is_met_by_the_intercept_alone(one_machine):
    problem = one_machine(np.array([[2.0]]), np.array([3.0]), c=1.0, half_widths=np.array([0.5]))
    result = solve_coupled(problem)
    assert result.dual[0] == 0.0
    assert result.intercept_interval == (2.5, 3.5)
    assert result.intercept_target == 3.0


def test_two_opposite_rows_have_the_textbook_solution(one_machine):
    for c, expected in ((10.0, 0.5), (0.25, 0.25)):
        gram = np.array([[1.0, -1.0], [-1.0, 1.0]])
        problem = one_machine(gram, np.array([1.0, -1.0]), c=c, labelled=True)
        result = solve_coupled(problem)
        np.testing.assert_allclose(result.dual, [expected, -expected], atol=1e-12)
        assert result.intercept_target == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_one_source_row_and_one_bag(coupling):
    problem = CoupledProblem(
        gram=np.array([[1.0, 0.5], [0.5, 1.0]]),
        n_source=1,
        targets=np.array([1.0, -2.0]),
        half_widths=np.array([0.0, 0.1]),
        lower=np.array([0.0, -1.0]),
        upper=np.array([1.0, 1.0]),
        coupling=coupling,
    )
    check_certificate(problem, solve_coupled(problem, tol=1e-9), 1e-9)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_one_domain_ignores_coupling(make_task, coupling):
    problem = make_task(0).problem(coupling, 1.0, 1.0)
    m = len(problem.targets)
    as_target = solve_coupled(replace(problem, n_source=0))
    as_source = solve_coupled(replace(problem, n_source=m))
    np.testing.assert_array_equal(as_target.dual, as_source.dual)
    np.testing.assert_array_equal(as_target.target_coefficients, as_target.dual)
    np.testing.assert_array_equal(as_source.source_coefficients, as_source.dual)
    assert as_target.intercept_target == as_source.intercept_source
    assert as_target.intercept_source == as_target.intercept_target


def test_intercept_interval_holds_every_optimal_intercept(make_task):
    """No free variable: both ends of the interval give the same objective, beyond it is worse."""
    problem = make_task(1).problem(1.0, 2.0**-8, 2.0**-8)
    result = solve_coupled(problem, tol=1e-9)
    low, high = result.intercept_interval
    assert high - low > 1e-3
    assert result.intercept_target == pytest.approx((low + high) / 2)

    score = np.where(
        np.arange(len(problem.targets)) < problem.n_source,
        problem.gram @ result.source_coefficients,
        problem.gram @ result.target_coefficients,
    )
    shift = result.intercept_source - result.intercept_target

    def loss(intercept):
        own = np.where(np.arange(len(score)) < problem.n_source, intercept + shift, intercept)
        residual = problem.targets - score - own
        above = problem.upper * (residual - problem.half_widths)
        below = problem.lower * (residual + problem.half_widths)
        return np.maximum.reduce([above, below, np.zeros_like(score)]).sum()

    assert loss(low) == pytest.approx(loss(high), rel=1e-9)
    assert loss(low - 0.1) > loss(low) * (1 + 1e-9)
    assert loss(high + 0.1) > loss(high) * (1 + 1e-9)


def test_order_of_units_does_not_matter(make_task):
    problem = make_task(2).problem(1.0, 2.0, 2.0)
    rng = np.random.default_rng(0)
    n, m = problem.n_source, len(problem.targets)
    order = np.concatenate([rng.permutation(n), n + rng.permutation(m - n)])
    shuffled = CoupledProblem(
        gram=np.ascontiguousarray(problem.gram[np.ix_(order, order)]),
        n_source=n,
        targets=problem.targets[order],
        half_widths=problem.half_widths[order],
        lower=problem.lower[order],
        upper=problem.upper[order],
        coupling=problem.coupling,
    )
    first, second = solve_coupled(problem, tol=1e-9), solve_coupled(shuffled, tol=1e-9)
    assert second.objective == pytest.approx(first.objective, rel=1e-10)
    assert second.intercept_target == pytest.approx(first.intercept_target, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"gram": np.eye(3)}, ValueError, r"targets must have shape \(3,\)"),
        ({"gram": np.eye(2, dtype=int)}, TypeError, "float64 or float32"),
        ({"gram": [[1.0]]}, TypeError, "float64 or float32"),
        ({"gram": np.ones((2, 3))}, ValueError, r"square.*\(2, 3\)"),
        ({"gram": np.empty((0, 0))}, ValueError, "at least one unit"),
        ({"gram": np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])}, ValueError, "C order"),
        ({"gram": np.array([[1.0, np.nan], [np.nan, 1.0]])}, ValueError, "gram.*not finite"),
        ({"targets": [1.0, np.inf]}, ValueError, "targets.*not finite"),
        ({"half_widths": [0.0, -0.1]}, ValueError, "half_widths must not be negative"),
        ({"lower": [0.5, -1.0]}, ValueError, "must contain 0"),
        ({"upper": [1.0, -0.5]}, ValueError, "must contain 0"),
        ({"n_source": 3}, ValueError, "n_source must be from 0 to 2"),
        ({"coupling": -1.0}, ValueError, "coupling must be"),
        ({"coupling": np.nan}, ValueError, "coupling must be"),
    ],
)
def test_unusable_problem_is_refused_in_one_sentence(change, error, message):
    usable = {
        "gram": np.eye(2),
        "n_source": 1,
        "targets": [1.0, 0.5],
        "half_widths": [0.0, 0.1],
        "lower": [0.0, -1.0],
        "upper": [1.0, 1.0],
        "coupling": 1.0,
    }
    CoupledProblem(**usable)
    with pytest.raises(error, match=message):
        CoupledProblem(**(usable | change))


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf])
def test_unusable_tolerance_is_refused(make_task, tol):
    with pytest.raises(ValueError, match="tol must be a positive number"):
        solve_coupled(make_task(0).problem(1.0, 1.0, 1.0), tol=tol)


@pytest.mark.parametrize("start", [np.zeros(3), np.full(30, np.nan)])
def test_unusable_start_is_refused(make_task, start):
    with pytest.raises(ValueError, match="start"):
        solve_coupled(make_task(0).problem(1.0, 1.0, 1.0), start=start)


LONG_SOLVE = """
import numpy as np
from bagshift.solvers import CoupledProblem, solve_coupled

rng = np.random.default_rng(0)
m = 800
rows = rng.normal(size=(m, 3))
labels = rng.choice([-1.0, 1.0], size=m)
problem = CoupledProblem(
    gram=rows @ rows.T,
    n_source=m // 2,
    targets=labels,
    half_widths=np.zeros(m),
    lower=np.where(labels > 0, 0.0, -1e9),
    upper=np.where(labels > 0, 1e9, 0.0),
    coupling=1e-3,
)
print("started", flush=True)
try:
    solve_coupled(problem, tol=1e-9, max_iter=10**12)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_ends_a_long_solve():
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(LONG_SOLVE)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline().strip() == "started"
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        # The solve would take days; a busy machine and sanitizers may take long to leave Python.
        output, _ = process.communicate(timeout=60)
        assert output.strip() == "interrupted"
    finally:
        process.kill()
        process.wait()


def test_last_bits_off_a_bound_do_not_pin_the_intercept():
    """Three costs that sum only up to rounding leave one variable an ulp inside its box."""
    signs = np.array([1.0, 1.0, -1.0])
    costs = 1e-3 * np.array([0.1, 0.2, 0.3])
    rows = np.array([[0.01], [-0.02], [0.01]])
    problem = CoupledProblem(
        gram=rows @ rows.T,
        n_source=0,
        targets=signs,
        half_widths=np.zeros(3),
        lower=np.where(signs > 0, 0.0, -costs),
        upper=np.where(signs > 0, costs, 0.0),
        coupling=0.0,
    )
    result = solve_coupled(problem)
    low, high = result.intercept_interval
    assert high - low > 1.9
    assert abs(result.intercept_target) < 0.05
