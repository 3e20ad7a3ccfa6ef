# SPDX-License-Identifier: BSD-3-Clause
"""Public data sets as tables of rows, ready to be cut into domains."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.datasets.public import fetch
from bagshift.datasets.public_digits import read_mnist_usps
from bagshift.datasets.public_sklearn import read_kdd99, read_newsgroups
from bagshift.datasets.row_table import RowTable
from bagshift.exceptions import TableError, name_some

Folder = str | Path | None

_ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
)
_ADULT_NUMBERS = (
    "age",
    "fnlwgt",
    "education_num",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
)


def fetch_table(name: str, folder: Folder = None) -> RowTable:
    """Fetch a public data set, unless it is there already, and read it.

    Parameters
    ----------
    name : str
        One of

        * "adult": census, domains "data" and "test"; categories as codes
          (:func:`bagshift.datasets.one_hot_columns` makes columns of them);
        * "spambase", "ionosphere", "sonar": one domain, "all";
        * "mnist_usps": digits of 16 x 16 pixels, domains "mnist" and "usps", classes 0 to 9
          (choose two with `RowTable.pair`);
        * "kdd99": connections, normal (+1) or an attack (-1), domains "dos", "probe" and "r2l";
        * "newsgroups": counts of words of all 20 Newsgroups, which are the groups (choose classes
          with `RowTable.by_groups`).

    folder : str or Path, optional
        Where to keep the files; a folder for caches of the user's otherwise.

    Returns
    -------
    RowTable

    Raises
    ------
    TableError
        When there is no such set, or a file cannot be fetched or is not the one it was.
    ImportError
        When pooch is not installed ("kdd99" and "newsgroups" do not need it).
    """
    if name not in _READERS:
        raise TableError(
            f"No public data set is named {name!r}; known are {name_some(_READERS, 20)}."
        )
    return _READERS[name](folder)


def _read_adult(folder: Folder) -> RowTable:
    parts = [_records(fetch(f"adult.{part}", folder), 15) for part in ("data", "test")]
    cells = np.concatenate(parts)
    columns, levels = [], {}
    for place, name in enumerate(_ADULT_COLUMNS):
        if name in _ADULT_NUMBERS:
            columns.append(cells[:, place].astype(np.int32))
            continue
        names, codes = np.unique(cells[:, place], return_inverse=True)
        levels[name] = tuple(names.tolist())
        columns.append(codes.astype(np.int32))
    return RowTable(
        name="adult",
        X=np.column_stack(columns),
        y=_signs(np.char.rstrip(cells[:, 14], ".") == ">50K"),
        domains=np.repeat(["data", "test"], [len(part) for part in parts]),
        domain_names=("data", "test"),
        feature_names=_ADULT_COLUMNS,
        class_names=("-1=other", "+1=>50K"),
        levels=levels,
    )


def _read_uci(
    folder: Folder,
    *,
    file: str,
    positive: str,
    class_names: tuple[str, str],
    n_features: int,
    constant: tuple[int, ...] = (),
) -> RowTable:
    """Read a file of numbers with the class in the last column."""
    cells = _records(fetch(file, folder), n_features + 1)
    X = np.delete(cells[:, :-1].astype(np.float64), constant, axis=1)
    return RowTable(
        name=Path(file).stem,
        X=X,
        y=_signs(cells[:, -1] == positive),
        domains=np.full(len(X), "all"),
        domain_names=("all",),
        class_names=class_names,
    )


def _records(path: Path, n_cells: int) -> NDArray[Any]:
    """Return the lines of a file that have as many cells; the others are remarks or blank."""
    with path.open(newline="", encoding="utf-8") as file:
        records = [
            line for line in csv.reader(file, skipinitialspace=True) if len(line) == n_cells
        ]
    return np.array(records)


def _signs(is_positive: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(is_positive, 1, -1)


_READERS: dict[str, Callable[[Folder], RowTable]] = {
    "adult": _read_adult,
    "spambase": partial(
        _read_uci,
        file="spambase.data",
        positive="1",
        class_names=("-1=not spam", "+1=spam"),
        n_features=57,
    ),
    "ionosphere": partial(
        _read_uci,
        file="ionosphere.data",
        positive="g",
        class_names=("-1=bad", "+1=good"),
        n_features=34,
        constant=(1,),
    ),
    "sonar": partial(
        _read_uci,
        file="sonar.all-data",
        positive="R",
        class_names=("-1=mine", "+1=rock"),
        n_features=60,
    ),
    "mnist_usps": read_mnist_usps,
    "kdd99": read_kdd99,
    "newsgroups": read_newsgroups,
}
