# SPDX-License-Identifier: BSD-3-Clause
"""Two classes that are equal round Gaussians on either side of a centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bagshift.datasets.bag_making import check_number
from bagshift.datasets.labelled_domains import GeneratedDomains

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TwoGaussians:
    """One domain: rows of class ±1 lie around ``centre ± half_distance``.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        Mean of the domain.
    half_distance : ndarray of shape (n_features,)
        From the centre to the mean of the positive class.
    variance : float
        Variance of each feature within a class; features are independent there.
    """

    centre: Floats
    half_distance: Floats
    variance: float

    @property
    def best_accuracy(self) -> float:
        """Accuracy of the best rule, Φ(‖half_distance‖ / s), for classes of equal size."""
        return float(ndtr(np.linalg.norm(self.half_distance) / np.sqrt(self.variance)))

    def draw(self, n_rows: int, random: np.random.RandomState) -> tuple[Floats, NDArray[np.int8]]:
        """Draw rows in random order, half of them positive.

        Parameters
        ----------
        n_rows : int
            Number of rows; one more is positive when it is odd.
        random : RandomState
            Source of chance.

        Returns
        -------
        X : ndarray of shape (n_rows, n_features)
            Rows.
        y : ndarray of shape (n_rows,)
            Their labels, -1 and +1.
        """
        y = np.where(random.permutation(n_rows) < n_rows // 2, -1, 1).astype(np.int8)
        noise = random.normal(scale=np.sqrt(self.variance), size=(n_rows, len(self.centre)))
        return self.centre + y[:, None] * self.half_distance + noise, y


def draw_domains(
    source: TwoGaussians,
    target: TwoGaussians,
    n_rows: tuple[int, int, int],
    random: np.random.RandomState,
) -> GeneratedDomains:
    """Draw rows of two domains, and fresh ones of the second.

    Parameters
    ----------
    source, target : TwoGaussians
        The domains.
    n_rows : tuple of three ints
        Number of source, target and fresh rows. The fresh ones are drawn last, so their number
        does not change the others.
    random : RandomState
        Source of chance.

    Returns
    -------
    GeneratedDomains

    Raises
    ------
    ValueError
        When a number of rows is no whole number, or there are no source or target rows.
    """
    n_source, n_target, n_fresh = n_rows
    check_number("n_source", n_source)
    check_number("n_target", n_target)
    check_number("n_fresh", n_fresh, 0)
    X_source, y_source = source.draw(n_source, random)
    X_target, y_target = target.draw(n_target, random)
    X_fresh, y_fresh = target.draw(n_fresh, random)
    return GeneratedDomains(
        X_source,
        y_source,
        X_target,
        y_target,
        X_fresh=X_fresh,
        y_fresh=y_fresh,
        best_accuracy=target.best_accuracy,
    )
