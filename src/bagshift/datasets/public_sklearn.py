# SPDX-License-Identifier: BSD-3-Clause
"""Two public sets that scikit-learn fetches and checks itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_20newsgroups_vectorized, fetch_kddcup99

from bagshift.datasets.row_table import RowTable
from bagshift.exceptions import TableError

# Attacks by what they are after; the fourth kind, u2r, has too few rows.
ATTACKS = {
    "dos": ("back", "land", "neptune", "pod", "smurf", "teardrop"),
    "probe": ("ipsweep", "nmap", "portsweep", "satan"),
    "r2l": (
        "ftp_write",
        "guess_passwd",
        "imap",
        "multihop",
        "phf",
        "spy",
        "warezclient",
        "warezmaster",
    ),
}
# Columns of KDD Cup 99 that are names or yes and no.
NOT_CONTINUOUS = {
    "protocol_type",
    "service",
    "flag",
    "land",
    "logged_in",
    "is_host_login",
    "is_guest_login",
}
ROWS_PER_CLASS = 1500


def read_kdd99(folder: str | Path | None = None, random_state: int = 0) -> RowTable:
    """Read network connections of KDD Cup 1999 (the 10 % file), an attack or normal.

    Most rows of the file are copies of each other, so each combination of values and label counts
    once. A domain holds one kind of attack, up to 1,500 rows of it, and as many normal rows, which
    no two domains share. The 34 continuous columns are kept; they are very skewed: take
    ``log1p`` first.

    Parameters
    ----------
    folder : str or Path, optional
        Where scikit-learn keeps the file; its own folder otherwise.
    random_state : int, default=0
        Of the choice of rows.

    Returns
    -------
    RowTable
        Domains "dos", "probe" and "r2l", labels -1 for attacks and +1 for normal rows; groups are
        the names of the attacks.

    Raises
    ------
    TableError
        When the file cannot be fetched.
    """
    file = _fetched(fetch_kddcup99, folder)
    kept = [place for place, name in enumerate(file.feature_names) if name not in NOT_CONTINUOUS]
    values = file.data[:, kept].astype(np.float64)
    names = np.array([label.decode().rstrip(".") for label in file.target])
    random = np.random.RandomState(random_state)
    normal = random.permutation(_distinct(values, names, ("normal",)))
    rows: list[NDArray[np.int64]] = []
    sizes = []
    for attacks in ATTACKS.values():
        chosen = random.permutation(_distinct(values, names, attacks))[:ROWS_PER_CLASS]
        rows += [chosen, normal[: len(chosen)]]
        normal = normal[len(chosen) :]
        sizes.append(len(chosen) + len(rows[-1]))
    places = np.concatenate(rows)
    return RowTable(
        name="kdd99",
        X=values[places],
        y=np.where(names[places] == "normal", 1, -1),
        domains=np.repeat(list(ATTACKS), sizes),
        domain_names=tuple(ATTACKS),
        groups=names[places],
        feature_names=tuple(file.feature_names[place] for place in kept),
        class_names=("-1=attack", "+1=normal"),
    )


def read_newsgroups(folder: str | Path | None = None) -> RowTable:
    """Read counts of words of the 20 Newsgroups, without headers.

    It is the version by date, 18,846 messages, with every word that scikit-learn's vectoriser
    finds in the training part.

    Parameters
    ----------
    folder : str or Path, optional
        Where scikit-learn keeps the file; its own folder otherwise.

    Returns
    -------
    RowTable
        Classes and domains are what stands before the first dot of a group's name, such as
        "comp"; groups are the newsgroups.

    Raises
    ------
    TableError
        When the file cannot be fetched.
    """
    file = _fetched(
        fetch_20newsgroups_vectorized,
        folder,
        subset="all",
        remove=("headers",),
        normalize=False,
    )
    groups = np.array(file.target_names)[file.target]
    domains = np.array([name.split(".")[0] for name in file.target_names])[file.target]
    names, codes = np.unique(domains, return_inverse=True)
    return RowTable(
        name="newsgroups",
        X=file.data,
        y=codes.astype(np.int64),
        domains=domains,
        domain_names=tuple(names.tolist()),
        groups=groups,
        feature_names=tuple(map(str, file.feature_names)),
        class_names=tuple(names.tolist()),
    )


def _fetched(fetcher: Any, folder: str | Path | None, **options: Any) -> Any:
    try:
        return fetcher(data_home=None if folder is None else str(folder), **options)
    except OSError as error:  # no network, or another checksum
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise TableError(f"scikit-learn cannot fetch the file: {reason}.") from error


def _distinct(
    values: NDArray[np.float64], names: NDArray[np.str_], wanted: tuple[str, ...]
) -> NDArray[np.int64]:
    """Return the first of equal rows, for each of the labels."""
    first = []
    for name in wanted:
        rows = np.flatnonzero(names == name)
        first.append(rows[np.unique(values[rows], axis=0, return_index=True)[1]])
    return np.concatenate(first)
