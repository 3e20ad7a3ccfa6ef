# SPDX-License-Identifier: BSD-3-Clause
"""Searches over the quick grid: time and memory by number of rows.

    python benchmarks/search.py [--kernel linear] [--rows 10000 100000 1000000] [--jobs 1]
    python benchmarks/search.py --kernel rbf --rows 20000 100000
    python benchmarks/search.py --machine count --kernel rbf --rows 20000 100000 [--max-rows 10000]

As many source rows as target rows in bags of ten, 50 columns, float32, those of
`linear_fit.py`; each size in a process of its own. TGPLMCV compares 2 C_source x 3 C_target x 5
couplings, and with RBF 3 widths, on ten folds of whole bags; CountLikelihoodCV 2 x 3 x 3 and two
starts on five. Columns: seconds of the whole `fit` on the wall and of the CPU, milliseconds of CPU
by setting and fold, accuracy on 10,000 fresh target rows, peak memory of the process, and that of
the rows.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
from _timing import print_machine
from linear_fit import BAG_SIZE, N_FEATURES, make_rows
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift import TGPLMCV, Bags, CountLikelihoodCV

MACHINES = {"tgplm": TGPLMCV, "count": CountLikelihoodCV}


def search_once(options: argparse.Namespace) -> None:
    """Search in this process and print what happened, as JSON."""
    n = options.rows[0]
    X_source, y_source, X, y = make_rows(n, N_FEATURES, 0)
    _, _, X_fresh, y_fresh = make_rows(10_000, N_FEATURES, 1)
    ids = np.repeat(np.arange(n // BAG_SIZE), BAG_SIZE)
    shares = np.repeat(y.reshape(-1, BAG_SIZE).mean(axis=1), BAG_SIZE)
    bags = Bags.from_arrays(ids, shares)
    given = {} if options.max_rows is None else {"max_rows": options.max_rows}
    search = MACHINES[options.machine](kernel=options.kernel, n_jobs=options.jobs, **given)
    wall, cpu = time.perf_counter(), time.process_time()
    search.fit(X, bags, source=(X_source, y_source.astype(int)))
    seconds = time.process_time() - cpu
    n_fits = len(search.cv_results_["params"]) * search.n_splits_
    print(
        json.dumps(
            {
                "wall": time.perf_counter() - wall,
                "seconds": seconds,
                "each": 1000 * seconds / n_fits,
                "n_fits": n_fits,
                "fresh": search.score(X_fresh, y_fresh.astype(int)),
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "data": (X.nbytes + X_source.nbytes) / 2**30,
                "params": {
                    name: float(v)
                    for name, v in search.best_params_.items()
                    if not isinstance(v, str)
                },
            }
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", choices=MACHINES, default="tgplm")
    parser.add_argument("--kernel", default="linear")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--max-rows", type=int)
    parser.add_argument("--jobs", type=int, default=1, help="folds at a time")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.one:
        with threadpool_limits(1):
            search_once(options)
        return 0
    print_machine(1, 600.0, "numpy", "scipy", "scikit-learn")
    print(
        f"{'rows each':>10}{'fits':>6}{'wall s':>9}{'CPU s':>9}{'ms each':>9}{'fresh':>8}", end=""
    )
    print(f"{'peak GiB':>10}{'rows GiB':>10}")
    for n in options.rows:
        arguments = ["--machine", options.machine, "--kernel", options.kernel]
        arguments += ["--rows", str(n), "--jobs", str(options.jobs)]
        if options.max_rows is not None:
            arguments += ["--max-rows", str(options.max_rows)]
        done = subprocess.run(
            [sys.executable, __file__, *arguments, "--one"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = json.loads(done.stdout)
        print(
            f"{n:10,d}{found['n_fits']:6d}{found['wall']:9.1f}{found['seconds']:9.1f}"
            f"{found['each']:9.1f}{found['fresh']:8.4f}{found['peak']:10.2f}{found['data']:10.2f}"
            f"  {found['params']}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
