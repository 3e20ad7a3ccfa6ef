# SPDX-License-Identifier: BSD-3-Clause
"""Run the benchmarks of the solver, the kernels and the search, and sum up what they found.

    python benchmarks/engine.py          # half an hour or so
    python benchmarks/engine.py --quick  # ten minutes: three rounds, no grid of 1,000 rows

Each runs in a process of its own with one thread, and prints what it prints alone. A table of all
bars comes last. The exit status is 1 when one is missed, or a benchmark breaks off.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from _timing import VERDICT

HERE = Path(__file__).parent

BENCHMARKS = (
    "coupled_qp.py",
    "inverse_calibration.py",
    "newton.py",
    "kernels.py",
    "grid.py",
    "fit_time.py",
)
QUICK = ("--repeats", "3", "--seconds", "20")
QUICK_GRID = ("--rows", "100")

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)

Row = tuple[str, str, str, str]


def run(script: str, arguments: Sequence[str]) -> Iterator[Row]:
    """Run a benchmark, show its output, and yield its verdicts."""
    print(f"== {script} {' '.join(arguments)}", flush=True)
    command = [sys.executable, str(HERE / script), *arguments]
    missed = False
    with subprocess.Popen(
        command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            found = VERDICT.match(line)
            if found:
                what, measured, bar, verdict = found.groups()
                missed |= verdict == "MISSED"
                yield f"{script}: {what}", measured, bar, "no" if verdict == "MISSED" else "yes"
    if process.returncode != 0 and not missed:
        yield f"{script}: exit status", str(process.returncode), "0", "no"
    print()


def print_table(rows: list[Row]) -> None:
    width = max(len(row[0]) for row in rows)
    for what, measured, bar, met in [("what", "measured", "bar", "met"), *rows]:
        print(f"{what:{width}} {measured:>10} {bar:>8} {met:>4}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller grid")
    quick = parser.parse_args().quick
    rows: list[Row] = []
    for script in BENCHMARKS:
        hurry = QUICK_GRID if script == "grid.py" else QUICK
        rows += run(script, hurry if quick else ())
    print_table(rows)
    return 0 if all(met == "yes" for *_, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
