# SPDX-License-Identifier: BSD-3-Clause
"""Errors and warnings of the library, and how their sentences name things.

A message is one sentence: the argument or file, the first five bag ids and how many more,
and what to do about it.
"""

import sys
import warnings
from collections.abc import Iterable
from itertools import islice

import numpy as np

_LONGEST_NAME = 60
# Between a user's line and ours there may be these, as when a Pipeline is fitted.
_LIBRARIES = {"bagshift", "joblib", "sklearn"}


class BagError(ValueError):
    """Bags, shares, counts or sizes that cannot be used."""


class TableError(ValueError):
    """A file or frame whose rows or columns cannot be used."""


class ModelFileError(ValueError):
    """A model file that is damaged or holds something we do not write."""


class KernelMemoryError(MemoryError):
    """A kernel matrix that would not fit into the free memory."""


class BagWarning(UserWarning):
    """Bags that say little: one bag, equal shares, pure bags."""


class SourceScaleWarning(UserWarning):
    """Source and target features lie on different scales."""


class PositiveClassWarning(UserWarning):
    """The shares look like shares of the other class."""


class RoundedShareWarning(UserWarning):
    """A share that is not that of a whole count, and does not tell which one was rounded."""


class ReversedScoresWarning(UserWarning):
    """The bags fit a machine and its mirror image about equally well."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of the libraries that led here.

    So a warning names a line that its reader wrote, and is shown once for that line.

    Parameters
    ----------
    message : str
        One sentence.
    category : type of Warning
    """
    level, frame = 1, sys._getframe()
    while frame.f_back and _library_of(frame.f_globals.get("__name__", "")) in _LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _library_of(module: str) -> str:
    return module.partition(".")[0]


def plural(number: int, thing: str) -> str:
    """Count things.

    Parameters
    ----------
    number : int
        How many.
    thing : str
        Singular.

    Returns
    -------
    str

    Examples
    --------
    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def name_some(items: Iterable[object], limit: int = 5) -> str:
    """Name the first few items and say how many more there are.

    Parameters
    ----------
    items : iterable
        What is to be named, such as bag ids.
    limit : int, default=5
        How many are named in full.

    Returns
    -------
    str
        The names, written as Python would write them.

    Examples
    --------
    >>> name_some(["north", "south"])
    "'north', 'south'"
    >>> name_some(range(9))
    '0, 1, 2, 3, 4 and 4 more'
    """
    remaining = iter(items)
    shown = ", ".join(_name(item) for item in islice(remaining, limit))
    n_more = sum(1 for _ in remaining)
    return f"{shown} and {n_more:,} more" if n_more else shown


def name_bags(ids: Iterable[object]) -> str:
    """Name the first five bags, with the word for them.

    Parameters
    ----------
    ids : iterable
        Bag ids.

    Returns
    -------
    str

    Examples
    --------
    >>> name_bags(["north"])
    "bag 'north'"
    >>> name_bags(range(9))
    'bags 0, 1, 2, 3, 4 and 4 more'
    """
    listed = list(ids)
    return f"{'bag' if len(listed) == 1 else 'bags'} {name_some(listed)}"


def _name(item: object) -> str:
    if isinstance(item, np.generic) and not isinstance(item, np.datetime64 | np.timedelta64):
        item = item.item()
    name = repr(item).replace("\n", " ")
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
