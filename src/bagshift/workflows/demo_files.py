# SPDX-License-Identifier: BSD-3-Clause
"""Example files of the kind a user has: labelled history, today's rows, results per bag."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bagshift.datasets import RotatedDigits, rotated_digits
from bagshift.exceptions import TableError
from bagshift.tables import write_table

DECIMALS = 4


@dataclass(frozen=True)
class DemoFiles:
    """The example files and what is in them.

    Attributes
    ----------
    folder : Path
        Where they are.
    digits : RotatedDigits
        The problem they were written from.
    seed : int
        Of its draw.
    """

    folder: Path
    digits: RotatedDigits
    seed: int

    @property
    def history(self) -> Path:
        """Upright digits with labels."""
        return self.folder / "history.csv"

    @property
    def target(self) -> Path:
        """Rotated digits in bags, without labels."""
        return self.folder / "target.parquet"

    @property
    def shares(self) -> Path:
        """Share of eights in every bag."""
        return self.folder / "shares.csv"

    @property
    def fresh(self) -> Path:
        """Further rotated digits, with labels to test against."""
        return self.folder / "fresh.parquet"


def write_demo_files(folder: Path, seed: int = 0) -> DemoFiles:
    """Write the example files.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    seed : int, default=0
        Of the draw.

    Returns
    -------
    DemoFiles

    Raises
    ------
    TableError
        When the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise TableError(f"The folder {folder} cannot be made: {reason}.") from error
    digits = rotated_digits(random_state=seed)
    files = DemoFiles(folder, digits, seed)
    bags = [f"bag {number + 1:02d}" for number in digits.bag_ids]
    write_table(
        _rows("h", digits.X_source, label=digit_names(digits, digits.y_source)), files.history
    )
    write_table(_rows("t", digits.X_bagged, bag=bags), files.target)
    write_table(
        pl.DataFrame(
            {
                "bag": [f"bag {number + 1:02d}" for number in digits.shares],
                "share": list(digits.shares.values()),
            }
        ),
        files.shares,
    )
    write_table(_rows("f", digits.X_fresh, label=digit_names(digits, digits.y_fresh)), files.fresh)
    return files


def digit_names(digits: RotatedDigits, labels: NDArray[np.int64]) -> list[int]:
    """Return the digits that labels 0 and 1 stand for.

    Parameters
    ----------
    digits : RotatedDigits
        The problem.
    labels : ndarray of shape (n_rows,)
        Labels 0 and 1.

    Returns
    -------
    list of int
    """
    return [digits.pair[label] for label in labels]


def _rows(prefix: str, X: NDArray[np.float64], **columns: list[str] | list[int]) -> pl.DataFrame:
    pixels = {f"pixel_{k // 8}_{k % 8}": X[:, k].round(DECIMALS) for k in range(X.shape[1])}
    ids = [f"{prefix}{number:03d}" for number in range(1, len(X) + 1)]
    return pl.DataFrame({"id": ids, **columns, **pixels})
