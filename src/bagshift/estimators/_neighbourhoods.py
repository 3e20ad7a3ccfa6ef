# SPDX-License-Identifier: BSD-3-Clause
"""Agreement between clusters of rows and the labels that models give them, by counting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]


def labels_of(opinions: Floats) -> Labels:
    """Return 1 where the second class is likelier; shape (n_models, n_rows)."""
    return (opinions[..., 1] > opinions[..., 0]).astype(np.intp)


def purity(cluster: Labels, is_second: NDArray[np.bool_]) -> float:
    """Return the share of rows whose label is that of most rows of their cluster.

    Parameters
    ----------
    cluster : int ndarray of shape (n_rows,)
    is_second : bool ndarray of shape (n_rows,)
        Labels.

    Returns
    -------
    float
        At least one half.

    Examples
    --------
    >>> import numpy as np
    >>> purity(np.array([0, 0, 0, 1]), np.array([True, True, False, False]))
    0.75
    """
    counts = np.zeros((int(cluster.max()) + 1, 2))
    np.add.at(counts, (cluster, is_second.astype(np.intp)), 1.0)
    return float(counts.max(axis=1).sum() / len(cluster))


def consistency(cluster: Labels, labels: Labels, n_clusters: int, neighbourhood: str) -> Floats:
    r"""Return the local consistency of models by cluster and label.

    Parameters
    ----------
    cluster : int ndarray of shape (n_rows,)
        Cluster of every target row.
    labels : int ndarray of shape (n_models, n_rows)
        Its label, 0 or 1, under every model.
    n_clusters : int
    neighbourhood : {"global", "cluster"}
        As in :class:`LWE`.

    Returns
    -------
    ndarray of shape (n_models, n_clusters, 2)
        :math:`s_i(x)` of a row :math:`x` in each cluster with each label. The row is one of those
        counted, and is left out of its own neighbourhoods; 0 where these are empty.

    Examples
    --------
    >>> import numpy as np
    >>> consistency(np.array([0, 0, 0, 1]), np.array([[1, 1, 0, 0]]), 2, "cluster")
    array([[[0. , 0.5],
            [0. , 0. ]]])
    """
    together = np.zeros((len(labels), n_clusters, 2))
    for i, of_model in enumerate(labels):
        np.add.at(together[i], (cluster, of_model), 1.0)
    others_in_cluster = np.maximum(together[:1].sum(axis=2, keepdims=True) - 1.0, 0.0)
    others_of_label = np.maximum(together.sum(axis=1, keepdims=True) - 1.0, 0.0)
    others_in_both = np.maximum(together - 1.0, 0.0)
    if neighbourhood == "cluster":
        return np.asarray(others_in_both / np.maximum(others_in_cluster, 1.0))
    neighbours = np.maximum(others_in_cluster + others_of_label, 1.0)
    return np.asarray(2.0 * others_in_both / neighbours)
