# SPDX-License-Identifier: BSD-3-Clause
r"""From columns to features: decided once, done the same way by SQL and by NumPy.

A number gives one feature, with missing values at the mean, and where values were missing a
second one that says so. A date is the number of its seconds. A text gives one feature for each of
its frequent levels, and one for all others together. With ``standardise`` every feature :math:`x`
becomes :math:`(x-\mu)/\sigma` with the mean and the standard deviation over the rows of both
tables, missing values filled in, so that all features have mean 0 and variance 1 there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bagshift.columns import Kind
from bagshift.exceptions import TableError, plural
from bagshift.scale.statistics import ColumnStatistics, TableStatistics

Part = Literal["value", "missing", "level", "other"]

# Threads add numbers in an order that changes from run to run, and so the last digits of a mean.
# Rounded to this share of the deviation it is the same in every run.
STEADY = 2.0**-20


@dataclass(frozen=True)
class Feature:
    """One output of a column.

    Attributes
    ----------
    name : str
        What to call it; no two features have the same name, in upper or lower case.
    column : str
        Where it comes from.
    part : {"value", "missing", "level", "other"}
        The number itself, whether there is none, whether the text is one level, or one of those
        without a feature of their own.
    level : str
        The level of ``part="level"``.
    shift, scale : float
        What is subtracted, and what the difference is divided by.
    """

    name: str
    column: str
    part: Part
    level: str = ""
    shift: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class Preparation:
    """How rows become features.

    Attributes
    ----------
    kinds : dict of str to {"number", "date", "text"}
        Columns that are read.
    fills : dict of str to float
        What stands for a missing number or date.
    features : tuple of Feature
        In the order of the features.
    nan_columns : tuple of str
        Columns in which NaN was seen.
    ignored : dict of str to str
        Columns that are not read, and why.
    """

    kinds: dict[str, Kind]
    fills: dict[str, float]
    features: tuple[Feature, ...]
    nan_columns: tuple[str, ...] = ()
    ignored: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [feature.name for feature in self.features]

    def levels_of(self, column: str) -> list[str]:
        """List the levels of a column that have a feature or are known to be left out.

        Parameters
        ----------
        column : str

        Returns
        -------
        list of str
        """
        return [f.level for f in self.features if f.column == column and f.part == "level"]

    def to_json(self) -> str:
        """Write everything as JSON.

        Returns
        -------
        str
        """
        return json.dumps(asdict(self), allow_nan=False, ensure_ascii=False, indent=1)

    @staticmethod
    def from_json(text: str) -> Preparation:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        Preparation

        Raises
        ------
        TableError
            When it is something else.
        """
        try:
            parts = json.loads(text)
            features = tuple(Feature(**feature) for feature in parts.pop("features"))
            nan_columns = tuple(parts.pop("nan_columns"))
            preparation = Preparation(features=features, nan_columns=nan_columns, **parts)
            _check(preparation)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TableError(
                "The preparation of columns is damaged, or was written by another version; "
                "prepare the columns again."
            ) from error
        return preparation


def prepare(
    statistics: TableStatistics,
    *,
    standardise: bool = True,
    missing_features: bool = True,
) -> Preparation:
    """Decide how the columns become features.

    Parameters
    ----------
    statistics : TableStatistics
        What the columns of both tables hold.
    standardise : bool, default=True
        Whether every feature gets mean 0 and variance 1 over the rows of both tables.
    missing_features : bool, default=True
        Whether columns with missing values get a feature that says where.

    Returns
    -------
    Preparation

    Raises
    ------
    TableError
        When a column holds infinite numbers.
    """
    features: list[Feature] = []
    fills = {}
    for name, column in statistics.columns.items():
        if column.n_infinite:
            raise TableError(
                f"Column {name!r} of {' and '.join(statistics.names)} is infinite or too large "
                f"in {plural(column.n_infinite, 'row')}; correct these or leave them empty."
            )
        if column.kind == "text":
            features += _text_features(name, column, missing_features)
        else:
            mean = _steady(column.mean, column.deviation)
            fills[name] = mean if math.isfinite(mean) else 0.0
            features += _number_features(name, column, fills[name], missing_features)
    if not standardise:
        features = [_unscaled(feature) for feature in features]
    return Preparation(
        {name: column.kind for name, column in statistics.columns.items()},
        fills,
        tuple(_distinctly_named(features)),
        tuple(name for name, column in statistics.columns.items() if column.n_nan),
        dict(statistics.ignored),
    )


def _number_features(
    name: str, column: ColumnStatistics, fill: float, missing_features: bool
) -> list[Feature]:
    # Filled values lie on the mean, and make the deviation over all rows smaller.
    present = 1 - column.n_missing / column.n_rows
    deviation = column.deviation * math.sqrt(present)
    features = [Feature(name, name, "value", shift=fill, scale=_scale(deviation))]
    if missing_features and column.n_missing:
        features.append(
            _indicator(f"{name} is missing", name, "missing", column.n_missing, column)
        )
    return features


def _text_features(name: str, column: ColumnStatistics, missing_features: bool) -> list[Feature]:
    levels = sorted(column.levels)
    says_missing = bool(missing_features and column.n_missing)
    is_complete = not column.n_missing or says_missing
    if len(levels) == 2 and not column.n_other and is_complete:
        levels = levels[1:]  # the other one is where this one is not
    features = [
        _indicator(f"{name}: {level}", name, "level", count, column, level)
        for level, count in levels
    ]
    if column.n_other:
        features.append(_indicator(f"{name}: other", name, "other", column.n_other, column))
    if says_missing:
        features.append(
            _indicator(f"{name} is missing", name, "missing", column.n_missing, column)
        )
    return features


def _missing(name: str, column: ColumnStatistics) -> Feature:
    return _indicator(f"{name} is missing", name, "missing", column.n_missing, column)


def _indicator(
    name: str, column: str, part: Part, count: int, statistics: ColumnStatistics, level: str = ""
) -> Feature:
    share = count / statistics.n_rows
    return Feature(name, column, part, level, share, _scale(math.sqrt(share * (1 - share))))


def _steady(number: float, deviation: float) -> float:
    """Round to a small share of the deviation; powers of two keep whole numbers whole."""
    if not deviation > 0 or not math.isfinite(number):
        return number
    step = 2.0 ** math.floor(math.log2(deviation)) * STEADY
    return round(number / step) * step


def _scale(deviation: float) -> float:
    return _steady(deviation, deviation) if deviation > 0 and math.isfinite(deviation) else 1.0


def _unscaled(feature: Feature) -> Feature:
    return Feature(feature.name, feature.column, feature.part, feature.level)


def _distinctly_named(features: list[Feature]) -> list[Feature]:
    """Add numbers to names that are the same in SQL."""
    taken: set[str] = set()
    named = []
    for feature in features:
        name, number = feature.name, 1
        while name.lower() in taken:
            number += 1
            name = f"{feature.name} ({number})"
        taken.add(name.lower())
        named.append(Feature(**{**asdict(feature), "name": name}))
    return named


def _check(preparation: Preparation) -> None:
    """Raise unless all parts are of their types, as they go into statements of SQL."""
    parts: Collection[Any] = preparation.kinds.values()
    if not set(parts) <= {"number", "date", "text"}:
        raise ValueError("kind")
    numbers = [*preparation.fills.values()]
    for feature in preparation.features:
        numbers += [feature.shift, feature.scale]
        texts = (feature.name, feature.column, feature.level)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("name")
        if feature.part not in ("value", "missing", "level", "other"):
            raise ValueError("part")
        if feature.part == "value" and feature.column not in preparation.fills:
            raise ValueError("fill")
        if feature.column not in preparation.kinds or not feature.scale:
            raise ValueError("column")
    if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
        raise TypeError("number")
