# SPDX-License-Identifier: BSD-3-Clause
"""Rows of two domains that are numbered through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def take_rows(X_source: Any, X_target: Any, rows: NDArray[np.intp]) -> Any:
    """Return rows of the two domains stacked, without stacking all of them first.

    Parameters
    ----------
    X_source, X_target : {ndarray, CSR} or None
        Rows of the two domains; at least one is given.
    rows : ndarray of int
        Numbers of rows in rising order, source rows first.

    Returns
    -------
    {ndarray, CSR} of shape (len(rows), n_features)
    """
    n_source = 0 if X_source is None else X_source.shape[0]
    parts = []
    if X_source is not None:
        parts.append(X_source[rows[rows < n_source]])
    if X_target is not None:
        parts.append(X_target[rows[rows >= n_source] - n_source])
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]) or sparse.issparse(parts[1]):
        return sparse.vstack(parts, format="csr")
    return np.vstack(parts)
