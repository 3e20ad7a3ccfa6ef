# SPDX-License-Identifier: BSD-3-Clause
"""A look at column names before a model is loaded, which takes seconds.

Nothing is trusted here: what the model file says of itself is only compared with the other files,
and :func:`bagshift.persistence.load_model` judges it.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bagshift.columns import require_kinds
from bagshift.exceptions import ModelFileError, TableError
from bagshift.tables import column_names, require_columns

MANIFEST = "manifest.json"
LARGEST_MANIFEST = 16 * 2**20
TABLE_ENDINGS = (".csv", ".parquet")


def look_first(
    model: Path,
    rows: Path,
    *,
    order: str,
    wanted: Sequence[str | None] = (),
    bag: str | None = None,
    shares: Path | None = None,
    shares_bag: str | None = None,
    share_columns: Sequence[str | None] = (),
) -> None:
    """Raise when files are swapped or lack columns, as far as can be told at once.

    Parameters
    ----------
    model : Path
        The model file.
    rows : Path
        Rows to predict.
    order : str
        How the command takes both, for the message.
    wanted : sequence of str or None, default=()
        Columns that the rows must have besides those of the model; None is one not asked for.
    bag : str, optional
        Column of bag ids, by default as at the fit.
    shares : Path, optional
        File of shares; without it they stand beside the rows.
    shares_bag : str, optional
        Column of bag ids there.
    share_columns : sequence of str or None, default=()
        Columns of shares, sizes and noise; when all are None, bags play no part.

    Raises
    ------
    ModelFileError
        When the model is a table or the rows are a model.
    TableError
        When a column is missing.
    """
    if model.suffix.lower() in TABLE_ENDINGS:
        raise ModelFileError(f"{model} is not a bagshift model; the order is {order}.")
    if read_description(rows) is not None:
        raise TableError(f"{rows} is a bagshift model and no table; the order is {order}.")
    description = read_description(model) or {}
    names = column_names(rows)
    kinds = description.get("columns")
    if isinstance(kinds, dict):
        require_kinds(names, kinds, rows.name)
    by_shares = [name for name in share_columns if name is not None]
    needed = [name for name in wanted if name is not None]
    bag = bag or description.get("bag_column")
    if by_shares and bag is not None:
        needed.append(bag)
        if shares is None:
            needed += by_shares
        else:
            _require(shares, column_names(shares), [shares_bag or bag, *by_shares])
    _require(rows, names, needed)


def read_description(path: Path) -> dict[str, Any] | None:
    """Read what a model file says of itself, without following it.

    Parameters
    ----------
    path : Path
        Any file.

    Returns
    -------
    dict or None
        None when that cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
                return None
            read = json.loads(archive.read(MANIFEST))
    except (OSError, ValueError, KeyError, RuntimeError, NotImplementedError, RecursionError):
        return None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, zlib.error):
        return None
    return read if isinstance(read, dict) else None


def _require(path: Path, names: list[str], needed: list[str]) -> None:
    require_columns(pl.DataFrame(schema=names), needed, path.name)
