# SPDX-License-Identifier: BSD-3-Clause
"""Entries that sum others up: by their name, or by their number."""

from __future__ import annotations

import re
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

_WHOLE_TOTAL = {"sum", "all", "overall", "everything"}
_TOTAL_WORDS = {"total", "totals", "subtotal", "subtotals"}
_FIRST_WORDS = _WHOLE_TOTAL - {"all"}


def is_named_total(bag: Hashable) -> bool:
    """Whether an id is the name of a total.

    Examples
    --------
    >>> [is_named_total(name) for name in ("Kings County total", "all", "sum of wards", "Allen")]
    [True, True, True, False]
    """
    words = re.findall(r"\w+", bag.casefold()) if isinstance(bag, str) else []
    return bool(
        " ".join(words) in _WHOLE_TOTAL
        or (words and words[0] in _FIRST_WORDS)
        or not _TOTAL_WORDS.isdisjoint(words)
    )


def is_sum_of_others(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of each number whether it is the sum of all others, but for rounding.

    Examples
    --------
    >>> is_sum_of_others(np.array([1.0, 2.0, 6.0, 3.0]))
    array([False, False,  True, False])
    """
    total = numbers.sum()
    is_sum = np.abs(2 * numbers - total) < 1e-6 * max(1.0, abs(total))
    return np.asarray(is_sum & (len(numbers) > 2))
