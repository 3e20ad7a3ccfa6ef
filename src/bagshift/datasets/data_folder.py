# SPDX-License-Identifier: BSD-3-Clause
"""A folder of data sets of the user's, as ``.npz`` files of one row-wise table each.

A file holds these arrays, and no pickled objects, which are refused:

* ``X``, dense, or the pieces of a CSR matrix ``X_data``, ``X_indices``, ``X_indptr``, ``X_shape``;
* ``y``, whole numbers: -1 and +1, or codes of several classes; and ``y_names``;
* ``domain``, a code for every row, and ``domain_names``, the name of each code;
* perhaps ``group`` and ``group_names`` likewise, and more such pairs or plain columns with one
  entry per row;
* perhaps ``feature_names``, and ``levels_json``: for columns that hold codes of categories, the
  names of the categories.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from bagshift.datasets.row_table import RowTable
from bagshift.exceptions import TableError

VARIABLE = "BAGSHIFT_DATA"
Arrays = dict[str, NDArray[Any]]
_OF_X_AND_Y = {"X", "X_data", "X_indices", "X_indptr", "X_shape", "y"}


def data_folder(path: str | Path | None = None) -> Path | None:
    """Find the folder of data sets.

    Parameters
    ----------
    path : str or Path, optional
        The folder; otherwise the environment variable ``BAGSHIFT_DATA`` names it.

    Returns
    -------
    Path or None
        None when neither names one.

    Raises
    ------
    TableError
        When there is no such folder.
    """
    named = path or os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        source = "" if path else f"{VARIABLE}: "
        raise TableError(f"{source}{folder} is not a folder; name the one that holds the data.")
    return folder


def find_data_sets(folder: str | Path) -> dict[str, Path]:
    """List the data sets of a folder and of the folders in it.

    Parameters
    ----------
    folder : str or Path
        A folder of ``.npz`` files.

    Returns
    -------
    dict of str to Path
        By name: that of the file without its ending, with the folder before it when it lies one
        level down, as in ``uci/sonar``. In alphabetical order, without hidden files.

    Raises
    ------
    TableError
        When there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise TableError(f"{folder} is not a folder; name the one that holds the data.")
    named = {}
    for path in [*folder.glob("*.npz"), *folder.glob("*/*.npz")]:
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            named[inside.with_suffix("").as_posix()] = path
    return dict(sorted(named.items()))


def read_row_table(path: str | Path) -> RowTable:
    """Read one data set.

    Parameters
    ----------
    path : str or Path
        An ``.npz`` file as this module describes it.

    Returns
    -------
    RowTable

    Raises
    ------
    TableError
        When the file is missing, damaged, or not such a file.
    """
    path = Path(path)
    arrays = _read_arrays(path)
    try:
        return _table_of(path.stem, arrays)
    except KeyError as error:
        raise TableError(f"{path} is not a table of rows: it has no {error.args[0]!r}.") from error
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise TableError(f"{path} is not a table of rows: {reason}.") from error


def _read_arrays(path: Path) -> Arrays:
    if not path.is_file():
        raise TableError(f"{path} does not exist; check the name and the folder.")
    try:
        # Opened here, as numpy leaves a file open that turns out not to be an archive.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # damage to a compressed file comes out as nearly any kind
        raise TableError(
            f"{path} cannot be read as an .npz file of plain arrays; it is damaged, of another "
            "kind, or holds pickled objects, which are never loaded."
        ) from error


def _table_of(name: str, arrays: Arrays) -> RowTable:
    X = _matrix(arrays)
    y = _whole(arrays["y"], "y", X.shape[0])
    columns = _row_columns(arrays, X.shape[0])
    for needed, where in (("domain", columns), ("domain_names", arrays)):
        if needed not in where:
            raise KeyError(needed)
    features = _texts(arrays, "feature_names")
    if features and len(features) != X.shape[1]:
        raise ValueError(f"{len(features)} feature_names for {X.shape[1]} columns of X")
    return RowTable(
        name=name,
        X=X,
        y=y,
        domains=columns.pop("domain").astype(str),
        domain_names=_texts(arrays, "domain_names"),
        groups=columns.pop("group").astype(str) if "group" in columns else None,
        feature_names=features,
        class_names=_texts(arrays, "y_names"),
        levels=_levels(arrays, features),
        columns=columns,
    )


def _matrix(arrays: Arrays) -> Any:
    if "X_indptr" not in arrays:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"X is of shape {X.shape} and type {X.dtype}, not a table of numbers")
        return X
    pieces = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
    X = csr_matrix(pieces, shape=tuple(arrays["X_shape"].tolist()))
    X.check_format(full_check=True)
    return X


def _row_columns(arrays: Arrays, n_rows: int) -> Arrays:
    """Return columns with an entry per row; codes that have names become these names."""
    columns: Arrays = {}
    for name, values in arrays.items():
        if name in _OF_X_AND_Y or name.endswith("_names") or values.shape != (n_rows,):
            continue
        if (names := arrays.get(f"{name}_names")) is not None:
            codes = _whole(values, name, n_rows)
            if n_rows and not 0 <= codes.min() <= codes.max() < len(names):
                raise ValueError(f"{name} holds codes that {name}_names has no name for")
            values = names[codes]
        columns[name] = values
    return columns


def _whole(values: NDArray[Any], name: str, n_rows: int) -> NDArray[np.int64]:
    if values.shape != (n_rows,):
        raise ValueError(f"{name} is of shape {values.shape}, but X has {n_rows} rows")
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {values.dtype}, not whole numbers")
    return values.astype(np.int64)


def _texts(arrays: Arrays, name: str) -> tuple[str, ...]:
    return tuple(map(str, arrays[name].tolist())) if name in arrays else ()


def _levels(arrays: Arrays, features: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if "levels_json" not in arrays:
        return {}
    levels = json.loads(str(arrays["levels_json"]))
    if unknown := [name for name in levels if name not in features]:
        raise ValueError(f"levels_json names {unknown[0]!r}, which is no column of X")
    return {name: tuple(map(str, names)) for name, names in levels.items()}
