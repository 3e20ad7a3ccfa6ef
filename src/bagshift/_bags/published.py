# SPDX-License-Identifier: BSD-3-Clause
"""The weights of true counts of all bags of a `Bags`, each under its own noise law."""

import numpy as np

from bagshift._bags.count_weights import IntArray, PublishedCounts, assemble, weigh_counts
from bagshift._bags.data import BagData, BoolArray
from bagshift._bags.noise_column import places_by_law
from bagshift.exceptions import BagError, RoundedShareWarning, name_bags, warn_caller
from bagshift.noise import NEAREST_COUNT, NoiseLaw


def published_counts(bags: BagData, *, warn: bool = True) -> PublishedCounts:
    """Weigh the true counts of positives among the rows of every bag.

    Parameters
    ----------
    bags : Bags
        Whole bags; a declared size above the rows makes these a sample of the bag.
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded; pass False where a caller did.

    Returns
    -------
    PublishedCounts

    Raises
    ------
    BagError
        If slicing has cut a bag, or no true count fits the share of a bag under its law.

    Warns
    -----
    RoundedShareWarning
        If the share of a bag should be that of a whole count but is not, and with the decimals
        that the shares have it may be rounded from several or from none; it is then taken as that
        of the nearest count, or of both at a tie.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "a", "b"], counts={"a": 2, "b": 0})
    >>> published_counts(bags).first_counts
    array([2, 0])
    """
    bags.check_whole()
    places_of = _places_by_law(bags)
    if warn:
        _warn_of_rounding(bags, places_of)
    n_rows = bags.rows_per_bag
    pieces = [
        (
            places,
            weigh_counts(law, bags.positive_shares[places], bags.sizes[places], n_rows[places]),
        )
        for law, places in places_of.items()
    ]
    found = assemble(pieces, bags.n_bags)
    _refuse_misfits(bags, found.lengths == 0)
    return found


def count_ranges(bags: BagData) -> tuple[IntArray, IntArray]:
    """Find between which numbers the true count of positives among each bag's rows surely lies.

    Parameters
    ----------
    bags : Bags
        Whole bags.

    Returns
    -------
    lowest, highest : ndarray of shape (n_bags,)
        From 0 to the number of rows where something was added to the number of the bag, since no
        count is then impossible.

    Raises
    ------
    BagError
        If slicing has cut a bag, or no true count fits the share of a bag under its law.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "b"], {"a": 0.5, "b": 1.0}, sizes={"a": 2, "b": 9})
    >>> count_ranges(bags)
    (array([1, 1]), array([1, 1]))
    """
    bags.check_whole()
    places_of = _places_by_law(bags)
    _warn_of_rounding(bags, places_of)
    n_rows = bags.rows_per_bag
    lowest, highest = np.zeros(bags.n_bags, dtype=np.int64), n_rows.copy()
    misfit = np.zeros(bags.n_bags, dtype=bool)
    for law, places in places_of.items():
        if law.is_additive:
            continue
        first, last = law._band(bags.positive_shares[places], bags.sizes[places])
        misfit[places] = first > last
        unseen = bags.sizes[places].astype(np.int64) - n_rows[places]
        lowest[places] = np.maximum(first - unseen, 0)
        highest[places] = np.minimum(last, n_rows[places])
    _refuse_misfits(bags, misfit)
    return lowest, highest


def _places_by_law(bags: BagData) -> dict[NoiseLaw, IntArray]:
    """Places of the bags of each law; those without one have their nearest counts."""
    return {law or NEAREST_COUNT: places for law, places in places_by_law(bags.noise).items()}


def _warn_of_rounding(bags: BagData, places_of: dict[NoiseLaw, IntArray]) -> None:
    off = np.zeros(bags.n_bags, dtype=bool)
    for law, places in places_of.items():
        off[places] = law._is_off(bags.positive_shares[places], bags.sizes[places])
    if off.any():
        warn_caller(
            f"the share of {name_bags(bags.ids[off])} is not that of a whole count ("
            f"{_show(bags, off)}), so it is taken as rounded: pass counts=, or "
            "noise=Rounding(digits=) with the number of its decimals, or the true sizes=.",
            RoundedShareWarning,
        )


def _refuse_misfits(bags: BagData, misfit: BoolArray) -> None:
    if misfit.any():
        law = bags.noise[np.flatnonzero(misfit)[0]]
        raise BagError(
            f"no whole count fits the share of {name_bags(bags.ids[misfit])} ("
            f"{_show(bags, misfit)} under {law!r}): correct the law, whose digits are those of "
            "the share and not of a percentage, or declare the true sizes=."
        )


def _show(bags: BagData, chosen: BoolArray) -> str:
    """Show the share and the size of the first chosen bag."""
    places = np.flatnonzero(chosen)
    which = "it is" if len(places) == 1 else "the first is"
    return f"{which} {bags.positive_shares[places[0]]:.6g} of {bags.sizes[places[0]]:,.0f}"
