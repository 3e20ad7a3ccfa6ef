# SPDX-License-Identifier: BSD-3-Clause
"""What ids, shares, counts, sizes and weights must satisfy, and the sentence when they do not.

Noise that was added to a number, and is declared, excuses it from staying in its range.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.class_columns import two_columns
from bagshift._bags.columns import BagColumn
from bagshift._bags.ids import RowIds, canonical_id, is_blank
from bagshift._bags.near_misses import differences, find_near_miss
from bagshift._bags.noise_column import Laws, is_additive, scales_in_shares
from bagshift._bags.numbers import FloatArray
from bagshift._bags.totals import is_named_total, is_sum_of_others
from bagshift.exceptions import (
    BagError,
    RoundedShareWarning,
    name_bags,
    name_some,
    warn_caller,
)
from bagshift.noise import GeometricNoise

_ROUNDING = 1e-6
_MOST_SCALES = 10
"""Noise that moves a number by more scales than this is as good as impossible (e^-10)."""
_IMPOSSIBLE_SCALES = 50
_ENOUGH_BAGS = 5
_DECIMALS = (2, 3, 4, 5, 6)
_NOISE_ADVICE = "pass noise= with its law if noise was added"

Ids = Sequence[Hashable]
BoolArray = NDArray[np.bool_]


# Ids --------------------------------------------------------------------------------------


def check_matched(
    column: BagColumn, name: str, rows: RowIds, without_rows: Ids, without_entry: Ids
) -> None:
    """Refuse bags that are only in the rows or only in the column.

    Parameters
    ----------
    column : BagColumn
    name : str
        The argument's name.
    rows : RowIds
    without_rows : sequence of ids
        Ids of the column that no row has.
    without_entry : sequence of ids
        Ids of the rows that the column lacks.
    """
    totals = _find_totals(column, without_rows)
    if totals:
        raise BagError(
            f"{name} has a total row, {name_some(totals)}, that is not a bag of the rows: leave "
            "it out."
        )
    n_blank = sum(map(is_blank, without_rows))
    if n_blank:
        raise BagError(
            f"{name} has a blank bag id in {n_blank:,} of {len(column.ids):,} entries: fill the "
            "ids in or leave these entries out."
        )
    lacks = []
    if without_entry:
        lacks.append(f"no entry for {name_bags(without_entry)} of the rows")
    if without_rows:
        lacks.append(f"an entry but no row for {name_bags(without_rows)}")
    if lacks:
        advice = near_miss_advice(column, rows) or (
            'correct the ids, or pass on_unmatched="drop" to leave such bags out'
            if name in ("shares", "counts")
            else "give exactly one law, or None, per bag"
            if name == "noise"
            else "give exactly one number per bag"
        )
        raise BagError(f"{name} has {' and '.join(lacks)}: {advice}.")


def _find_totals(column: BagColumn, candidates: Ids) -> list[Hashable]:
    """List the entries that are the sum of the others, by their name or by their number."""
    finite = np.where(np.isfinite(column.values), column.values, 0.0)
    numbers = finite if finite.ndim == 1 else finite.sum(axis=1)
    is_sum = (numbers > 1) & is_sum_of_others(numbers)
    return [
        bag
        for bag in candidates
        if is_named_total(bag) or is_sum[column.entry_of[canonical_id(bag)]]
    ]


def near_miss_advice(column: BagColumn, rows: RowIds) -> str:
    """Point out ids that differ in type or spelling only; empty where there are none."""
    pair = find_near_miss(
        [
            bag
            for key, bag in zip(rows.places, rows.ids, strict=True)
            if key not in column.entry_of
        ],
        column.ids,
    )
    if pair is None:
        return ""
    bag, other = pair
    return (
        f"ids match by equality, and {bag!a} in the rows is not {other!a} (they differ "
        f"in {' and '.join(differences(bag, other))}), so give both the same type and spelling"
    )


# Numbers ----------------------------------------------------------------------------------


def check_shares(
    numbers: FloatArray, ids: Ids, noise: Laws, sizes: FloatArray, *, has_rest: bool = False
) -> FloatArray:
    """Return the shares of all classes, each in [0, 1] unless noise was added to it.

    Parameters
    ----------
    numbers : ndarray of shape (n_bags,) or (n_bags, n_classes)
        Shares of the positive class of two, or of every class.
    ids : sequence of length n_bags
    noise : ndarray of shape (n_bags,)
    sizes : ndarray of shape (n_bags,)
    has_rest : bool, default=False
        Whether the last column is what the others leave of 1.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)
    """
    _check_finite(numbers, "shares", ids)
    if has_rest:
        _check_rest(numbers[:, :-1], ids)
    outside = (numbers < -_ROUNDING) | (numbers > 1 + _ROUNDING)
    if outside.any() and _looks_like_percent(numbers):
        scales = scales_in_shares(noise, sizes)
        # Noise that wide would have made half of the shares negative.
        drowned = (scales >= 1) & (len(ids) >= _ENOUGH_BAGS)
        unexplained = (1 + _ROUNDING + _MOST_SCALES * scales < numbers.T) | drowned
        if unexplained.any():
            where = _where(numbers, outside, ids)
            advice = "divide by 100"
            if _are_whole(numbers):
                advice += ", or pass counts= if these whole numbers are counts"
            raise BagError(f"shares looks like 0-100 in {where}: {advice}.")
    noisy = is_additive(noise)
    _refuse(
        numbers,
        (outside.T & ~noisy).T,
        ids,
        "shares must lie in [0, 1]",
        "pass counts= if these whole numbers are counts"
        if _are_whole(numbers)
        else "correct or leave them out"
        if numbers.ndim == 2 and numbers.shape[1] > 2
        else f"correct or leave them out, or {_NOISE_ADVICE}",
    )
    if numbers.ndim == 2 and numbers.shape[1] > 2:
        return _shares_that_sum_to_one(numbers, ids)
    if numbers.ndim == 2:
        _refuse(
            numbers,
            np.abs(numbers.sum(axis=1) - 1) > _ROUNDING,
            ids,
            "shares of the two classes must sum to 1",
            "pass one share per bag, that of the positive class",
        )
        numbers = numbers[:, 1]
    _check_possible(numbers, sizes, noise, ids)
    return two_columns(np.where(noisy, numbers, np.clip(numbers, 0.0, 1.0)))


def _check_rest(numbers: FloatArray, ids: Ids) -> None:
    """Refuse shares that leave less than nothing."""
    if not _looks_like_percent(numbers):  # which has a sentence of its own
        _refuse(
            numbers,
            numbers.sum(axis=1) > 1 + _ROUNDING,
            ids,
            "shares must not sum to more than 1 where other= has the rest",
            "correct them",
        )


def _shares_that_sum_to_one(numbers: FloatArray, ids: Ids) -> FloatArray:
    """Return shares of more than two classes, scaled where decimals alone keep them from 1."""
    numbers = np.clip(numbers, 0.0, 1.0)
    total = numbers.sum(axis=1)
    off = np.abs(total - 1)
    digits = next((d for d in _DECIMALS if np.all(numbers == numbers.round(d))), None)
    rounding = _ROUNDING if digits is None else 0.5 * numbers.shape[1] * 10.0**-digits
    _refuse(
        total,
        off > max(rounding, _ROUNDING),
        ids,
        "shares of all classes must sum to 1",
        "correct them, or name the class that has the rest with other=",
    )
    is_rounded = off > _ROUNDING
    if is_rounded.any():
        warn_caller(
            f"the shares of {name_bags(np.asarray(ids, dtype=object)[is_rounded])} sum to 1 only "
            "but for their decimals, so they are taken as rounded and scaled to sum to 1: pass "
            "counts= if there are any.",
            RoundedShareWarning,
        )
    return np.asarray(numbers / total[:, None])


def _check_possible(shares: FloatArray, sizes: FloatArray, noise: Laws, ids: Ids) -> None:
    """Refuse published numbers that no true one explains under the law of the bag."""
    distance = np.maximum(-shares, shares - 1.0)
    scales = scales_in_shares(noise, sizes)
    far = is_additive(noise) & (distance > _IMPOSSIBLE_SCALES * scales + _ROUNDING)
    if far.any():
        raise BagError(
            f"the published number of {name_bags(np.asarray(ids, dtype=object)[far])} lies more "
            f"than {_IMPOSSIBLE_SCALES} scales of its noise outside of what is possible: correct "
            "the number, or the law in noise=."
        )


def _looks_like_percent(numbers: FloatArray) -> bool:
    if numbers.min() < 0 or numbers.max() > 100 or numbers.max() < 2:
        return False
    return bool(_are_whole(numbers) or np.mean(numbers[numbers > 0] > 1) > 0.5)


def _are_whole(numbers: FloatArray) -> bool:
    """Tell numbers that shares are not: all whole, and not all of them 0 or 1."""
    return bool((numbers == np.rint(numbers)).all() and np.any(numbers > 1))


def check_counts(
    numbers: FloatArray, sizes: FloatArray, declared: bool, ids: Ids, noise: Laws
) -> tuple[FloatArray, FloatArray]:
    """Return shares and sizes of whole numbers of positives, or of all classes.

    Where noise was added the numbers may be negative, above the size, and not whole unless the
    noise is.

    Parameters
    ----------
    numbers : ndarray of shape (n_bags,) or (n_bags, n_classes)
    sizes : ndarray of shape (n_bags,)
        Declared sizes, else the rows seen.
    declared : bool
    ids : sequence of length n_bags
    noise : ndarray of shape (n_bags,)

    Returns
    -------
    shares : ndarray of shape (n_bags, n_classes)
    sizes : ndarray of shape (n_bags,)
    """
    _check_finite(numbers, "counts", ids)
    noisy = is_additive(noise)
    _refuse(
        numbers,
        ((numbers < 0).T & ~noisy).T,
        ids,
        "counts must not be negative",
        f"correct them, or {_NOISE_ADVICE}",
    )
    stays_whole = ~noisy | np.array([isinstance(law, GeometricNoise) for law in noise], bool)
    _refuse(
        numbers,
        ((numbers != np.rint(numbers)).T & stays_whole).T,
        ids,
        "counts must be whole numbers",
        f"pass shares= if these are shares, or {_NOISE_ADVICE} that is not whole",
    )
    if numbers.ndim == 2:
        total = numbers.sum(axis=1)
        of_classes = "counts of both classes" if numbers.shape[1] == 2 else "counts of all classes"
        bad, rule = (
            (total != sizes, f"{of_classes} must sum to sizes")
            if declared
            else (total < sizes, f"{of_classes} must not sum to less than the rows seen")
        )
        _refuse(total, bad | (total == 0), ids, rule, "correct them")
        shares = numbers / total[:, None]
        return shares if numbers.shape[1] > 2 else two_columns(shares[:, 1]), total
    _refuse(
        numbers,
        (numbers > sizes) & ~noisy,
        ids,
        "counts must not exceed the size of the bag",
        "correct them, declare sizes= if a bag has more individuals than rows, or "
        f"{_NOISE_ADVICE}",
    )
    is_fraction = (numbers != np.rint(numbers)) & (sizes > 1)
    if noisy.all() and is_fraction.any() and numbers.min() >= 0 and numbers.max() <= 1:
        raise BagError("counts look like shares: all lie from 0 to 1; pass them as shares=.")
    _check_possible(numbers / sizes, sizes, noise, ids)
    return two_columns(numbers / sizes), sizes


def check_sizes(numbers: FloatArray | None, n_rows: NDArray[np.int64], ids: Ids) -> FloatArray:
    """Return the declared sizes, or the rows seen when nothing is declared."""
    if numbers is None:
        return n_rows.astype(np.float64)
    _check_finite(numbers, "sizes", ids)
    _refuse(numbers, numbers <= 0, ids, "sizes must be positive", "correct them")
    whole = numbers == np.rint(numbers)
    _refuse(numbers, ~whole, ids, "sizes must be whole numbers", "correct them")
    _refuse(
        numbers,
        numbers < n_rows,
        ids,
        "sizes must not be smaller than the rows seen of a bag",
        "correct them, or leave sizes= out to count the rows",
    )
    return numbers


def check_weights(numbers: FloatArray | None, ids: Ids) -> FloatArray:
    """Return the weights of the bags, 1 each when none are given."""
    if numbers is None:
        return np.ones(len(ids))
    _check_finite(numbers, "weights", ids)
    _refuse(
        numbers,
        numbers <= 0,
        ids,
        "weights must be positive",
        "correct them, or leave out bags that should not count",
    )
    return numbers


def _check_finite(numbers: FloatArray, name: str, ids: Ids) -> None:
    missing = bad_bags(np.isnan(numbers))
    if missing.any():
        bags = name_bags(ids[place] for place in np.flatnonzero(missing).tolist())
        raise BagError(f"{name} is missing (NaN) in {bags}: fill it in or leave these bags out.")
    _refuse(numbers, np.isinf(numbers), ids, f"{name} must be finite", "correct them")


def _refuse(numbers: FloatArray, bad: BoolArray, ids: Ids, rule: str, advice: str) -> None:
    if bad.any():
        raise BagError(f"{rule}, unlike in {_where(numbers, bad, ids)}: {advice}.")


def _where(numbers: FloatArray, bad: BoolArray, ids: Ids) -> str:
    """Name the bad bags and show the number of the first."""
    places = np.flatnonzero(bad_bags(bad)).tolist()
    shown = ", ".join(f"{value:.6g}" for value in np.atleast_1d(numbers[places[0]]))
    which = "it has" if len(places) == 1 else "the first has"
    return f"{name_bags(ids[place] for place in places)} ({which} {shown})"


def bad_bags(bad: BoolArray) -> BoolArray:
    """Say of each bag whether any of its numbers is bad; shape (n_bags,)."""
    return bad if bad.ndim == 1 else np.asarray(bad.any(axis=1))
