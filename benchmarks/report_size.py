# SPDX-License-Identifier: BSD-3-Clause
"""How long a report on a million predicted rows takes, and how large its page is.

A million rows of 20 columns in 100,000 bags of ten, with history, a linear count-likelihood
machine. The bar is 60 seconds and 10 MB.
"""

import argparse
import resource
import sys
import time

import numpy as np

from bagshift import Bags, CountLikelihoodClassifier
from bagshift.report import make_report

BAG_ROWS, N_COLUMNS = 10, 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows // BAG_ROWS * BAG_ROWS
    rng = np.random.default_rng(0)
    slope = rng.normal(size=N_COLUMNS) / np.sqrt(N_COLUMNS)
    X = rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    X += np.repeat(rng.normal(size=(n_rows // BAG_ROWS, 1)), BAG_ROWS, axis=0).astype(np.float32)
    ids = np.arange(n_rows) // BAG_ROWS
    labels = X @ slope + rng.logistic(size=n_rows) > 0
    bags = Bags.from_arrays(ids, counts=dict(enumerate(np.bincount(ids, labels).astype(int))))
    X_source = rng.standard_normal((20_000, N_COLUMNS), dtype=np.float32)
    other = slope + 0.3 * rng.normal(size=N_COLUMNS) / np.sqrt(N_COLUMNS)
    source = X_source, (X_source @ other + rng.logistic(size=20_000) > 0).astype(int)
    machine = CountLikelihoodClassifier(kernel="linear").fit(X, bags, source=source)
    print(
        f"{n_rows:,} rows in {bags.n_bags:,} bags, fitted in {machine.n_iter_} steps", flush=True
    )
    began, cpu = time.perf_counter(), time.process_time()
    page = make_report(
        machine,
        X,
        bags,
        source=source,
        progress=lambda done, total: print(
            f"  {done}/{total} {time.perf_counter() - began:.1f} s"
        ),
    )
    seconds, size = time.perf_counter() - began, len(page.html.encode()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"report in {seconds:.1f} s ({time.process_time() - cpu:.1f} CPU s; bar 60), page "
        f"{size:.1f} MB (bar 10), highest memory {peak:.1f} GiB"
    )
    return int(seconds > 60 or size > 10)


if __name__ == "__main__":
    sys.exit(main())
