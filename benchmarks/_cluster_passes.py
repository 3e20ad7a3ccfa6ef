# SPDX-License-Identifier: BSD-3-Clause
"""How often the machines go over all rows of a problem, and what is left to the driver.

The solvers are the library's own; only the passes are counted. What is computed of all units is a
pass, and would be done by workers; what is computed of a sample, or of the units near a border of
their tubes, would be done by the driver, who is sent them.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from linear_fit import directions
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from bagshift.solvers import (
    CoupledLinearProblem,
    LinearUnits,
    _passes_newton,
    coupled_linear,
    solve_coupled_linear,
)
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._sums import Sums
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.coupled_logistic import solve_coupled_logistic_passes
from bagshift.solvers.unit_passes import UnitPasses

TOLERANCE = 1e-8
ROWS_OF_MEAN = 1000
SOURCE_ROWS_PER_BAG = 100
KINDS = ("length", "sums", "line", "sample", "near", "settled", "room")


class CountedPasses(UnitPasses):
    """Passes that are counted when they are over all source rows."""

    n_all: ClassVar[int] = -1
    seen: ClassVar[Counter[str]] = Counter()
    seconds: ClassVar[Counter[str]] = Counter()
    largest: ClassVar[Counter[str]] = Counter()
    ends: ClassVar[dict[str, float]] = {}

    @property
    def is_all(self) -> bool:
        """Whether these are all source rows."""
        return self.n_units == self.n_all

    @property
    def holds_lines(self) -> bool:
        """Whether lines are kept, which those of all rows are not when these are many."""
        return not self.is_all and super().holds_lines

    def _note(self, kind: str, compute: Callable[[], Any]) -> Any:
        start = time.process_time()
        if self.is_all and kind == "sums" and not self.seen["sums"]:
            self.ends["first pass"] = start
        found = compute()
        if self.is_all:
            self.ends[kind] = time.process_time()
            self.seen[kind] += 1
            self.seconds[kind] += time.process_time() - start
        return found

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        base = super()
        found: Sums = self._note("sums", lambda: base.sums(machine, smoothing))
        if self.is_all:
            self.largest["free"] = max(self.largest["free"], found.n_free)
            self.seen["free"] += found.n_free
        return found

    def line(self, *given: Any) -> Callable[[Any], Any]:
        slopes = super().line(*given)
        return lambda lengths: self._note("line", lambda: slopes(lengths))

    def sample(self, part: float) -> LinearUnits:
        base = super()
        found: LinearUnits = self._note("sample", lambda: base.sample(part))
        if self.is_all:
            self.largest["sample"] = found.n_units
        return found

    def square_sum(self) -> float:
        return float(self._note("length", super().square_sum))

    def near(self, machine: LinearMachine, width: float) -> tuple[UnitPasses, Sums]:
        base = super()
        found: tuple[UnitPasses, Sums] = self._note("near", lambda: base.near(machine, width))
        if self.is_all:
            self.largest["near"] = max(self.largest["near"], found[0].n_units)
        return found

    def settled(self, *given: Any) -> Sums:
        base = super()
        found: Sums = self._note("settled", lambda: base.settled(*given))
        return found

    def room(self, machine: LinearMachine, *, up: bool) -> tuple[float, float]:
        base = super()
        found: tuple[float, float] = self._note("room", lambda: base.room(machine, up=up))
        return found


@contextmanager
def counted(n_all: int) -> Iterator[type[CountedPasses]]:
    CountedPasses.n_all = n_all
    for counter in (CountedPasses.seen, CountedPasses.seconds, CountedPasses.largest):
        counter.clear()
    CountedPasses.ends.clear()
    with patch.object(coupled_linear, "UnitPasses", CountedPasses):
        yield CountedPasses


def linear_problem(n: int, n_features: int, cost: float) -> CoupledLinearProblem:
    """Return labelled rows, and means of bags of a thousand rows, drawn by their own law.

    The rows are those of `linear_fit.make_rows`. `cost` is that of all source rows together; the
    bags have four times as much.
    """
    truth, turned = directions(n_features)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    signs = np.where(X @ truth + 0.5 * rng.standard_normal(n, dtype=np.float32) > 0, 1.0, -1.0)
    n_bags = n // SOURCE_ROWS_PER_BAG
    common = rng.standard_normal(n_bags, dtype=np.float32)
    means = rng.standard_normal((n_bags, n_features), dtype=np.float32)
    means *= np.float32(ROWS_OF_MEAN**-0.5)
    means += np.outer(common, turned)
    # The score of a row around its bag's common part has the variance 1, its noise 0.04.
    chance = ndtr(common / np.sqrt(1.04))
    counts = rng.binomial(ROWS_OF_MEAN, chance)
    shares = np.clip(counts / ROWS_OF_MEAN, 1 / (2 * ROWS_OF_MEAN), 1 - 1 / (2 * ROWS_OF_MEAN))
    box = np.full(n_bags, 4.0 * cost / n_bags)
    own = cost / n * signs
    return CoupledLinearProblem(
        source=LinearUnits(X, signs, np.zeros(n), np.minimum(own, 0.0), np.maximum(own, 0.0)),
        target=LinearUnits(
            means, np.log(shares / (1 - shares)), 0.1 * shares * (1 - shares), -box, box
        ),
        coupling=1.0,
    )


def count_linear(n: int, n_features: int, cost: float) -> dict[str, Any]:
    """Solve a problem of TGPLM and count."""
    problem = linear_problem(n, n_features, cost)
    start = time.process_time()
    with counted(n) as passes:
        result = solve_coupled_linear(problem, tol=TOLERANCE)
    total = time.process_time() - start
    of_rows = sum(passes.seconds.values())
    n_sums = passes.seen["sums"]
    return {
        **{kind: passes.seen[kind] for kind in KINDS},
        "free": passes.seen["free"] / (n * n_sums) if n_sums else np.nan,
        "n_sample": passes.largest["sample"],
        "n_near": passes.largest["near"],
        "seconds": total,
        "on_sample": passes.ends["first pass"] - passes.ends["sample"],
        "driver": total - of_rows,
        "gap": result.dual_gap / result.objective,
        "converged": result.converged,
    }


def count_likelihood(n: int, n_features: int, size: int) -> dict[str, Any]:
    """Solve a problem of the count likelihood, n rows in each domain, and count."""
    rng = np.random.default_rng(0)
    truth, turned = (2.0 * direction for direction in directions(n_features))
    features = [rng.standard_normal((n, n_features), dtype=np.float32) for _ in range(2)]
    signs = np.where(rng.random(n) < expit(features[0] @ truth - 0.5), 1.0, -1.0)
    labels = rng.random(n) < expit(features[1] @ turned - 1.0)
    n_bags = n // size
    counts = BagCounts.exact(labels.reshape(-1, size).sum(axis=1), np.full(n_bags, size))
    source = RowPasses(LabelledRows(features[0], signs, np.ones(n)))
    target = RowPasses(CountedRows(features[1], counts, np.ones(n_bags)))
    part, leads = _passes_newton._part(source, target)
    start = time.process_time()
    result = solve_coupled_logistic_passes(source, target, 1.0)
    return {
        "passes": result.n_passes,
        "sample": part if leads else 0.0,
        "seconds": time.process_time() - start,
        "converged": result.converged,
    }


def run_apart(name: str, *numbers: float) -> dict[str, Any]:
    """Count in a process of its own, which gives its memory back."""
    command = [sys.executable, __file__, name, *map(repr, numbers)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def print_linear(cells: list[tuple[int, int, float]]) -> list[dict[str, Any]]:
    """Solve problems of TGPLM and print how often their rows are read."""
    print(
        f"{'rows':>11}{'features':>9}{'cost':>8}{'curved':>8}{'lines':>6}{'all':>5}"
        f"{'free':>7}{'sample':>8}{'near':>9}{'driver CPU s':>13}{'on sample':>10}"
        f"{'CPU s':>8}{'gap':>9}"
    )
    rows = []
    for n, n_features, cost in cells:
        found = run_apart("linear", n, n_features, cost)
        found["all"] = sum(found[kind] for kind in KINDS)
        rows.append({"n": n, "n_features": n_features, "cost": cost, **found})
        print(
            f"{n:11,}{n_features:9}{cost:8g}{found['sums']:8}{found['line']:6}{found['all']:5}"
            f"{found['free']:7.1%}{found['n_sample']:8,}{found['n_near']:9,}"
            f"{found['driver']:13.1f}{found['on_sample']:10.1f}{found['seconds']:8.1f}{found['gap']:9.0e}"
            f"{'' if found['converged'] else ' not converged'}",
            flush=True,
        )
    return rows


def print_likelihood(cells: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Solve problems of the count likelihood and print how often their rows are read."""
    print(f"{'rows each':>11}{'features':>9}{'bag size':>9}{'passes':>8}{'sample':>9}{'CPU s':>8}")
    rows = []
    for n, n_features, size in cells:
        found = run_apart("count", n, n_features, size)
        rows.append({"n": n, "n_features": n_features, "size": size, **found})
        print(
            f"{n:11,}{n_features:9}{size:9}{found['passes']:8}{found['sample']:9.1%}"
            f"{found['seconds']:8.1f}{'' if found['converged'] else ' not converged'}",
            flush=True,
        )
    return rows


def main() -> None:
    name, n, n_features, last = sys.argv[1:]
    with threadpool_limits(1):
        if name == "linear":
            found = count_linear(int(n), int(n_features), float(last))
        else:
            found = count_likelihood(int(n), int(n_features), int(last))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
