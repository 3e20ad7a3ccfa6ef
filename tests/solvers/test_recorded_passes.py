# SPDX-License-Identifier: BSD-3-Clause
"""A search that was killed ends where one that was not does, to the last digit."""

import numpy as np
import pytest

from bagshift.solvers import coupled_linear, unit_passes
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.coupled_linear import solve_coupled_linear_passes
from bagshift.solvers.coupled_logistic import solve_coupled_logistic_passes
from bagshift.solvers.recorded_passes import PassLog, recorded_linear_passes, recorded_passes
from bagshift.solvers.unit_passes import UnitPasses
from solvers.logistic_problems import make_problem as logistic_problem
from solvers.test_count_passes import rows_of
from solvers.test_coupled_linear import make_problem


class Killed(Exception):
    pass


class DyingLog(PassLog):
    """Dies in a pass after some that succeeded; counts those that it made."""

    n_made = 0
    n_lives = np.inf

    def answer(self, question, compute):
        def counted():
            self.n_made += 1
            if self.n_made > self.n_lives:
                raise Killed
            return compute()

        return super().answer(question, counted)


def logs(folder, n_lives=np.inf):
    found = []
    for name in ("source", "target"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        log = DyingLog(folder / name)
        log.n_lives = n_lives
        found.append(log)
    return found


def linear(problem, folder, n_lives=np.inf):
    of_source, of_target = logs(folder, n_lives)
    source = recorded_linear_passes(UnitPasses(problem.source), of_source)
    target = recorded_linear_passes(UnitPasses(problem.target), of_target)
    solve = lambda: solve_coupled_linear_passes(source, target, problem.coupling)  # noqa: E731
    return solve, (of_source, of_target)


def logistic(problem, folder, n_lives=np.inf):
    of_source, of_target = logs(folder, n_lives)
    source, target = map(RowPasses, rows_of(problem))
    recorded = recorded_passes(source, of_source), recorded_passes(target, of_target)
    return (lambda: solve_coupled_logistic_passes(*recorded, 1.0)), (of_source, of_target)


PROBLEMS = {
    "linear": (linear, lambda: make_problem(n=4000, offset=0.3)),
    "logistic": (logistic, lambda: logistic_problem(sizes=np.tile([1, 3, 8, 20], 25))),
}


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(coupled_linear, "_MANY_UNITS", 1000)
    monkeypatch.setattr(unit_passes, "_MOST_HELD", 1000)
    monkeypatch.setattr(unit_passes, "CHUNK_ROWS", 64)


def same(one, two):
    assert one.objective == two.objective
    for name in ("source_weights", "target_weights", "source_intercept", "target_intercept"):
        assert np.array_equal(getattr(one.machines, name), getattr(two.machines, name))


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("kind", PROBLEMS)
def test_killed_and_begun_again_is_the_same_to_the_last_digit(kind, tmp_path):
    solver, make = PROBLEMS[kind]
    problem = make()
    whole, made = solver(problem, tmp_path / "whole")
    expected = whole()
    n_passes = [log.n_made for log in made]
    assert min(n_passes) >= 4
    for n_lives in (0, 1, 1, 2):
        killed, _ = solver(problem, tmp_path / "killed", n_lives)
        with pytest.raises(Killed):
            killed()
    resumed, left = solver(problem, tmp_path / "killed")
    same(resumed(), expected)
    # Each life made its passes over the target, which come second, or died in the source.
    assert left[0].n_made < n_passes[0]
    again, none_left = solver(problem, tmp_path / "killed")
    same(again(), expected)
    assert [log.n_made for log in none_left] == [0, 0]
    assert [log.n_answers for log in none_left] == n_passes


def test_answers_to_other_questions_and_damaged_files_are_not_taken(tmp_path):
    def ask(question, found):
        return PassLog(tmp_path).answer(question, lambda: {"found": np.array(found)})["found"]

    assert ask(["sums", np.ones(2)], 1.0) == 1.0
    assert ask(["sums", np.ones(2)], 2.0) == 1.0
    assert ask(["sums", np.zeros(2)], 3.0) == 3.0
    (tmp_path / "pass-000000.npz").write_bytes(b"PK\x03\x04 not whole")
    assert ask(["sums", np.zeros(2)], 4.0) == 4.0


def test_recorded_passes_are_passes(tmp_path):
    problem = make_problem()
    expected = UnitPasses(problem.target)
    passes = recorded_linear_passes(expected, PassLog(tmp_path))
    for name in ("n_units", "n_features", "total_cost", "holds_lines"):
        assert getattr(passes, name) == getattr(expected, name)
    assert passes.gathered() is expected
    assert passes.sample(0.5).n_units == expected.sample(0.5).n_units
