# SPDX-License-Identifier: BSD-3-Clause
"""Training data whose rows lie in files, in the form that machines know theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.noise_column import Laws, is_additive

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StoredBags:
    """What machines ask of bags, without a number for every row.

    Attributes
    ----------
    positive_shares : ndarray of shape (n_bags,)
        Share of the positive class.
    sizes : ndarray of shape (n_bags,)
        Individuals that each share speaks about.
    rows_per_bag : ndarray of int64, shape (n_bags,)
    noise : ndarray of NoiseLaw or None, shape (n_bags,), or None
        How the share of each bag came from the true one; None where all are exact.
    """

    positive_shares: Floats
    sizes: Floats
    rows_per_bag: NDArray[np.int64]
    noise: Laws | None = None

    def __len__(self) -> int:
        return int(self.rows_per_bag.sum())

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.sizes)

    @property
    def is_noisy(self) -> Any:
        """Whether something was added to the number of each bag; one answer where to none."""
        return False if self.noise is None else is_additive(self.noise)

    @property
    def weights(self) -> Floats:
        """Ones, which take no memory."""
        return np.broadcast_to(1.0, self.n_bags)


@dataclass(frozen=True, eq=False)
class StoredData:
    """Training data of one fit; :class:`~bagshift.estimators._training.TrainingData` in files.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        Both classes, sorted.
    positive : label
        The class that shares are of.
    X_source : matrix of shape (n_source, n_features) or None
        Features of the history: what gives rows when it is sliced, and an array when asked.
    X_target : matrix of shape (n_bags, n_features) or (n_rows, n_features)
        Means of the bags, or rows bag by bag; which of them says the machine.
    source_signs : ndarray of shape (n_source,)
        Labels of the source rows, -1 or +1.
    bags : StoredBags
    """

    classes: NDArray[Any]
    positive: Any
    X_source: Any
    X_target: Any
    source_signs: Floats
    bags: StoredBags

    labelled_signs = labelled_weight = np.empty(0)

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return len(self.source_signs)

    @property
    def source_contrasts(self) -> bool:
        """Whether there are source rows; they were checked to be of both classes."""
        return self.n_source > 0

    @property
    def source_weight(self) -> Floats:
        """Ones, which take no memory."""
        return np.broadcast_to(1.0, self.n_source)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X_target.shape[1])

    @property
    def n_target_units(self) -> int:
        """Number of bags."""
        return self.bags.n_bags

    @property
    def is_flipped(self) -> bool:
        """Whether shares are of the first class, so that low scores are positive ones."""
        return bool(self.classes[0] == self.positive)

    @property
    def shares(self) -> Floats:
        """Share of ``classes[1]`` in every bag; shape (n_bags,)."""
        shares = self.bags.positive_shares
        return 1.0 - shares if self.is_flipped else shares
