# SPDX-License-Identifier: BSD-3-Clause
r"""One label for each cluster, so that the shares of bags come out with least squared error.

With weights :math:`W` of the bags, :math:`A` the shares of the rows of each bag in each cluster
and :math:`p` the shares of the bags, the error of labels :math:`s` is
:math:`s^\top G s - 2 h^\top s + p^\top W p` with :math:`G = A^\top W A`, :math:`h = A^\top W p`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._training import TrainingData

Floats = NDArray[np.float64]
Signs = NDArray[np.bool_]

# All labels of so many clusters are tried.
MOST_EXHAUSTIVE = 12
# A flip has to gain more than rounding does.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class BagClusters:
    """Where the rows of bags lie, and what share of each bag is known.

    Attributes
    ----------
    parts : ndarray of shape (n_units, n_clusters)
        Share of the rows of each bag, and of each labelled row, that lies in each cluster.
    shares : ndarray of shape (n_units,)
        Share of ``classes[1]``.
    weights : ndarray of shape (n_units,)
        They sum to one.
    """

    parts: Floats
    shares: Floats
    weights: Floats

    @classmethod
    def of(cls, data: TrainingData, cluster: NDArray[np.intp], n_clusters: int) -> BagClusters:
        """Count the rows of each bag in each cluster."""
        unit = data.unit_of_row
        used = unit >= 0
        counts = np.zeros((data.n_target_units, n_clusters))
        np.add.at(counts, (unit[used], cluster[used]), 1.0)
        n_rows = counts.sum(axis=1)
        weights = n_rows * np.concatenate([data.bags.weights, data.labelled_weight])
        known = (data.labelled_signs > 0).astype(np.float64)
        return cls(
            parts=counts / n_rows[:, None],
            shares=np.concatenate([np.clip(data.shares, 0.0, 1.0), known]),
            weights=weights / weights.sum(),
        )

    def errors(self, is_second: Signs) -> Floats:
        """Return the squared error of the share of every bag under labels of the clusters."""
        return np.asarray((self.parts @ is_second - self.shares) ** 2)


def label_clusters(clusters: BagClusters, most_exhaustive: int = MOST_EXHAUSTIVE) -> Signs:
    """Return the labels of clusters with the least error.

    Parameters
    ----------
    clusters : BagClusters
    most_exhaustive : int, default=12
        All labels are tried for up to so many clusters; for more, single labels are flipped
        from three first labels, and the best end is kept.

    Returns
    -------
    bool ndarray of shape (n_clusters,)
        Of labels equally good, those with the fewest clusters of the second class first.
    """
    weighted = clusters.parts * clusters.weights[:, None]
    gram, pull = weighted.T @ clusters.parts, weighted.T @ clusters.shares
    if len(pull) <= most_exhaustive:
        return _try_all(gram, pull)
    least_squares = np.linalg.lstsq(gram, pull, rcond=None)[0]
    starts = (np.zeros(len(pull)), np.ones(len(pull)), (least_squares > 0.5).astype(np.float64))
    ends = [_flip(gram, pull, start) for start in starts]
    return np.asarray(ends[int(np.argmin([_error(gram, pull, end) for end in ends]))] > 0)


def _error(gram: Floats, pull: Floats, labels: Floats) -> float:
    return float(labels @ gram @ labels - 2.0 * pull @ labels)


def _try_all(gram: Floats, pull: Floats) -> Signs:
    n = len(pull)
    labels = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    labels = labels[np.argsort(labels.sum(axis=1), kind="stable")]
    errors = np.einsum("ic,ic->i", labels @ gram - 2.0 * pull, labels)
    first = int(np.flatnonzero(errors <= errors.min() + _ROUNDING)[0])
    return np.asarray(labels[first] > 0)


def _flip(gram: Floats, pull: Floats, labels: Floats) -> Floats:
    """Flip the label that lowers the error most, until none does."""
    labels = labels.copy()
    while True:
        step = 1.0 - 2.0 * labels
        gain = -(2.0 * step * (gram @ labels - pull) + np.diag(gram))
        best = int(gain.argmax())
        if gain[best] <= _ROUNDING:
            return labels
        labels[best] = 1.0 - labels[best]
