# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of rows that are worked on at a time."""

from __future__ import annotations

from collections.abc import Iterator

# A square tile of doubles then takes 4.5 MiB: products run at full speed and the passes over
# the tile stay in cache.
TILE_ROWS = 768


def tiles(n_rows: int, tile_rows: int) -> Iterator[slice]:
    """Cut ``range(n_rows)`` into slices of at most `tile_rows` rows."""
    for start in range(0, n_rows, tile_rows):
        yield slice(start, min(start + tile_rows, n_rows))
