# SPDX-License-Identifier: BSD-3-Clause
"""Before a fit: what bags can teach, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from bagshift.bags import Bags
from bagshift.exceptions import BagError
from bagshift.inspection._bag_means import BagMeans, bag_means
from bagshift.inspection._bag_text import bag_text, bag_warnings
from bagshift.inspection._bag_troubles import Troubles, find_troubles
from bagshift.inspection._kept_information import ACCURACY, check_accuracy, kept_information
from bagshift.inspection._league_losses import LossRange, loss_range
from bagshift.inspection._lines import as_html
from bagshift.inspection._majority_attack import overall_share
from bagshift.inspection._published_noise import noise_variances
from bagshift.inspection._share_spread import ShareSpread, share_spread

__all__ = ["BagReport", "bag_report"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BagReport:
    """What bags can teach; ``str`` or ``print`` writes it out.

    Attributes
    ----------
    n_rows, n_rows_in_bags : int
        Target rows, and those of them in bags.
    ids, sizes, shares : ndarray of shape (n_bags,)
        Ids of the bags, how many individuals each share speaks about, and the published shares.
    rows_per_bag : ndarray of shape (n_bags,)
    overall_share : float
        Share of positives over all rows in bags.
    spread : ShareSpread or None
        How far shares spread, against random grouping. None for one bag, or if all rows have one
        label.
    effective_bags : float
        How many exact and complete bags say as much about the counts of rows, to a machine of the
        accuracy reckoned with. Noise, rounding, and individuals that are not among the rows lower
        it.
    means : BagMeans or None
        Directions in which bags differ by their features, if these were given.
    expected_loss : LossRange
        Points of accuracy on fresh rows that bags of the median size cost in the library's own
        experiments, against true labels. Bags that are worth less than exact ones are taken for
        exact bags of the same rows that are worth as much, which are larger.
    troubles : Troubles
        Ids of the bags by what is wrong with them.
    warnings : tuple of str
        Sentences, worst first.
    """

    n_rows: int
    n_rows_in_bags: int
    ids: NDArray[np.object_] = field(repr=False)
    sizes: FloatArray = field(repr=False)
    shares: FloatArray = field(repr=False)
    rows_per_bag: NDArray[np.int64] = field(repr=False)
    overall_share: float
    spread: ShareSpread | None
    effective_bags: float
    means: BagMeans | None
    expected_loss: LossRange
    troubles: Troubles
    warnings: tuple[str, ...] = ()

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.ids)

    def bag_table(self) -> dict[str, NDArray[Any]]:
        """List the bags as columns, for a frame of any library.

        Returns
        -------
        dict of str to ndarray
            Columns bag, rows, size, share and troubles (words, separated by commas).
        """
        return {
            "bag": self.ids,
            "rows": self.rows_per_bag,
            "size": self.sizes,
            "share": self.shares,
            "troubles": np.array(self.troubles.by_bag(self.ids), dtype=object),
        }

    def __str__(self) -> str:
        return bag_text(self)

    def _repr_html_(self) -> str:
        return as_html(str(self))


def bag_report(bags: Bags, X: Any = None, *, accuracy: float = ACCURACY) -> BagReport:
    """Look at bags before fitting: what they can teach, and what is wrong with them.

    Parameters
    ----------
    bags : Bags
        Whole bags. What ``on_unmatched="drop"`` left out when they were built is reported.
    X : array-like, sparse matrix or frame of shape (n_rows, n_features), optional
        Features of the rows, finite numbers: then it is told in how many directions bags differ,
        and bags whose rows are those of other bags are found.
    accuracy : float, default=0.9
        Accuracy of a machine to reckon with: the better rows can be told apart, the more noise
        hides.

    Returns
    -------
    BagReport

    Raises
    ------
    BagError
        If slicing has cut a bag, or there is none.
    ValueError
        If `X` has other rows than `bags`, or holds what is no finite number; or if `accuracy`
        is none.

    See Also
    --------
    bagshift.inspection.privacy_report : What the same shares disclose.

    Notes
    -----
    Source rows and rows in no bag are counted, and play no other part.

    Examples
    --------
    >>> from bagshift import Bags
    >>> from bagshift.inspection import bag_report
    >>> counts = {"a": 1, "b": 4, "c": 2, "d": 3}
    >>> report = bag_report(Bags.from_arrays([bag for bag in "abcd" for _ in range(5)],
    ...                                      counts=counts))
    >>> report.effective_bags, report.spread.is_wide
    (4.0, False)
    >>> print(report.warnings[0])
    There are 4 bags only: too few to choose parameters, and to judge a fit, by bags held out;
    10 or more are wanted.
    """
    if not isinstance(bags, Bags):
        raise TypeError(
            f"bags must be a Bags, got {type(bags).__name__}; make one with Bags.from_arrays."
        )
    if not bags.n_bags:
        raise BagError("there is no bag: all rows are in no bag, so that nothing can be reported.")
    bags.check_whole()
    check_accuracy(accuracy)
    features = None if X is None else _read_features(X, len(bags))
    worth = _effective_bags(bags, accuracy)
    report = BagReport(
        n_rows=len(bags.target_rows()),
        n_rows_in_bags=len(bags.rows_in_bags()),
        ids=bags.ids,
        sizes=bags.sizes,
        shares=bags.positive_shares,
        rows_per_bag=bags.rows_per_bag,
        overall_share=overall_share(bags),
        spread=share_spread(bags),
        effective_bags=worth,
        means=None if features is None else bag_means(bags, features),
        expected_loss=loss_range(_like_bags_of(bags, worth)),
        troubles=find_troubles(bags, features),
    )
    return replace(report, warnings=bag_warnings(report, bags))


def _read_features(X: Any, n_rows: int) -> Any:
    features = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if features.shape[0] != n_rows:
        raise ValueError(
            f"X has {features.shape[0]:,} rows but the bags have {n_rows:,}: give the features of "
            "the same rows."
        )
    return features


def _like_bags_of(bags: Bags, worth: float) -> float:
    """Return the size of exact bags that are worth as much; at most all rows in one."""
    rows = float(np.median(bags.rows_per_bag))
    return min(rows * bags.n_bags / max(worth, 1e-9), float(len(bags.rows_in_bags())))


def _effective_bags(bags: Bags, accuracy: float) -> float:
    """Sum the part of the information in each count that its published number keeps."""
    kept = kept_information(
        bags.rows_per_bag.astype(np.float64),
        bags.sizes,
        overall_share(bags),
        noise_variances(bags) * bags.sizes**2,
        accuracy,
    )
    return float(kept.sum())
