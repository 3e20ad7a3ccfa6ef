# SPDX-License-Identifier: BSD-3-Clause
"""What can be learned from shares such as these, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import name_some, plural

Level = Literal["warning", "note"]


def share_findings(
    shares: NDArray[np.float64],
    n_rows: NDArray[np.int64],
    *,
    is_noisy: NDArray[np.bool_] | bool = False,
    ids: Sequence[object] | NDArray[np.object_] = (),
) -> Iterator[tuple[Level, str]]:
    """Say what can be learned from shares.

    Parameters
    ----------
    shares : ndarray of shape (n_bags,)
    n_rows : ndarray of shape (n_bags,)
        Rows of each bag.
    is_noisy : bool or ndarray of shape (n_bags,), default=False
        Whether something was added to the shares: a noisy one of 0 or 1 tells no labels.
    ids : sequence of length n_bags, optional
        Bag ids, to be named.

    Yields
    ------
    level : {"warning", "note"}
    sentence : str
    """
    n_bags = len(shares)
    if not n_bags:
        return
    is_pure = ((shares == 0) | (shares == 1)) & ~np.broadcast_to(is_noisy, n_bags)
    n_pure = int(is_pure.sum())
    if n_bags == 1:
        yield (
            "warning",
            "There is one bag only: its share tells how many rows are positive, and which ones "
            "must come from the history.",
        )
    elif np.ptp(shares) == 0:
        yield (
            "warning",
            f"All {n_bags} bags have the share {shares[0]:g}: they tell how many rows are "
            "positive, and which ones must come from the history.",
        )
    elif n_pure == n_bags:
        yield (
            "warning",
            "Every bag has the share 0 or 1, so each share is a label of all its rows.",
        )
    elif n_pure:
        yield (
            "note",
            f"{plural(n_pure, 'bag')} of {n_bags:,} {_have(n_pure)} the share 0 or 1"
            f"{_named(ids, is_pure)}.",
        )
    n_single = int((n_rows == 1).sum())
    if n_single:
        yield (
            "note",
            f"{plural(n_single, 'bag')} {_have(n_single)} a single row{_named(ids, n_rows == 1)}.",
        )


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _named(ids: Sequence[object] | NDArray[np.object_], chosen: NDArray[np.bool_]) -> str:
    if not len(ids):
        return ""
    return f": {name_some(bag for bag, is_one in zip(ids, chosen, strict=True) if is_one)}"
