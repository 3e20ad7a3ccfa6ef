# SPDX-License-Identifier: BSD-3-Clause
"""Out-of-bag scores of the draws of the accuracy protocol, kept in files.

They take hours and what is made of them seconds, so each draw has its own file, written whole. A
run that was broken off goes on where it stopped. Delete the folder after a change of the machines.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _protocol import Draw, data_folder, make_draw
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift import TGPLM, CountLikelihoodCV, bag_cross_val_predict

# A ninth of the settings of the grid "quick", or less, in the same units for rows of length one.
_GRID = {"C_target": [16.0, 64.0, 256.0], "coupling": [0.1, 1.0, 10.0]}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of a draw, and how right they are.

    Attributes
    ----------
    task, bag_size, draw : the draw
    scores : ndarray of shape (n_bagged,), by machines that have not seen the bag's share
    labels : ndarray of shape (n_bagged,), the hidden ones
    bag_ids : ndarray of shape (n_bagged,)
    fresh : accuracy of the machine trained on all bags, on rows of no bag
    """

    task: str
    bag_size: int
    draw: int
    scores: NDArray[np.float64]
    labels: NDArray[np.int8]
    bag_ids: NDArray[np.int64]
    fresh: float


def machine_of(name: str, draw: Draw) -> Any:
    """Return the unfitted machine of a name, with the kernel for the features of a draw."""
    if name == "tgplm":
        return TGPLM(kernel=draw.kernel)
    return CountLikelihoodCV(_GRID, cv=5, kernel=draw.kernel)


def held_out_scores(
    machine: str, cells: list[tuple[str, int, int]], folder: Path, n_jobs: int
) -> list[HeldOut]:
    """Return the scores of cells (task, bag size, draw), computing what the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if not _path(folder, machine, *cell).exists()]
    Parallel(n_jobs=n_jobs)(delayed(_compute)(machine, *cell, folder) for cell in missing)
    return stored_scores(machine, cells, folder)


def stored_scores(machine: str, cells: list[tuple[str, int, int]], folder: Path) -> list[HeldOut]:
    """Return the scores of those cells that the folder holds."""
    found = []
    for task, bag_size, draw in cells:
        path = _path(folder, machine, task, bag_size, draw)
        if path.exists():
            with np.load(path) as file:
                arrays = {name: file[name] for name in ("scores", "labels", "bag_ids")}
                fresh = float(file["fresh"])
            found.append(HeldOut(task, bag_size, draw, **arrays, fresh=fresh))
    return found


def _path(folder: Path, machine: str, task: str, bag_size: int, draw: int) -> Path:
    words = f"{machine} {task} {bag_size} {draw}"
    return folder / f"{words.replace('/', '-').replace(' ', '_')}.npz"


def _compute(machine: str, task: str, bag_size: int, seed: int, folder: Path) -> None:
    began = time.process_time()
    draw = make_draw(task, data_folder(), bag_size, seed)
    with threadpool_limits(1):
        model = machine_of(machine, draw)
        scores = bag_cross_val_predict(model, draw.X_bagged, draw.bags, source=draw.source)
        model.fit(draw.X_bagged, draw.bags, source=draw.source)
    fresh = float(model.score(draw.X_fresh, draw.y_fresh))
    path = _path(folder, machine, task, bag_size, seed)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, scores=scores, labels=draw.y_bagged, bag_ids=draw.bag_ids, fresh=fresh)
    os.replace(part, path)
    truth = np.mean((scores > 0) == (draw.y_bagged > 0))
    seconds = time.process_time() - began
    print(
        f"{task}, bags of {bag_size}, draw {seed}: out of bag {truth:.3f}, fresh {fresh:.3f}, "
        f"{seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )
