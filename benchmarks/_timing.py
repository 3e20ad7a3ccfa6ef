# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved timing of two contenders, in CPU time of the calling thread."""

import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sklearn
from threadpoolctl import threadpool_info

SHORTEST_ROUND = 0.005

# A line of print_verdict: "Worst cell: 0.93 (bar 0.7) met". Who prints his own may say "reached".
VERDICT = re.compile(r"(.+): (\S+) \(bar ([^ )]+)\)? (met|reached|MISSED)\)?$")


@dataclass(frozen=True)
class Timing:
    """Median seconds of two contenders, and the number of rounds."""

    ours: float
    theirs: float
    repeats: int

    @property
    def ratio(self) -> float:
        """How many times as long as ours theirs takes."""
        return self.theirs / self.ours


def cpu_seconds(run: Callable[[], object], number: int = 1) -> float:
    """Average over `number` calls: a fast one alone would measure cold caches."""
    start = time.thread_time()
    for _ in range(number):
        run()
    return (time.thread_time() - start) / number


def calls_per_round(run: Callable[[], object]) -> int:
    return max(1, int(SHORTEST_ROUND / cpu_seconds(run)))


def time_interleaved(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int, seconds: float
) -> Timing:
    """Medians over `repeats` rounds, or as many as fit into `seconds`, at least one."""
    ours_times, theirs_times = [], []
    ours_number, theirs_number = calls_per_round(ours), calls_per_round(theirs)
    begin = time.monotonic()
    for _ in range(repeats):
        ours_times.append(cpu_seconds(ours, ours_number))
        theirs_times.append(cpu_seconds(theirs, theirs_number))
        elapsed = time.monotonic() - begin
        if elapsed + elapsed / len(ours_times) > seconds:
            break
    return Timing(float(np.median(ours_times)), float(np.median(theirs_times)), len(ours_times))


def print_environment(*packages: str) -> None:
    """Print what runs where, and with how many threads."""
    libraries = ", ".join(
        f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()
    )
    named = "".join(f"{package}, " for package in packages)
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, {named}{platform.machine()}, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )
    print(f"Threads: {libraries}; bagshift 1")


def print_machine(repeats: int, seconds: float, *packages: str) -> None:
    """Print the same, and how contenders are timed."""
    print_environment(*packages)
    print(
        f"Thread CPU time, interleaved, medians of {repeats} rounds, or of as many as fit into "
        f"{seconds:g} s"
    )


def print_verdict(name: str, value: float, bar: float) -> bool:
    met = value >= bar
    print(f"{name}: {value:.2f} (bar {bar:g}) {'met' if met else 'MISSED'}")
    return met
