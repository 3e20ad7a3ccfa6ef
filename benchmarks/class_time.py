# SPDX-License-Identifier: BSD-3-Clause
"""Time one class against the others, and the likelihood of counts, over the number of classes.

    python benchmarks/class_time.py [--repeats 5] [--units 1000] [--seconds 240]

Whole fits of TGPLM, one class against the others on one kernel, and of CountLikelihoodClassifier
(300 landmarks) with 4, 8, 16 and 32 classes on the same rows: half of the units are labelled
source rows, half are bags of eight rows, of thirty features under the RBF kernel. CPU time, one
thread, contenders interleaved, medians.

Bar: the exponent of the time of TGPLM in the number of classes, fitted by least squares to
logarithms, is at most 1. The exit status is 1 when it is missed.
"""

import argparse
import sys
from functools import partial

import numpy as np
from _timing import print_machine, print_verdict
from ls_tgplm import domains, medians
from threadpoolctl import threadpool_limits

from bagshift import TGPLM, CountLikelihoodClassifier

N_CLASSES = (4, 8, 16, 32)
BAR = 1.0


def exponent(times: list[float]) -> float:
    return float(np.polyfit(np.log(N_CLASSES), np.log(times), 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--units", type=int, default=1000, help="source rows and bags together")
    parser.add_argument("--seconds", type=float, default=240.0, help="limit for the fits")
    options = parser.parse_args()
    machines = {
        "tgplm": TGPLM(),
        "count-likelihood": CountLikelihoodClassifier(n_components=300, tol=1e-4),
    }
    runs = []
    for machine in machines.values():
        for n_classes in N_CLASSES:
            X, bags, source = domains(n_classes, options.units)
            runs.append(partial(machine.fit, X, bags, source=source))
    with threadpool_limits(limits=1):
        print_machine(options.repeats, options.seconds)
        times, rounds = medians(runs, options.repeats, options.seconds)
    print(f"\nFits on {options.units:,} units, {rounds} rounds; times in ms")
    print(f"{'classes':18}" + "".join(f"{n:10d}" for n in N_CLASSES) + f"{'exponent':>10}")
    exponents = {}
    for place, name in enumerate(machines):
        own = times[place * len(N_CLASSES) : (place + 1) * len(N_CLASSES)]
        exponents[name] = exponent(own)
        figures = "".join(f"{1e3 * t:10.1f}" for t in own)
        print(f"{name:18}{figures}{exponents[name]:10.2f}")
    print()
    met = print_verdict("1 / exponent of TGPLM", BAR / max(exponents["tgplm"], 1e-9), 1.0)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
