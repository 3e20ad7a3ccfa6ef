# SPDX-License-Identifier: BSD-3-Clause
"""Time the complete grid of the paper against a loop of a general solver.

    python benchmarks/grid.py [--rows 100 1000] [--sample 60]

13 widths x 19 C_source x 19 C_target x 18 couplings by ten folds of whole bags, on two classes in
the plane (``_programs.py``): 844,740 programs. At 100 rows of each domain (12 bags) all of them
are solved; at 1,000 rows (125 bags) those of three widths and one fold, and the total is
extrapolated. Everything in one thread, CPU time.

PIQP, the fastest general solver that we know for these programs, gets a random sample of the same
programs in the paper's n + 2d variables, at the loosest tolerance of a ladder with a relative
objective error below 1e-6, and its total is extrapolated from that sample; its matrices are built
outside the timing. Ours is the time of the solver in its chains and, at 100 rows, also that of
the whole search by ``TGPLMCV(grid="paper")`` with kernels, folds, scores and tables.

Objectives of the sample are compared with cold solutions at a tolerance of 1e-8. Bars: at 100
rows 90 times faster (aim 150), at 1,000 rows 500 times; relative objective error below 1e-4; two
threads take no more CPU time than one (at 100 rows). The exit status is 1 when a bar is missed.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import piqp
from _programs import Domains, make_domains, make_program
from _timing import cpu_seconds, print_machine, print_verdict
from coupled_qp import PIQP_TOLERANCES, first_tolerance, fit_piqp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bagshift import TGPLMCV, BagKFold
from bagshift.model_selection._folds import bag_folds
from bagshift.solvers import (
    CoupledChain,
    CoupledProblem,
    solve_coupled,
    solve_coupled_chain,
)
from bagshift.solvers.reference import beta_dual

Floats = NDArray[np.float64]

WIDTHS = 2.0 ** np.arange(-6, 7)
SOME_WIDTHS = (2.0**-5, 2.0**-1, 2.0**3)
COSTS = 2.0 ** np.arange(-8, 11)
COUPLINGS = 2.0 ** np.arange(-6, 12)
FOLDS = BagKFold(10, shuffle=True, random_state=0)
N_PROGRAMS = len(WIDTHS) * len(COSTS) ** 2 * len(COUPLINGS) * 10

BARS = {100: 90.0, 1000: 500.0}
ERROR_BAR = 1e-4
THREADS_BAR = 1.1


@dataclass(frozen=True)
class Program:
    """One setting of the grid on one fold, and what its chain found."""

    at_unit_costs: CoupledProblem
    c_source: float
    c_target: float
    coupling: float
    dual_objective: float

    @property
    def problem(self) -> CoupledProblem:
        """Its program, at its own costs."""
        base = self.at_unit_costs
        is_source = np.arange(base.targets.size) < base.n_source
        cost = np.where(is_source, self.c_source, self.c_target)
        return replace(
            base, lower=cost * base.lower, upper=cost * base.upper, coupling=self.coupling
        )


def diagonals() -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield costs and couplings of every chain: one ratio of costs, couplings innermost."""
    for shift in range(-len(COSTS) + 1, len(COSTS)):
        pairs = [(s, s - shift) for s in range(len(COSTS)) if 0 <= s - shift < len(COSTS)]
        source, target = np.array(pairs).T
        n = len(COUPLINGS)
        yield (
            np.repeat(COSTS[source], n),
            np.repeat(COSTS[target], n),
            np.tile(COUPLINGS, len(pairs)),
        )


def problems(domains: Domains, widths: list[float], n_folds: int) -> Iterator[CoupledProblem]:
    """Yield the program at unit costs of every width and fold."""
    n = len(domains.signs)
    bags = domains.bags
    splits = list(FOLDS.split(domains.target, bags))
    for width in widths:
        whole = make_program(domains, width)
        for fold in bag_folds(splits, bags)[:n_folds]:
            units = np.concatenate([np.arange(n), n + fold.train_bags])
            yield CoupledProblem(
                gram=whole.gram[np.ix_(units, units)],
                n_source=n,
                targets=whole.targets[units],
                half_widths=whole.half_widths[units],
                lower=whole.lower[units],
                upper=whole.upper[units],
                coupling=1.0,
            )


def solve_all(
    domains: Domains, widths: list[float], n_folds: int, sample: int
) -> tuple[float, int, list[Program]]:
    """Return CPU seconds of all chains, the number of programs, and a sample of them."""
    rng = np.random.default_rng(0)
    seconds, n_solved, kept = 0.0, 0, []
    chains = list(diagonals())
    total = len(widths) * n_folds * sum(len(chain[0]) for chain in chains)
    for problem in problems(domains, widths, n_folds):
        for chain in chains:
            begin = time.thread_time()
            found: CoupledChain = solve_coupled_chain(problem, *chain)
            seconds += time.thread_time() - begin
            n_solved += len(chain[0])
            chosen = np.flatnonzero(rng.random(len(chain[0])) < sample / total)
            kept += [
                Program(problem, *(float(c[i]) for c in chain), found.dual_objective[i])
                for i in chosen
            ]
    return seconds, n_solved, kept


def largest_error(programs: list[Program]) -> float:
    """Return the largest relative distance of an objective from that of a cold solution."""
    errors = []
    for program in programs:
        best = solve_coupled(program.problem, tol=1e-8).dual_objective
        errors.append(abs(program.dual_objective - best) / abs(best))
    return max(errors)


def piqp_seconds(program: Program) -> float:
    """Return CPU seconds of PIQP for a program, at the accuracy wanted."""
    problem = program.problem
    best = solve_coupled(problem, tol=1e-8).dual_objective
    dual = beta_dual(problem)
    matrix = np.asfortranarray(dual.matrix)

    def error(tol: float) -> float:
        beta = np.clip(fit_piqp(dual, matrix, tol), 0.0, dual.upper)
        return abs(-dual.objective(beta) - best) / abs(best)

    tol, _ = first_tolerance(PIQP_TOLERANCES, error)
    return cpu_seconds(lambda: fit_piqp(dual, matrix, tol))


def search_seconds(domains: Domains, n_jobs: int) -> tuple[float, float]:
    """Return CPU and wall seconds of the whole search."""
    begin, wall = time.process_time(), time.monotonic()
    TGPLMCV(grid="paper", cv=FOLDS, n_jobs=n_jobs).fit(
        domains.target, domains.bags, source=(domains.source, domains.signs)
    )
    return time.process_time() - begin, time.monotonic() - wall


def compare(n: int, sample: int) -> list[bool]:
    domains = make_domains("gauss", n)
    is_whole = n <= 100
    widths, n_folds = (list(WIDTHS), 10) if is_whole else (list(SOME_WIDTHS), 1)
    print(f"\n{n} rows of each domain, {len(domains.shares)} bags", flush=True)
    seconds, n_solved, programs = solve_all(domains, widths, n_folds, sample)
    ours = seconds / n_solved * N_PROGRAMS
    print(
        f"{n_solved:,} programs in {seconds:.1f} s, {1e6 * seconds / n_solved:.1f} us each"
        + ("" if is_whole else f"; all {N_PROGRAMS:,} extrapolated: {ours:,.0f} s"),
        flush=True,
    )
    error = largest_error(programs)
    theirs = np.array([piqp_seconds(program) for program in programs])
    total = float(theirs.mean()) * N_PROGRAMS
    spread = float(theirs.std(ddof=1) / np.sqrt(len(theirs)) / theirs.mean())
    print(
        f"PIQP, {len(programs)} of these programs: {1e3 * theirs.mean():.2f} ms each; all of them "
        f"extrapolated: {total:,.0f} s (standard error {spread:.0%})"
    )
    print(f"Largest relative objective error of the sample: {error:.1e}")
    met = [
        print_verdict(f"PIQP loop / chains at {n} rows", total / ours, BARS[n]),
        print_verdict("1e-4 / largest error", ERROR_BAR / max(error, 1e-300), 1.0),
    ]
    if is_whole:
        one, wall = search_seconds(domains, 1)
        two, wall_two = search_seconds(domains, 2)
        print(
            f"Whole search by TGPLMCV: {one:.1f} CPU s, {wall:.1f} s; two threads {two:.1f} CPU "
            f"s, {wall_two:.1f} s (load {os.getloadavg()[0]:.1f}); PIQP loop / search: "
            f"{total / one:.0f}"
        )
        met.append(print_verdict("CPU of one thread / two", one / two, 1 / THREADS_BAR))
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", choices=list(BARS), default=list(BARS))
    parser.add_argument("--sample", type=int, default=60, help="programs for PIQP")
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        print_machine(1, float("inf"), f"PIQP {piqp.__version__} 1")
        met = [
            each
            for n in options.rows
            for each in compare(n, options.sample if n <= 100 else options.sample // 10)
        ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
