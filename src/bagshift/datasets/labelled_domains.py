# SPDX-License-Identifier: BSD-3-Clause
"""Two domains with all labels known: what an experiment is cut from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LabelledDomains:
    """A source and a target domain with the same columns; labels are -1 and +1.

    The labels of the target are there to make shares of and to score results, never to train on.

    Attributes
    ----------
    X_source : ndarray or CSR matrix of shape (n_source, n_features)
        Rows of the source.
    y_source : ndarray of shape (n_source,)
        Their labels.
    X_target : ndarray or CSR matrix of shape (n_target, n_features)
        Rows of the target.
    y_target : ndarray of shape (n_target,)
        Their labels.
    groups : ndarray of shape (n_target,), or None
        Natural group of every target row, such as its state; any hashable values.
    """

    X_source: Any
    y_source: NDArray[np.int8]
    X_target: Any
    y_target: NDArray[np.int8]
    groups: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class GeneratedDomains(LabelledDomains):
    """Domains drawn from known distributions, so with as many fresh rows as one likes.

    Attributes
    ----------
    X_source, y_source, X_target, y_target : ndarray
        Rows and labels of both domains, as in `LabelledDomains`.
    groups : None
        There are no natural groups.
    X_fresh : ndarray of shape (n_fresh, n_features)
        Further rows of the target, for testing only.
    y_fresh : ndarray of shape (n_fresh,)
        Their labels, -1 and +1.
    best_accuracy : float
        Accuracy on the target of the best rule that there is (the Bayes rule).
    """

    X_fresh: NDArray[np.float64]
    y_fresh: NDArray[np.int8]
    best_accuracy: float
