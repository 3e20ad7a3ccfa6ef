# SPDX-License-Identifier: BSD-3-Clause
"""CPU time that starting costs: ``import bagshift``, all its names, and ``bagshift --help``.

The import is timed in a new process after scikit-learn's svm and model_selection, which a user of
this library has imported anyway. Names are imported on first use, so the sum over every public
name stands beside it, without a bar. Medians of 15 processes each, interleaved, from byte code.

    python benchmarks/startup.py
"""

import math
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable

REPEATS = 15
IMPORT_BAR, HELP_BAR = 0.020, 0.300  # seconds of CPU

IMPORT = """
import time
import sklearn.model_selection
import sklearn.svm
start = time.process_time()
{statement}
print(time.process_time() - start)
"""
HELP = "from bagshift.cli import main; import sys; sys.argv = ['bagshift', '--help']; main()"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def run(code: str) -> str:
    environment = os.environ | ONE_THREAD
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout


def import_seconds() -> float:
    return float(run(IMPORT.format(statement="import bagshift")))


def names_seconds() -> float:
    return float(run(IMPORT.format(statement="from bagshift import *")))


def help_seconds() -> float:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    run(HELP)
    return used() - before


def main() -> int:
    measures: dict[str, tuple[Callable[[], float], float]] = {
        "import bagshift": (import_seconds, IMPORT_BAR),
        "every public name": (names_seconds, math.inf),
        "bagshift --help": (help_seconds, HELP_BAR),
    }
    for measure, _ in measures.values():
        measure()  # writes the byte code, fills the file cache
    seconds = {name: [] for name in measures}
    for _ in range(REPEATS):
        for name, (measure, _) in measures.items():
            seconds[name].append(measure())

    missed = False
    print(f"{'CPU time, ms':20s} {'median':>8s} {'least':>8s} {'bar':>8s}")
    for name, (_, bar) in measures.items():
        median = statistics.median(seconds[name])
        missed |= median > bar
        verdict = "" if math.isinf(bar) else "ok" if median <= bar else "MISSED"
        figures = f"{1e3 * median:8.1f} {1e3 * min(seconds[name]):8.1f} {1e3 * bar:8.0f}"
        print(f"{name:20s} {figures}  {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
