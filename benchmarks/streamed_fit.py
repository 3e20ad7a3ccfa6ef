# SPDX-License-Identifier: BSD-3-Clause
"""Fits of the command line on files bigger than memory, killed and gone on with.

    python benchmarks/streamed_fit.py                                  # 300,000 rows, a minute
    python benchmarks/streamed_fit.py --rows 100000000 --memory 4GB --folder FOLDER

Rows of 20 columns in bags of ten, scattered over Parquet files, are made on the spot, with a
million rows of history of another slope. For each method `bagshift fit --memory` runs once
undisturbed, and once more, killed by SIGKILL at two moments of its way (a part of the seconds that
the first run took) and begun again each time. Shown are the seconds of each run, the highest
memory of any (VmHWM), and how far the objectives and the weights of the two models are apart; and,
for the machine of counts, the seconds of a pass against those of reading the same files in the
same chunks with as many threads: from disk, as where files are larger than memory, and from
memory. What was made is kept in the folder, if one is named, for the next call.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_COLUMNS, BAG_ROWS, FILE_ROWS = 20, 10, 5_000_000
BLOCK = 1_000_000
MULTIPLIER = 2_654_435_761  # has no divisor with powers of ten, so it permutes the rows
METHODS = ("tgplm", "count-likelihood")
MOMENTS = (0.35, 0.6)
REPEATS = 3


def write_files(folder: Path, n_rows: int, n_history: int) -> None:
    """Write target, shares and history, unless they are there."""
    if (folder / "done").exists():
        return
    rng = np.random.default_rng(0)
    slope = rng.normal(size=N_COLUMNS).astype(np.float32)
    n_bags = n_rows // BAG_ROWS
    shift = (0.5 * rng.standard_normal((n_bags, N_COLUMNS), dtype=np.float32)).astype(np.float16)
    counts = np.zeros(n_bags, dtype=np.int64)
    (folder / "target").mkdir(parents=True, exist_ok=True)
    names = [f"x{j}" for j in range(N_COLUMNS)]
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        with pq.ParquetWriter(
            folder / "target" / f"part-{number:03d}.parquet",
            pa.schema([("bag", pa.int64()), *((name, pa.float32()) for name in names)]),
        ) as writer:
            for first in range(start, min(start + FILE_ROWS, n_rows), BLOCK):
                rows = np.arange(first, min(first + BLOCK, start + FILE_ROWS, n_rows))
                bag = rows * MULTIPLIER % n_rows // BAG_ROWS
                X = rng.standard_normal((len(rows), N_COLUMNS), dtype=np.float32) + shift[bag]
                is_positive = X @ slope + 0.5 + rng.logistic(size=len(rows)) > 0
                counts += np.bincount(bag[is_positive], minlength=n_bags)
                writer.write_table(pa.table([bag, *X.T], names=["bag", *names]))
    shares = pa.table({"bag": np.arange(n_bags), "yes_share": counts / BAG_ROWS})
    pq.write_table(shares, folder / "shares.parquet")
    X = rng.standard_normal((n_history, N_COLUMNS), dtype=np.float32) + np.float32(0.2)
    other = slope + 0.5 * rng.normal(size=N_COLUMNS).astype(np.float32)
    voted = np.where(X @ other + rng.logistic(size=n_history) > 0, "yes", "no")
    history = pa.table([voted, *X.T], names=["voted", *names])
    pq.write_table(history, folder / "history.parquet")
    (folder / "done").touch()


def start(folder: Path, method: str, memory: str, name: str) -> subprocess.Popen[bytes]:
    """Begin a fit, or go on with it."""
    command = [
        *(sys.executable, "-m", "bagshift", "fit"),
        *("--target", str(folder / "target"), "--bag", "bag"),
        *("--shares", str(folder / "shares.parquet"), "--share-column", "yes_share"),
        *("--source", str(folder / "history.parquet"), "--label", "voted", "--positive", "yes"),
        *("--method", method, "--memory", memory, "--work-folder", str(folder / f"{name}.work")),
        *("-o", str(folder / f"{name}.skops")),
    ]
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def watch(process: subprocess.Popen[bytes], limit: float = float("inf")) -> tuple[float, int]:
    """Wait for the end, or kill; return seconds and the highest memory."""
    began, peak = time.monotonic(), 0
    while process.poll() is None:
        if time.monotonic() - began > limit:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            break
        try:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            found = [line for line in status.splitlines() if line.startswith("VmHWM")]
            peak = max([peak, *(int(line.split()[1]) * 1024 for line in found)])
        except OSError:
            pass
        time.sleep(0.1)
    return time.monotonic() - began, peak


def loaded(path: Path) -> tuple[Any, dict[str, Any]]:
    from bagshift.persistence import load_model

    saved = load_model(path)
    return saved.model[-1], saved.manifest.fit


def run_method(folder: Path, method: str, memory: str, moments: tuple[float, ...]) -> bool:
    for name in (f"{method}-whole", f"{method}-killed"):
        shutil.rmtree(folder / f"{name}.work", ignore_errors=True)
        (folder / f"{name}.skops").unlink(missing_ok=True)
        (folder / f"{name}.log").unlink(missing_ok=True)
    whole = f"{method}-whole"
    seconds, peak = watch(start(folder, method, memory, whole))
    print(f"{method}: undisturbed {seconds:,.0f} s, peak {peak / 1e9:.2f} GB", flush=True)
    if not (folder / f"{whole}.skops").exists():
        print((folder / f"{whole}.log").read_text())
        return False
    killed = f"{method}-killed"
    peaks = [peak]
    for moment in moments:
        passed, peak = watch(start(folder, method, memory, killed), moment * seconds)
        peaks.append(peak)
        print(f"  killed after {passed:,.0f} s, peak {peak / 1e9:.2f} GB", flush=True)
    passed, peak = watch(start(folder, method, memory, killed))
    peaks.append(peak)
    print(f"  ended after {passed:,.0f} s more, peak {peak / 1e9:.2f} GB", flush=True)
    (one, first), (two, _) = (loaded(folder / f"{name}.skops") for name in (whole, killed))
    apart = abs(one.objective_ - two.objective_) / abs(one.objective_)
    weights = max(
        float(np.abs(getattr(one, name) - getattr(two, name)).max())
        for name in ("coef_", "intercept_", "source_coef_", "source_intercept_")
    )
    print(f"  objectives apart by {apart:.1e} (bar 1e-10), weights by {weights:.1e} (bar 1e-8)")
    print(f"  highest memory {max(peaks) / 1e9:.2f} GB (bar {memory}); passes {first['n_passes']}")
    print("  settings", json.dumps(first["settings"]))
    return apart <= 1e-10 and weights <= 1e-8


def forget(files: list[Path]) -> None:
    """Have the system give up what it keeps of files in memory, as of files larger than that."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def time_passes(folder: Path, n_threads: int) -> None:
    """Compare a pass of the machine of counts with reading its chunks."""
    from bagshift.scale.stored_rows import stored_rows
    from bagshift.solvers._chunks import CHUNK_ROWS, in_order, threads
    from bagshift.solvers._coordinates import LinearMachine
    from bagshift.solvers.count_likelihood import BagCounts
    from bagshift.solvers.count_passes import RowPasses
    from bagshift.solvers.count_rows import CountedRows

    files = sorted((folder / "count-likelihood-whole.work").rglob("target*/features-*.npy"))
    X = stored_rows(files)
    shares = pq.read_table(folder / "shares.parquet")["yes_share"].to_numpy()
    sizes = np.full(len(shares), BAG_ROWS)
    counts = BagCounts.exact(np.rint(shares * sizes).astype(np.int64), sizes)
    rows = CountedRows(X, counts, np.broadcast_to(1.0, len(sizes)))
    machine = LinearMachine(np.full(X.shape[1], 0.1), 0.0)
    n_chunks = -(-len(X) // CHUNK_ROWS)

    def read(number: int) -> int:
        return len(np.asarray(X[number * CHUNK_ROWS : (number + 1) * CHUNK_ROWS]))

    with threads(n_threads) as pool:
        passes = RowPasses(rows, pool)
        for place in ("disk", "memory"):
            times: dict[str, list[float]] = {"reading": [], "pass": []}
            for _ in range(REPEATS):
                for name, run in (
                    ("reading", lambda: sum(in_order(pool, read, n_chunks))),
                    ("pass", lambda: passes.sums(machine)),
                ):
                    if place == "disk":
                        forget(files)
                    began = time.perf_counter()
                    run()
                    times[name].append(time.perf_counter() - began)
            reading, one_pass = median(times["reading"]), median(times["pass"])
            print(
                f"count machine, {n_threads} threads, files in {place}: a pass takes "
                f"{one_pass:.1f} s, reading its chunks {reading:.1f} s, ratio "
                f"{one_pass / reading:.1f} (bar 2; medians of {REPEATS})"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--history", type=int, default=None, help="default: a hundredth, at most")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=("files", "fits", "passes"), default=None)
    arguments = parser.parse_args()
    n_rows = arguments.rows - arguments.rows % BAG_ROWS
    n_history = arguments.history or min(1_000_000, max(n_rows // 10, 1_000))
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="bagshift-streamed-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        write_files(folder, n_rows, n_history)
        print(f"{n_rows:,} rows in {n_rows // BAG_ROWS:,} bags, {n_history:,} of history")
        is_good = True
        if arguments.only in (None, "fits"):
            for method in arguments.methods:
                is_good &= run_method(folder, method, arguments.memory, MOMENTS)
        if arguments.only in (None, "passes") and "count-likelihood" in arguments.methods:
            time_passes(folder, arguments.threads)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
