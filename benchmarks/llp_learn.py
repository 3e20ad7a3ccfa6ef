# SPDX-License-Identifier: BSD-3-Clause
"""Every method that learns from bags beside the package llp-learn 1.6.0, in its own environment.

    python benchmarks/llp_learn.py                                   # ours alone
    python benchmarks/llp_learn.py --environment ~/llp-learn --output llp.csv
    python benchmarks/llp_learn.py --temporary-environment

llp-learn asks for NumPy 1.24 and scikit-learn 1.2, so it cannot live beside bagshift. With
``--environment FOLDER`` the Python there is used; where there is none, an environment is made
in FOLDER by (with ``--python`` for a Python of 3.8 to 3.11, for which NumPy 1.24 has wheels)

    python -m venv FOLDER
    FOLDER/bin/pip install "numpy~=1.24.2" "scipy~=1.10.1" "scikit-learn~=1.2.2" "joblib~=1.2.0"
    FOLDER/bin/pip install --no-deps llp-learn==1.6.0

These are its own bounds on the packages that the two methods below import, 0.3 GB. A plain
``pip install llp-learn==1.6.0`` adds PyTorch with CUDA, 4.7 GB, and even then the example of its
README does not run: ``llp_learn.dllp``, ``mixbag``, ``llpvat`` and ``llpfc`` import torchvision,
which it does not ask for. They are deep networks and not part of this comparison.

Sets: digits 3 against 8, breast cancer, make_classification (600 rows, a new problem for every
draw); random bags of 8 and 64 from 70 % of the rows, accuracy on the others (``_small_sets.py``).
No source. Ours are all in their defaults, which were not chosen on these sets; their names are
those of ``bagshift.__all__``. Then the same algorithms with the same parameters on both sides:

* EM around an SVC with its defaults (C = 1, RBF), first labels the majority of each bag;
* alternating SVM, proportion-SVM, linear and RBF, C = 1, 10 random starts, annealed by 1.5. The
  price of shares of llp-learn is per bag, ours is per row; C_p = 1, its default, is
  C_share = 1 / bag size, and C_p = 10 bag size is C_share = 10.

Time is CPU time of the fit in one thread, each side in its own process. Bars, per pair over all
sets and bag sizes: mean accuracy not below llp-learn's by more than one paired standard error,
and for the alternating SVM at least 10 times less CPU time, in total. The exit status is 1 when
one is missed. Cells in the output file are not run again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from _small_sets import SETS, SmallDraw, draw_set, target_only
from sklearn.base import clone
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bagshift import BagEM, ProportionSVM

BAG_SIZES = (8, 64)
TIMES_FASTER = 10.0
WORKER = Path(__file__).with_name("_llp_learn_worker.py")
PACKAGE = "llp-learn==1.6.0"
ITS_PACKAGES = ["numpy~=1.24.2", "scipy~=1.10.1", "scikit-learn~=1.2.2", "joblib~=1.2.0"]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Row:
    """One method on one draw of one set."""

    set: str
    bag_size: int
    draw: int
    method: str
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Pair:
    """One algorithm on both sides, given a bag size."""

    name: str
    ours: Callable[[int], Any]
    kind: str
    settings: Callable[[int], dict[str, Any]]
    is_timed: bool


def alternating(kernel: str, price: str) -> Pair:
    kind = {"linear": "alter-svm", "rbf": "alter-svm-rbf"}[kernel]
    if price == "1":
        return Pair(
            f"alternating SVM, {kernel}, C_p = 1",
            lambda size: ProportionSVM(C_share=1.0 / size, kernel=kernel),
            kind,
            lambda size: {"C": 1.0, "C_p": 1.0},
            True,
        )
    return Pair(
        f"alternating SVM, {kernel}, C_p = 10 size",
        lambda size: ProportionSVM(C_share=10.0, kernel=kernel),
        kind,
        lambda size: {"C": 1.0, "C_p": 10.0 * size},
        True,
    )


PAIRS = [
    Pair("EM around an SVC", lambda size: BagEM(SVC()), "em-svc", lambda size: {}, False),
    *(alternating(kernel, price) for kernel in ("linear", "rbf") for price in ("1", "10 size")),
]


# The other package ------------------------------------------------------------------------


def python_of(folder: Path) -> Path:
    """Return the Python of an environment."""
    windows = folder / "Scripts" / "python.exe"
    return windows if windows.exists() else folder / "bin" / "python"


def make_environment(folder: Path, python: str) -> Path:
    """Make the environment where it is missing or unfinished, and return its Python."""
    found = python_of(folder)
    look = ["-I", "-c", "import llp_learn.em, llp_learn.alter"]
    if found.exists() and not subprocess.run([str(found), *look], capture_output=True).returncode:
        return found
    print(f"Making an environment for {PACKAGE} in {folder} ...", flush=True)
    subprocess.run([python, "-I", "-m", "venv", str(folder)], check=True)
    found = python_of(folder)
    install = [str(found), "-I", "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *ITS_PACKAGES], check=True)
    subprocess.run([*install, "--no-deps", PACKAGE], check=True)
    subprocess.run([str(found), *look], check=True)
    return found


def run_theirs(python: Path, draw: SmallDraw, size: int, pairs: list[Pair]) -> Iterator[Any]:
    """Yield what the worker prints, job by job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(
            folder / "problem.npz",
            X=draw.X,
            bags=draw.bag_ids,
            shares=np.array([draw.shares[bag] for bag in range(len(draw.shares))]),
            X_fresh=draw.X_fresh,
        )
        jobs = [
            {"name": theirs(pair), "kind": pair.kind, "settings": pair.settings(size)}
            for pair in pairs
        ]
        (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
        worker = subprocess.Popen(
            [str(python), "-I", str(WORKER), str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        assert worker.stdout is not None
        yield from map(json.loads, worker.stdout)
        if worker.wait():
            raise RuntimeError(f"The worker ended with status {worker.returncode}.")


# Cells ------------------------------------------------------------------------------------


def ours(pair: Pair) -> str:
    return f"{pair.name}: bagshift"


def theirs(pair: Pair) -> str:
    return f"{pair.name}: llp-learn"


def fit_ours(machine: Any, draw: SmallDraw) -> tuple[float, float]:
    """Return accuracy on fresh rows and CPU seconds of the fit."""
    begin = time.process_time()
    machine.fit(draw.X, draw.bags)
    seconds = time.process_time() - begin
    return float(machine.score(draw.X_fresh, draw.y_fresh)), seconds


def cells_of_draw(
    options: argparse.Namespace, python: Path | None, name: str, size: int, seed: int, known: set
) -> Iterator[Row]:
    """Yield the cells of a draw that are not known yet."""
    draw = draw_set(name, size, seed)
    machines = {method: clone(machine) for method, machine in target_only().items()}
    machines |= {ours(pair): pair.ours(size) for pair in PAIRS}
    for method, machine in machines.items():
        if (name, size, seed, method) in known or not wanted(method, options):
            continue
        try:
            accuracy, seconds = fit_ours(machine, draw)
        except Exception:
            print(f"FAILED: {name}, {size}, draw {seed}, {method}", file=sys.stderr)
            traceback.print_exc()
            continue
        yield Row(name, size, seed, method, accuracy, seconds)
    if python is None:
        return
    pairs = [p for p in PAIRS if (name, size, seed, theirs(p)) not in known]
    pairs = [p for p in pairs if wanted(theirs(p), options)]
    for found in run_theirs(python, draw, size, pairs) if pairs else ():
        if "error" in found:
            print(f"FAILED: {name}, {size}, draw {seed}, {found}", file=sys.stderr)
            continue
        is_second = np.array(found["labels"]) > 0
        accuracy = float(np.mean(is_second == (draw.y_fresh == 1)))
        yield Row(name, size, seed, found["name"], accuracy, found["seconds"])


def wanted(method: str, options: argparse.Namespace) -> bool:
    return not options.only or any(part in method for part in options.only)


def read_rows(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Row(
                set=record["set"],
                bag_size=int(record["bag_size"]),
                draw=int(record["draw"]),
                method=record["method"],
                accuracy=float(record["accuracy"]),
                seconds=float(record["seconds"]),
            )
            for record in csv.DictReader(file)
        ]


def append(row: Row, path: Path | None) -> None:
    if path is None:
        return
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(row))


# Report -----------------------------------------------------------------------------------


def print_tables(rows: list[Row], options: argparse.Namespace) -> None:
    for name in options.sets:
        for size in options.bag_sizes:
            cells = [row for row in rows if (row.set, row.bag_size) == (name, size)]
            methods = list(dict.fromkeys(row.method for row in cells))
            print(f"\n{name}, bags of {size}")
            print(f"  {'method':52}{'draws':>6}{'accuracy':>10}{'least':>8}{'CPU s':>10}")
            for method in methods:
                own = [row for row in cells if row.method == method]
                accuracy = [row.accuracy for row in own]
                print(
                    f"  {method:52}{len(own):6d}{np.mean(accuracy):10.3f}{min(accuracy):8.3f}"
                    f"{np.mean([row.seconds for row in own]):10.3f}"
                )


def print_pair(rows: list[Row], pair: Pair) -> bool:
    """Print one algorithm on both sides; False when a bar is missed."""
    places = ("set", "bag_size", "draw")
    sides = [
        {tuple(getattr(row, p) for p in places): row for row in rows if row.method == method}
        for method in (ours(pair), theirs(pair))
    ]
    both = sorted(set(sides[0]) & set(sides[1]))
    if not both:
        return True
    one, other = ([side[key] for key in both] for side in sides)
    gap = np.array([a.accuracy - b.accuracy for a, b in zip(one, other, strict=True)])
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
    seconds = [sum(row.seconds for row in side) for side in (one, other)]
    faster = seconds[1] / max(seconds[0], 1e-9)
    is_accurate = gap.mean() >= -error
    is_fast = faster >= TIMES_FASTER or not pair.is_timed
    mean, its_mean = (np.mean([row.accuracy for row in side]) for side in (one, other))
    print(
        f"  {pair.name:40}{mean:9.3f}{its_mean:10.3f}{gap.mean():+9.3f} ({error:.3f})"
        f"{seconds[0] / len(both):10.3f}{seconds[1] / len(both):10.3f}{faster:9.1f}"
        f"  {'' if is_accurate else 'accuracy MISSED '}{'' if is_fast else 'time MISSED'}"
    )
    return bool(is_accurate and is_fast)


def print_pairs(rows: list[Row]) -> bool:
    if not any(row.method == theirs(pair) for row in rows for pair in PAIRS):
        return True
    print("\nThe same algorithm on both sides, all sets and bag sizes")
    print(
        f"  {'':40}{'bagshift':>9}{'llp-learn':>10}{'gap (error)':>17}{'CPU s':>10}{'theirs':>10}"
        f"{'ratio':>9}"
    )
    met = [print_pair(rows, pair) for pair in PAIRS]
    return all(met)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", type=Path, help="of llp-learn; made where missing")
    parser.add_argument(
        "--temporary-environment", action="store_true", help="make one and throw it away"
    )
    parser.add_argument("--python", default=sys.executable, help="to make it with; 3.8 to 3.11")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--bag-sizes", nargs="+", type=int, default=list(BAG_SIZES))
    parser.add_argument("--only", nargs="+", help="methods with one of these in their name")
    parser.add_argument("--output", type=Path, help="CSV file of all cells")
    parser.add_argument("--report", action="store_true", help="run nothing, print the file")
    return parser.parse_args()


def run(options: argparse.Namespace, python: Path | None) -> int:
    rows = read_rows(options.output)
    known = {(row.set, row.bag_size, row.draw, row.method) for row in rows}
    places = [
        (name, size, seed)
        for seed in range(0 if options.report else options.draws)
        for name in options.sets
        for size in options.bag_sizes
    ]
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, size, seed in places:
            for row in cells_of_draw(options, python, name, size, seed, known):
                append(row, options.output)
                rows.append(row)
                print(
                    f"{name}, bags of {size}, draw {seed}, {row.method}: {row.accuracy:.3f}, "
                    f"{row.seconds:.2f} s",
                    file=sys.stderr,
                    flush=True,
                )
    print_tables(rows, options)
    return 0 if print_pairs(rows) else 1


def main() -> int:
    options = parse()
    if options.temporary_environment:
        with tempfile.TemporaryDirectory() as folder:
            return run(options, make_environment(Path(folder) / "env", options.python))
    if options.environment is None:
        if not options.report:
            print(
                "SKIPPED, llp-learn: no environment given; --environment FOLDER makes one and "
                "uses it."
            )
        return run(options, None)
    return run(options, make_environment(options.environment.expanduser(), options.python))


if __name__ == "__main__":
    sys.exit(main())
