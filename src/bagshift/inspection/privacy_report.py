# SPDX-License-Identifier: BSD-3-Clause
r"""What releases of shares disclose about the labels of individuals.

Exact shares are not private in any formal sense: a bag of one and a pure bag disclose labels;
who knows all labels of a bag but one knows the last; and bags of several releases that overlap
can be solved for single labels, by subtraction (linear) or because a label is 0 or 1 (integer).
How both are found stands in the modules `bagshift.inspection._linear_disclosure` and
`bagshift.inspection._integer_disclosure`. What is disclosed *for sure* is found here, together
with how often a guess by the majority of the bag is right. A fitted model is an attack too, as
good as its accuracy on the rows of the bags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.published import count_ranges
from bagshift.bags import Bags
from bagshift.exceptions import BagError
from bagshift.inspection._integer_disclosure import integer_determined
from bagshift.inspection._kept_information import ACCURACY, check_accuracy
from bagshift.inspection._known_labels import positive_or_not
from bagshift.inspection._linear_disclosure import linearly_determined
from bagshift.inspection._lines import as_html
from bagshift.inspection._majority_attack import expected_positives, overall_share
from bagshift.inspection._noise_cost import NoiseCost, noise_cost
from bagshift.inspection._privacy_text import privacy_text, privacy_warnings
from bagshift.inspection._released_cells import ContradictionError
from bagshift.inspection._releases import (
    all_cells,
    name_contradiction,
    name_releases,
    pair_up,
)
from bagshift.inspection._spent_epsilon import epsilon_per_bag
from bagshift.noise import GeometricNoise

__all__ = ["PrivacyReport", "ReleasePrivacy", "privacy_report"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_CELLS = 200


@dataclass(frozen=True)
class ReleasePrivacy:
    """One release by itself.

    Attributes
    ----------
    name : str
    n_rows : int
        Rows in bags.
    ids : ndarray of shape (n_bags,)
    sizes : ndarray of shape (n_bags,)
        Individuals that each share speaks about.
    shares : ndarray of shape (n_bags,)
        As published.
    is_pure : ndarray of shape (n_bags,)
        Whether the number discloses the labels of all rows of the bag, a bag of one included.
    is_noisy : ndarray of shape (n_bags,)
        Whether something was added to the number; then it discloses nothing for sure.
    n_pure_rows : int
        Rows in pure bags.
    attack_accuracy : float
        Expected accuracy of guessing the majority of the bag.
    prior_accuracy : float
        That of guessing the majority of all rows.
    cost : NoiseCost or None
        What noise would cost, where an epsilon was asked about and the numbers are not noisy.
    """

    name: str
    n_rows: int
    ids: NDArray[np.object_]
    sizes: FloatArray
    shares: FloatArray
    is_pure: BoolArray
    is_noisy: BoolArray
    n_pure_rows: int
    attack_accuracy: float
    prior_accuracy: float
    cost: NoiseCost | None = None

    @property
    def pure_ids(self) -> NDArray[np.object_]:
        """Ids of the pure bags."""
        return np.asarray(self.ids[self.is_pure])

    @property
    def smallest_size(self) -> int:
        """Individuals in the smallest bag."""
        return int(self.sizes.min())

    @property
    def smallest_ids(self) -> NDArray[np.object_]:
        """Ids of the bags of that size."""
        return np.asarray(self.ids[self.sizes == self.sizes.min()])


@dataclass(frozen=True)
class PrivacyReport:
    """What releases disclose; ``str`` or ``print`` writes it out.

    Attributes
    ----------
    releases : tuple of ReleasePrivacy
    n_rows : int
        Rows that are in a bag of any release, or whose label is released as it is.
    in_pure_bag : ndarray of shape (n_all_rows,)
        Whether the row is in a pure bag of any release, or its label was given. Here and below,
        rows are those of the `Bags`, in their order.
    linearly_determined : ndarray of shape (n_all_rows,)
        Whether the label is a combination of exact counts of all releases.
    determined : ndarray of shape (n_all_rows,)
        Whether the label follows from all releases, in any way: no other one has their numbers.
    disclosed_labels : ndarray of shape (n_all_rows,)
        The label, where it follows; None elsewhere.
    n_unsettled_rows : int
        Rows for which `determined` holds only what subtraction and bounds give, since the search
        was too large; there may be more. 0 where at most two releases meet.
    attack_accuracy : float
        Expected accuracy of an attacker who takes what follows, and for the rows of each bag
        that are left the label that most of them have; by the release for which this is best.
    prior_accuracy : float
        That of guessing the majority of all rows.
    epsilon_spent : float
        Differential privacy of labels if the declared noise was drawn for it: the sum of the
        epsilons of the releases that a row is in, for the row where it is largest. Infinite
        where a number is exact, rounded or has Gaussian noise.
    total_epsilon : float or None
        What noise of the `epsilon` asked about would spend: that times the releases a row is in,
        times the sensitivity.
    sensitivity : int
        By how much one changed label changes the counts of one release, summed over those that
        are published: 1 for two classes, 2 for more.
    accuracy : float
        Accuracy of a machine that costs of noise are reckoned with.
    warnings : tuple of str
        Sentences, worst first.
    """

    releases: tuple[ReleasePrivacy, ...]
    n_rows: int
    in_pure_bag: BoolArray = field(repr=False)
    linearly_determined: BoolArray = field(repr=False)
    determined: BoolArray = field(repr=False)
    disclosed_labels: NDArray[np.object_] = field(repr=False)
    n_unsettled_rows: int
    attack_accuracy: float
    prior_accuracy: float
    epsilon_spent: float
    total_epsilon: float | None
    sensitivity: int
    accuracy: float
    warnings: tuple[str, ...] = ()

    def bag_table(self) -> dict[str, NDArray[Any]]:
        """List the bags of all releases as columns, for a frame of any library.

        Returns
        -------
        dict of str to ndarray
            Columns release, bag, size, share, is_pure and is_noisy.
        """
        return {
            "release": np.repeat(
                np.array([release.name for release in self.releases], dtype=object),
                [len(release.ids) for release in self.releases],
            ),
            **{
                column: np.concatenate([getattr(release, name) for release in self.releases])
                for column, name in (
                    ("bag", "ids"),
                    ("size", "sizes"),
                    ("share", "shares"),
                    ("is_pure", "is_pure"),
                    ("is_noisy", "is_noisy"),
                )
            },
        }

    def __str__(self) -> str:
        return privacy_text(self)

    def _repr_html_(self) -> str:
        return as_html(str(self))


def privacy_report(
    releases: Bags | Sequence[Bags] | Mapping[str, Bags],
    *,
    epsilon: float | None = None,
    n_classes: int = 2,
    accuracy: float = ACCURACY,
    max_cells: int = MOST_CELLS,
) -> PrivacyReport:
    r"""Find out what published shares disclose about the labels of individuals.

    Parameters
    ----------
    releases : Bags, or sequence or mapping of Bags
        One release, or several about the same individuals: row i of each is the same one. A
        mapping names them. Source rows play no part.
    epsilon : float, optional
        Parameter of `bagshift.noise_counts` whose cost is to be estimated, for each release.
    n_classes : int, default=2
        How many classes the individuals have. Where counts of more than two are released, one
        changed label changes two of them, so that noise of :math:`\varepsilon` on each protects
        with :math:`2\varepsilon`.
    accuracy : float, default=0.9
        Accuracy of a machine to reckon with when the cost of noise is estimated: the better rows
        can be told apart, the more noise hides.
    max_cells : int, default=200
        Where more than two releases meet, integer programs find what follows, for parts of up to
        so many cells (rows in the same bags everywhere); those of hundreds can take minutes.

    Returns
    -------
    PrivacyReport

    Raises
    ------
    BagError
        If the releases do not have the same rows, contradict each other, or hold cut bags.
    ValueError
        If `epsilon`, `n_classes` or `accuracy` cannot be used.

    See Also
    --------
    bagshift.noise_counts : Releases noisy counts.

    Notes
    -----
    What follows from all releases together is found exactly where at most two of them meet, and
    up to `max_cells` where more do. Numbers that something was added to disclose nothing for sure,
    and a rounded share or one of a larger bag only what all counts behind it agree on.

    Examples
    --------
    Two precincts, and the same six persons by age:

    >>> from bagshift import Bags
    >>> from bagshift.inspection import privacy_report
    >>> precincts = Bags.from_arrays(list("aaabbb"), counts={"a": 1, "b": 2})
    >>> ages = Bags.from_arrays(list("oyyyyo"), counts={"o": 2, "y": 1})
    >>> report = privacy_report({"precincts": precincts, "ages": ages})
    >>> report.disclosed_labels
    array([1, 0, 0, None, None, 1], dtype=object)
    """
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, not {n_classes!r}.")
    check_accuracy(accuracy)
    asked = None if epsilon is None else GeometricNoise(epsilon).epsilon
    named = name_releases(releases)
    known = [positive_or_not(bags) for bags in named.values()]
    ranges = [count_ranges(bags) for bags in named.values()]
    cells = all_cells(named, ranges, known)
    linear, values = linearly_determined(cells)
    try:
        integer = integer_determined(cells, values, max_cells)
    except ContradictionError as error:
        raise BagError(name_contradiction(error, named, cells)) from None
    negative, positive, is_linear, settled = (
        np.append(of_cells, other)[cells.cell_of_row]
        for of_cells, other in (
            (integer.all_negative, False),
            (integer.all_positive, False),
            (linear & (cells.sizes == 1), False),
            (integer.is_settled, True),
        )
    )
    determined = negative | positive
    looks = tuple(
        _look_at(name, bags, of_bags, asked, accuracy)
        for (name, bags), of_bags in zip(named.items(), ranges, strict=True)
    )
    is_released = np.any(
        [(bags.bag_index >= 0) | (label >= 0) for bags, label in pair_up(named, known)], axis=0
    )
    sensitivity = 1 if n_classes == 2 else 2
    report = PrivacyReport(
        releases=looks,
        n_rows=int(is_released.sum()),
        in_pure_bag=_in_pure_bags(named, looks, known),
        linearly_determined=is_linear,
        determined=determined,
        disclosed_labels=_labels(negative, positive, list(named.values())),
        n_unsettled_rows=int((~settled & ~determined).sum()),
        attack_accuracy=_best_attack(list(named.values()), determined, positive, is_released),
        prior_accuracy=max(looks, key=lambda look: look.n_rows).prior_accuracy,
        epsilon_spent=_epsilon_spent(named, known),
        total_epsilon=None if asked is None else asked * sensitivity * _most_releases(named),
        sensitivity=sensitivity,
        accuracy=accuracy,
    )
    return replace(report, warnings=privacy_warnings(report))


def _look_at(
    name: str,
    bags: Bags,
    ranges: tuple[IntArray, IntArray],
    epsilon: float | None,
    accuracy: float,
) -> ReleasePrivacy:
    n_rows = bags.rows_per_bag
    low, high = ranges
    is_pure = (low == high) & ((high == 0) | (low == n_rows))
    shares = expected_positives(bags)
    overall = overall_share(bags)
    cost = None
    if epsilon is not None and not bags.is_noisy.any():
        sizes = n_rows.astype(np.float64)
        cost = noise_cost(bags.clipped_shares, sizes, epsilon, accuracy)
    return ReleasePrivacy(
        name=name,
        n_rows=int(n_rows.sum()),
        ids=bags.ids,
        sizes=bags.sizes,
        shares=bags.positive_shares,
        is_pure=is_pure,
        is_noisy=bags.is_noisy,
        n_pure_rows=int(n_rows[is_pure].sum()),
        attack_accuracy=float(np.maximum(shares, 1 - shares) @ n_rows / n_rows.sum()),
        prior_accuracy=max(overall, 1 - overall),
        cost=cost,
    )


def _in_pure_bags(
    named: dict[str, Bags], looks: tuple[ReleasePrivacy, ...], known: list[IntArray]
) -> BoolArray:
    found = np.zeros(len(known[0]), dtype=bool)
    for (bags, labels), look in zip(pair_up(named, known), looks, strict=True):
        found |= np.append(look.is_pure, False)[bags.bag_index] | (labels >= 0)
    return found


def _labels(negative: BoolArray, positive: BoolArray, releases: list[Bags]) -> NDArray[np.object_]:
    """Write the labels that follow, by the names of the classes where a release has them."""
    zero = next((bags.negative for bags in releases if bags.negative is not None), None)
    one = next((bags.positive for bags in releases if bags.positive is not None), None)
    found = np.full(len(negative), None, dtype=object)
    found[negative] = zero if zero is not None else 0 if one is None else f"not {one}"
    found[positive] = one if one is not None else 1 if zero is None else f"not {zero}"
    return found


def _best_attack(
    releases: list[Bags], determined: BoolArray, positive: BoolArray, is_released: BoolArray
) -> float:
    """Accuracy of what follows, and of the majority among the rows of each bag that are left."""
    best = 0.0
    for bags in releases:
        n_rows = bags.rows_per_bag
        inside = bags.bag_index >= 0
        n_known, n_positive = (
            np.bincount(bags.bag_index[inside & chosen], minlength=bags.n_bags)
            for chosen in (determined, determined & positive)
        )
        left = n_rows - n_known
        positives = np.clip(expected_positives(bags) * n_rows - n_positive, 0, left)
        overall = overall_share(bags)
        n_outside = int((is_released & ~inside & ~determined).sum())
        right = (
            determined.sum()
            + np.maximum(positives, left - positives).sum()
            + n_outside * max(overall, 1 - overall)
        )
        best = max(best, float(right) / int(is_released.sum()))
    return best


def _most_releases(named: dict[str, Bags]) -> int:
    return int(np.sum([bags.bag_index >= 0 for bags in named.values()], axis=0).max())


def _epsilon_spent(named: dict[str, Bags], known: list[IntArray]) -> float:
    spent = np.zeros(len(known[0]))
    for bags, labels in pair_up(named, known):
        spent += np.append(epsilon_per_bag(bags), 0.0)[bags.bag_index]
        spent[labels >= 0] = np.inf
    return float(spent.max())
