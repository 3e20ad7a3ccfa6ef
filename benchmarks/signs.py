# SPDX-License-Identifier: BSD-3-Clause
"""How often a method that learns from shares alone has the classes the wrong way round.

    python benchmarks/signs.py [--draws 20] [--bag-size 64]

Random bags of 64 have shares near the overall one, and a machine and its mirror image fit them
nearly alike. On each draw of digits 3 against 8 and of breast cancer (``_small_sets.py``) every
method of ``bagshift.__all__`` that needs no source is fitted in its defaults, and counted as
*mirrored* when its accuracy on fresh rows is below one half. Then

* *warned*: of the mirrored fits, how many gave a ReversedScoresWarning; the others are *silent*;
* *false alarms*: of the fits the right way round, how many gave one;
* *with a source*: of the fits with 40 labelled rows beside the bags, by the methods that use
  them, how many are mirrored.

Two machines are run a second time with a single start, which is what they would be without the
guard that several starts are: "one start" in the table.

The accuracies are means over all draws, mirrored ones too, without and with the source; both are
on the same fresh rows. There is no bar: the table is what the warnings are judged by.
"""

import argparse
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from _small_sets import SmallDraw, draw_set, target_only
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from bagshift import (
    CountLikelihoodClassifier,
    ProportionSVM,
    ReversedScoresWarning,
    get_bag_tags,
)

SETS = ("digits 3/8", "breast cancer")
WITHOUT_GUARD = {
    "CountLikelihood..., one start": CountLikelihoodClassifier(start="inverse_calibration"),
    "ProportionSVM, one start": ProportionSVM(n_init=1),
}


@dataclass(frozen=True)
class Fit:
    """Accuracy on fresh rows, and whether the machine said that it may be mirrored."""

    accuracy: float
    is_warned: bool

    @property
    def is_mirrored(self) -> bool:
        """Whether the classes are the wrong way round."""
        return self.accuracy < 0.5


def fit(machine: Any, draw: SmallDraw, *, with_source: bool) -> Fit:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        machine = clone(machine)
        machine.fit(draw.X, draw.bags, source=draw.source if with_source else None)
    is_warned = any(issubclass(w.category, ReversedScoresWarning) for w in said)
    return Fit(float(machine.score(draw.X_fresh, draw.y_fresh)), is_warned)


def print_line(method: str, alone: list[Fit], helped: list[Fit]) -> None:
    mirrored = [f for f in alone if f.is_mirrored]
    right = [f for f in alone if not f.is_mirrored]
    warned = sum(f.is_warned for f in mirrored)
    line = (
        f"  {method:31}{len(mirrored):6d} of {len(alone):<3d}{warned:8d}"
        f"{len(mirrored) - warned:8d}{sum(f.is_warned for f in right):8d} of {len(right):<3d}"
        f"{np.mean([f.accuracy for f in alone]):10.3f}"
    )
    if helped:
        with_source = sum(f.is_mirrored for f in helped)
        line += f"{with_source:10d} of {len(helped):<3d}"
        line += f"{np.mean([f.accuracy for f in helped]):10.3f}"
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--bag-size", type=int, default=64)
    parser.add_argument("--only", nargs="+", help="methods with one of these in their name")
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        for name in SETS:
            draws = [
                draw_set(name, options.bag_size, seed, with_source=True)
                for seed in range(options.draws)
            ]
            print(f"\n{name}, bags of {options.bag_size}")
            print(
                f"  {'method':31}{'mirrored':>12}{'warned':>9}{'silent':>8}{'false alarms':>14}"
                f"{'accuracy':>10}{'with a source':>16}{'accuracy':>10}"
            )
            for method, machine in (target_only() | WITHOUT_GUARD).items():
                if options.only and not any(part in method for part in options.only):
                    continue
                uses_source = get_bag_tags(machine).uses_source and method not in WITHOUT_GUARD
                alone = [fit(machine, draw, with_source=False) for draw in draws]
                helped = [fit(machine, draw, with_source=True) for draw in draws if uses_source]
                print_line(method, alone, helped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
