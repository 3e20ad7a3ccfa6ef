# SPDX-License-Identifier: BSD-3-Clause
"""Codes of categories become one column per category."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from bagshift.datasets.row_table import RowTable
from bagshift.exceptions import TableError, name_some


def one_hot_columns(table: RowTable) -> RowTable:
    """Replace each column of category codes by one column of 0 and 1 per category.

    The categories are those that the table's file lists, so every part of one table gets the same
    columns, whatever rows it has. Nothing is learnt from the rows.

    Parameters
    ----------
    table : RowTable
        A dense table. Columns that `RowTable.levels` does not name stay as they are.

    Returns
    -------
    RowTable
        Numbers first, then the categories, named ``column=category``; no `levels` are left.

    Raises
    ------
    TableError
        When a column holds a code that has no category, or is not there.
    """
    if not table.levels:
        return table
    if unknown := [name for name in table.levels if name not in table.feature_names]:
        raise TableError(
            f"{table.name} has categories for {name_some(unknown)}, which is no column of it."
        )
    coded = [table.feature_names.index(name) for name in table.levels]
    plain = [place for place in range(table.X.shape[1]) if place not in coded]
    codes = [np.arange(len(levels)) for levels in table.levels.values()]
    encoder = OneHotEncoder(categories=codes, sparse_output=False, dtype=np.float32)
    try:
        indicators = encoder.fit_transform(table.X[:, coded])
    except ValueError as error:
        raise TableError(f"{table.name} holds codes that have no category: {error}.") from error
    return replace(
        table,
        X=np.hstack([table.X[:, plain].astype(np.float32), indicators]),
        feature_names=(
            *(table.feature_names[place] for place in plain),
            *(f"{name}={level}" for name, levels in table.levels.items() for level in levels),
        ),
        levels={},
    )
