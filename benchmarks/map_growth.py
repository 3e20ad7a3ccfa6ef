# SPDX-License-Identifier: BSD-3-Clause
"""Maps of the RBF kernel on very many rows: accuracy, time and memory by number of features.

    python benchmarks/map_growth.py [--rows 100000 1000000] [--features 100 300 1000]

`TGPLM` with an RBF kernel, both costs and coupling 1, `solver="auto"`: it leaves the kernel matrix
for so many landmark rows. The task is that of `feature_maps.py`, digits even or odd: rows of
float32, as many target rows in bags of ten as source rows, 5,000 fresh target rows. The exact
machine on 5,000 rows comes first; `feature_maps.py` has the maps beside it there.

Each fit is in a process of its own: CPU seconds of `fit`, one thread, map and solution together,
to the default tolerance; steps, most of them over a sample or over the units near a kink; duality
gap over objective; the most memory that the process held, with the rows in it. The exponent is of
the time in rows, for each number of features. Bar: at most 1.1.
"""

import argparse
import json
import sys
import time

import numpy as np
from _apart import GIBIBYTE, forget_peak, peak_gibibytes, print_exponent, run_apart
from _timing import print_environment
from feature_maps import BAG_SIZE, make_draw
from threadpoolctl import threadpool_limits

from bagshift import TGPLM, Bags

EXACT_ROWS = 5_000


def fit_once(n_rows: int, n_features: int) -> None:
    """Fit in this process and print what happened, as JSON; no features: the exact machine."""
    draw = make_draw(n_rows, 0)
    X_source, X = (rows.astype(np.float32) for rows in (draw.X_source, draw.X_target))
    bag_ids = np.repeat(np.arange(len(draw.shares)), BAG_SIZE)
    bags = Bags.from_arrays(bag_ids, draw.shares[bag_ids])
    X_fresh, y_source, y_fresh = draw.X_fresh.astype(np.float32), draw.y_source, draw.y_fresh
    del draw
    machine = TGPLM(C_source=1.0, C_target=1.0, coupling=1.0)
    machine.set_params(**({"n_components": n_features} if n_features else {"solver": "exact"}))
    forget_peak()  # that of making the data
    before = time.process_time()
    machine.fit(X, bags, source=(X_source, y_source))
    print(
        json.dumps(
            {
                "seconds": time.process_time() - before,
                "n_iter": machine.n_iter_,
                "gap": max(machine.dual_gap_, 0.0) / machine.objective_,
                "fresh": machine.score(X_fresh, y_fresh),
                "peak": peak_gibibytes(),
                "data": (X.nbytes + X_source.nbytes) / GIBIBYTE,
            }
        )
    )


def measure(n_rows: int, n_features: int) -> float:
    """Print a line of the table and return the seconds."""
    found = run_apart(__file__, "--one", n_rows, n_features)
    name = f"{n_features:,}" if n_features else "exact"
    print(
        f"{n_rows:10,d}{name:>10}{found['fresh']:9.4f}{found['seconds']:11.2f}"
        f"{found['n_iter']:8d}{found['gap']:9.0e}{found['peak']:10.2f}{found['data']:10.2f}",
        flush=True,
    )
    return float(found["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--features", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.one:
            fit_once(*options.one)
            return 0
        print_environment()
    print(f"{'rows each':>10}{'features':>10}{'fresh':>9}{'fit CPU s':>11}{'steps':>8}", end="")
    print(f"{'gap':>9}{'peak GiB':>10}{'rows GiB':>10}")
    measure(EXACT_ROWS, 0)
    seconds = {m: [measure(n, m) for n in options.rows] for m in options.features}
    met = []
    for m, of_rows in seconds.items():
        print(f"{m:,} features. ", end="")
        met.append(print_exponent(options.rows, of_rows))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
