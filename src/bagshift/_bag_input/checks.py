# SPDX-License-Identifier: BSD-3-Clause
"""What shares, counts, sizes and weights must satisfy, and the sentence when they do not."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bagshift._bag_input.columns import BagColumn, FloatArray
from bagshift._bag_input.ids import RowIds, is_blank
from bagshift.exceptions import BagError, name_some

_ROUNDING = 1e-6
_TOTAL_WORDS = ("total", "totals", "grand total", "subtotal", "sum", "all", "overall")
_SILENT_CLASSES = ((0, 1), (-1, 1))

Ids = Sequence[Hashable]


def order_classes(column: BagColumn, name: str, positive: Any, negative: Any) -> BagColumn:
    """Put the two value columns of a frame in the order negative, positive."""
    if column.classes is None:
        return column
    first, second = column.classes
    if (positive is not None and positive == first) or (
        positive is None and negative is not None and negative == second
    ):
        return replace(column, values=column.values[:, ::-1], classes=[second, first])
    if positive is not None and positive == second:
        return column
    if positive is None and negative is not None and negative == first:
        return column
    if positive is None and negative is None and not isinstance(first, str):
        for pair in _SILENT_CLASSES:
            if set(column.classes) == set(pair):
                order = [column.classes.index(label) for label in pair]
                return replace(column, values=column.values[:, order], classes=list(pair))
    raise BagError(
        f"{name} has two columns, {name_some(column.classes)}, and it is not said which holds the "
        "positive class: pass positive= with one of these names, or select one column."
    )


def check_matched(
    column: BagColumn, name: str, rows: RowIds, without_rows: Ids, without_entry: Ids
) -> None:
    """Refuse bags that are in the rows or in the column only."""
    blank = [bag for bag in without_rows if is_blank(bag)]
    totals = [bag for bag in without_rows if _is_total(bag, column)]
    if totals:
        raise BagError(
            f"{name} has a total row {name_some(totals)} that is no bag of the rows: leave it out."
        )
    if blank:
        raise BagError(
            f"{name} has a blank bag id {name_some(blank)}: fill it in or leave that entry out."
        )
    advice = f'add or remove them, or pass on_unmatched="drop"{_near_miss(column, rows)}.'
    if without_entry:
        raise BagError(
            f"{name} has no entry for bags {name_some(without_entry)} of the rows: {advice}"
        )
    if without_rows:
        raise BagError(
            f"{name} has entries for bags {name_some(without_rows)} that have no rows: {advice}"
        )


def _is_total(bag: Hashable, column: BagColumn) -> bool:
    if isinstance(bag, str) and bag.strip().rstrip(":").casefold() in _TOTAL_WORDS:
        return True
    if len(column.ids) < 3 or column.per_row:
        return False
    numbers = column.values if column.values.ndim == 1 else column.values.sum(axis=1)
    own = numbers[column.ids.index(bag)]
    return bool(own > 1 and own == numbers.sum() - own)


def _near_miss(column: BagColumn, rows: RowIds) -> str:
    """A hint when ids differ in type, spaces or letter case only."""
    theirs = {str(bag).strip().casefold(): bag for bag in column.ids}
    matched = set(column.keys())
    for key, bag in zip(rows.positions, rows.ids, strict=True):
        other = theirs.get(str(bag).strip().casefold())
        if key not in matched and other is not None:
            return f" (ids match by equality: {bag!r} in the rows is not {other!r})"
    return ""


def check_shares(numbers: FloatArray, ids: Ids) -> FloatArray:
    """Shares of the positive class in [0, 1]."""
    _refuse_missing(numbers, "shares", ids)
    outside = _any_class((numbers < -_ROUNDING) | (numbers > 1 + _ROUNDING))
    if outside.any():
        named = _named_values(numbers, outside, ids)
        if _looks_like_percent(numbers):
            raise BagError(f"shares looks like 0-100 in bags {named}: divide by 100.")
        raise BagError(f"shares must lie in [0, 1] but does not in bags {named}: correct them.")
    if numbers.ndim == 2:
        off = np.abs(numbers.sum(axis=1) - 1) > _ROUNDING
        if off.any():
            raise BagError(
                "shares of the two classes must sum to 1 but do not in bags "
                f"{_named_values(numbers, off, ids)}: pass the share of positives only."
            )
        numbers = numbers[:, 1]
    return np.clip(numbers, 0.0, 1.0)


def _looks_like_percent(numbers: FloatArray) -> bool:
    return bool(numbers.min() >= 0 and numbers.max() <= 100 and np.median(numbers) > 1)


def check_counts(
    numbers: FloatArray, sizes: FloatArray, declared: bool, ids: Ids
) -> tuple[FloatArray, FloatArray]:
    """Shares and sizes from whole numbers of positives (or of both classes)."""
    _refuse_missing(numbers, "counts", ids)
    _refuse(numbers, numbers < 0, "counts", "must not be negative", ids)
    _refuse(numbers, numbers != np.rint(numbers), "counts", "must be whole numbers", ids)
    if numbers.ndim == 2:
        totals = numbers.sum(axis=1)
        if declared:
            _refuse(totals, totals != sizes, "counts", "of both classes must sum to sizes", ids)
        _refuse(totals, totals < sizes, "counts", "must not be fewer than the rows seen", ids)
        numbers, sizes = numbers[:, 1], totals
    _refuse(
        numbers,
        numbers > sizes,
        "counts",
        "must not exceed the bag's size",
        ids,
        "; pass sizes= if the bags are larger than the rows seen",
    )
    return numbers / sizes, sizes


def check_sizes(numbers: FloatArray | None, n_rows: NDArray[np.int64], ids: Ids) -> FloatArray:
    """Sizes: whole numbers, no smaller than the rows seen; these by default."""
    if numbers is None:
        return n_rows.astype(np.float64)
    _refuse_missing(numbers, "sizes", ids)
    _refuse(numbers, numbers <= 0, "sizes", "must be positive", ids)
    _refuse(numbers, numbers != np.rint(numbers), "sizes", "must be whole numbers", ids)
    _refuse(numbers, numbers < n_rows, "sizes", "must not be smaller than the rows seen", ids)
    return numbers


def check_weights(numbers: FloatArray | None, ids: Ids) -> FloatArray:
    """Bag weights: positive numbers; 1 by default."""
    if numbers is None:
        return np.ones(len(ids))
    _refuse_missing(numbers, "weights", ids)
    _refuse(numbers, numbers <= 0, "weights", "must be positive", ids)
    return numbers


def _refuse_missing(numbers: FloatArray, name: str, ids: Ids) -> None:
    bad = _any_class(~np.isfinite(numbers))
    if bad.any():
        raise BagError(
            f"{name} must be finite but is missing or infinite in bags "
            f"{_named_values(numbers, bad, ids)}: give a number or leave the bag out."
        )


def _refuse(
    numbers: FloatArray, bad: NDArray[np.bool_], name: str, rule: str, ids: Ids, also: str = ""
) -> None:
    bad = _any_class(bad)
    if bad.any():
        named = _named_values(numbers, bad, ids)
        raise BagError(f"{name} {rule}, but see bags {named}: correct them{also}.")


def _any_class(bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return bad if bad.ndim == 1 else bad.any(axis=1)


def _named_values(numbers: FloatArray, bad: NDArray[np.bool_], ids: Ids) -> str:
    """Name the bad bags and show the first bad number."""
    places = np.flatnonzero(bad)
    example = np.array2string(numbers[places[0]], threshold=4, precision=6)
    return f"{name_some(ids[place] for place in places)} (first: {example})"
