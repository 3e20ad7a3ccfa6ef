# SPDX-License-Identifier: BSD-3-Clause
"""Working on some rows of a matrix at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

# A square tile of doubles takes 4.5 MiB: large enough for fast products, small enough for the
# passes over it to stay in cache.
TILE_ROWS = 768


def tiles(n_rows: int, tile_rows: int) -> Iterator[slice]:
    """Cut ``range(n_rows)`` into slices of at most `tile_rows` rows."""
    for start in range(0, n_rows, tile_rows):
        yield slice(start, min(start + tile_rows, n_rows))


def kernel_dtype(*parts: Any) -> np.dtype[Any]:
    """Return float32 when every given set of rows is float32, else float64."""
    given = [part.dtype for part in parts if part is not None]
    return np.dtype(np.float32 if all(d == np.float32 for d in given) else np.float64)


def in_double(rows: Any) -> Any:
    """Return a tile in double precision, without entries stored twice; `rows` stay as they are."""
    rows = rows.astype(np.float64, copy=False)
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
