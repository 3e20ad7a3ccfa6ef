# SPDX-License-Identifier: BSD-3-Clause
"""Look at the rows of a kernel matrix that was computed beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

# Kernels computed in single precision are symmetric to this fraction of their largest entry.
_ASYMMETRY = 1e-5


def check_kernel_matrix(X_source: Any, X_target: Any) -> None:
    """Raise unless the rows given are those of one symmetric kernel matrix.

    Parameters
    ----------
    X_source, X_target : matrix of shape (n_source, n), (n_target, n) or None
        Rows of a precomputed kernel; columns in the same order, source rows first.

    Raises
    ------
    ValueError
        When there is not one column for each row, or the matrix is not symmetric, as when its
        columns stand in another order than its rows.
    """
    parts = [X for X in (X_source, X_target) if X is not None]
    n_rows = sum(X.shape[0] for X in parts)
    n_columns = parts[0].shape[1]
    if n_columns != n_rows:
        raise ValueError(
            f"A precomputed kernel needs one column for each of the {n_rows} training rows, "
            f"source rows first; it has {n_columns} columns."
        )
    first = np.cumsum([0, *(X.shape[0] for X in parts)])
    largest = max(abs(X).max() for X in parts)
    for i, left in enumerate(parts):
        for j, right in enumerate(parts[: i + 1]):
            block = left[:, first[j] : first[j + 1]]
            mirror = right[:, first[i] : first[i + 1]].T
            if abs(block - mirror).max() > _ASYMMETRY * largest:
                raise ValueError(
                    "The precomputed kernel matrix is not symmetric; its columns must stand in "
                    "the order of its rows, source rows first."
                )
