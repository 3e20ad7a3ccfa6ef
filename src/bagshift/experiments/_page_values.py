# SPDX-License-Identifier: BSD-3-Clause
"""What stands in the cells of a table, and how it is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeGuard

NOTHING = "–"
# Longer tables are folded in HTML and only named in Markdown: pages stay readable.
MOST_ROWS = 60


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; NaN where there is none.

    Attributes
    ----------
    value : float
        The number.
    low, high : float
        Ends of the interval.
    """

    value: float
    low: float = math.nan
    high: float = math.nan


class Probability(float):
    """A p-value: where it is too small for its decimals, that is said instead of zero."""


PageValue = str | float | int | Estimate | None


def is_nothing(value: Any) -> bool:
    """Return whether there is no value: None, NaN, or an estimate of NaN."""
    if isinstance(value, Estimate):
        value = value.value
    return value is None or (isinstance(value, Real) and math.isnan(value))


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether it is a number to be aligned on the right."""
    return isinstance(value, Real) and not isinstance(value, bool)


def shown(value: PageValue, decimals: int) -> str:
    """Return how a value reads in a table.

    Parameters
    ----------
    value : str, number, Estimate or None
        The value.
    decimals : int
        Of numbers that are not whole by kind.

    Returns
    -------
    str

    Examples
    --------
    >>> shown(Estimate(0.5, 0.25, 0.75), 2), shown(3, 2), shown(float("nan"), 2)
    ('0.50 [0.25, 0.75]', '3', '–')
    """
    if is_nothing(value):
        return NOTHING
    if isinstance(value, Estimate):
        text = _number(value.value, decimals)
        if math.isnan(value.low) or math.isnan(value.high):
            return text
        return f"{text} [{_number(value.low, decimals)}, {_number(value.high, decimals)}]"
    if isinstance(value, Probability) and 0 <= value < 0.5 * 10.0**-decimals:
        return f"<{10.0**-decimals:.{decimals}f}"
    return _number(value, decimals) if is_number(value) else str(value)


def _number(value: float, decimals: int) -> str:
    if isinstance(value, Integral):
        return f"{int(value)}"
    # Adding zero makes no difference but to a negative zero, which would keep its sign.
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"
