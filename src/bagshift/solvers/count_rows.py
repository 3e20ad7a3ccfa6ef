# SPDX-License-Identifier: BSD-3-Clause
r"""Rows of the coupled logistic problem, and what one pass over some of them says.

Source rows have labels and the loss :math:`C_i \log(1 + e^{-y_i f(x_i)})`; target rows stand bag
by bag, with the loss :math:`-C_k \log P_k(f)` of a bag
(:mod:`bagshift.solvers.coupled_logistic`). A pass gives loss, slope and curvature in weights and
intercept at once. The curvature of bags has two parts,

.. math::

    \sum_j d_j z_j z_j^\top + \sum_k u_k g_k g_k^\top, \qquad g_k = \sum_{j \in S_k} v_j z_j,

each one product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from bagshift._bags.whole_bags import whole_bag_borders
from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._count_loss import CountLoss
from bagshift.solvers._row_products import (
    as_double,
    bag_sums,
    in_memory,
    squares_of,
    stack,
    weighted_squares,
    weighted_sum,
)
from bagshift.solvers._sums import Sums
from bagshift.solvers.count_likelihood import BagCounts

__all__ = ["CountedRows", "LabelledRows"]

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Source rows with their labels; each is a unit.

    Parameters
    ----------
    features : matrix of shape (n_rows, n_features)
        Dense, also mapped from a file, or CSR; float64 or float32. Sums are in double precision.
    signs : ndarray of shape (n_rows,)
        Labels, -1 or +1.
    costs : ndarray of shape (n_rows,)
        Factor on the loss of each row.
    """

    features: Any
    signs: Floats
    costs: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.signs)

    @property
    def n_units(self) -> int:
        """Number of rows."""
        return len(self.signs)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    def borders(self, chunk_rows: int) -> Numbers:
        """Return where chunks begin, and where the last one ends.

        Parameters
        ----------
        chunk_rows : int

        Returns
        -------
        int64 ndarray of shape (n_chunks + 1,)
        """
        return np.append(np.arange(0, self.n_rows, chunk_rows), self.n_rows)

    def between(self, first: int, end: int) -> Self:
        """Return the rows from one number on, up to another, without a copy.

        Parameters
        ----------
        first, end : int

        Returns
        -------
        LabelledRows
        """
        return self._taken(slice(first, end))

    def take(self, units: ArrayLike) -> Self:
        """Return some of the rows.

        Parameters
        ----------
        units : array-like of int
            Their numbers.

        Returns
        -------
        LabelledRows
        """
        return self._taken(np.asarray(units))

    def _taken(self, rows: Any) -> Self:
        return type(self)(self.features[rows], self.signs[rows], self.costs[rows])

    def scaled(self, factor: float) -> Self:
        """Return the rows with other costs.

        Parameters
        ----------
        factor : float

        Returns
        -------
        LabelledRows
        """
        return type(self)(self.features, self.signs, factor * self.costs)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all parts, in their order.

        Parameters
        ----------
        parts : sequence of LabelledRows

        Returns
        -------
        LabelledRows
        """
        return cls(
            stack([part.features for part in parts]),
            np.concatenate([part.signs for part in parts]),
            np.concatenate([part.costs for part in parts]),
        )

    def sums(self, machine: LinearMachine, *, with_curvature: bool = True) -> Sums:
        """Return loss, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine
        with_curvature : bool, default=True

        Returns
        -------
        Sums
        """
        features = in_memory(self.features)
        margins = self.signs * machine.scores(as_double(features))
        doubt = expit(-margins)
        loss = float(self.costs @ np.logaddexp(0.0, -margins))
        slope = weighted_sum(features, -self.costs * self.signs * doubt)
        if not with_curvature:
            return Sums(loss, 0.0, slope)
        return Sums(
            loss, 0.0, slope, weighted_squares(features, self.costs * doubt * (1.0 - doubt))
        )


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Target rows bag by bag, with what is published about the bags; each bag is a unit.

    Parameters
    ----------
    features : matrix of shape (n_rows, n_features)
        As :class:`LabelledRows` has them.
    counts : BagCounts
        What is published about each bag. A row of known label is a bag of one.
    bag_costs : ndarray of shape (n_bags,)
        Factor on the log-likelihood of each bag.
    """

    features: Any
    counts: BagCounts
    bag_costs: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.counts.n_rows

    @property
    def n_units(self) -> int:
        """Number of bags."""
        return self.counts.n_bags

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    def borders(self, chunk_rows: int) -> Numbers:
        """Return the bags that chunks begin with, and where the last one ends.

        A chunk has as many whole bags, one after the other, as fit into the number of rows, or
        one larger bag.

        Parameters
        ----------
        chunk_rows : int

        Returns
        -------
        int64 ndarray of shape (n_chunks + 1,)
        """
        return whole_bag_borders(self.counts.starts, chunk_rows)

    def between(self, first: int, end: int) -> Self:
        """Return the bags from one number on, up to another, without a copy of the features.

        Parameters
        ----------
        first, end : int

        Returns
        -------
        CountedRows
        """
        counts = self.counts
        rows = slice(counts.starts[first], counts.starts[end])
        part = counts.between(first, end)
        return type(self)(self.features[rows], part, self.bag_costs[first:end])

    def take(self, units: ArrayLike) -> Self:
        """Return some of the bags.

        Parameters
        ----------
        units : array-like of int
            Their numbers.

        Returns
        -------
        CountedRows
        """
        bags = np.asarray(units)
        rows = self.counts.rows_of(bags)
        return type(self)(self.features[rows], self.counts.take(bags), self.bag_costs[bags])

    def scaled(self, factor: float) -> Self:
        """Return the bags with other costs.

        Parameters
        ----------
        factor : float

        Returns
        -------
        CountedRows
        """
        return type(self)(self.features, self.counts, factor * self.bag_costs)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the bags of all parts, in their order.

        Parameters
        ----------
        parts : sequence of CountedRows

        Returns
        -------
        CountedRows
        """
        counts = BagCounts(
            starts=_to_starts([part.counts.sizes for part in parts]),
            first_counts=np.concatenate([part.counts.first_counts for part in parts]),
            weight_starts=_to_starts([np.diff(part.counts.weight_starts) for part in parts]),
            log_weights=np.concatenate([part.counts.log_weights for part in parts]),
        )
        return cls(
            stack([part.features for part in parts]),
            counts,
            np.concatenate([part.bag_costs for part in parts]),
        )

    def sums(self, machine: LinearMachine, *, with_curvature: bool = True) -> Sums:
        """Return loss, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine
        with_curvature : bool, default=True
            The curvature is the stand-in of the module's head.

        Returns
        -------
        Sums
        """
        # A bag that is larger than a chunk is read block by block.
        blocks = [slice(i, i + CHUNK_ROWS) for i in range(0, self.n_rows, CHUNK_ROWS)]
        read = self._reader(blocks)
        scores = np.concatenate([machine.scores(as_double(read(block))) for block in blocks])
        point = CountLoss(self.counts, self.bag_costs).at(scores)
        loss = -float(self.bag_costs @ point.log_likelihood)
        slope = np.zeros(self.n_features + 1)
        squares = np.zeros((len(slope), len(slope)))
        in_bags = np.zeros((self.n_units, len(slope)))
        # Labels that are known, as in pure bags, have no variance.
        has_variance = bool(point.label_variance.any())
        for block in blocks:
            features = read(block)
            slope += weighted_sum(features, point.slope[block])
            if with_curvature:
                squares += weighted_squares(features, point.curvature[block])
            if with_curvature and has_variance:
                in_bags += self._bag_sums(features, point.label_variance, block)
        if with_curvature and has_variance:
            squares += squares_of(in_bags, point.bag_weight)
        return Sums(loss, 0.0, slope, squares if with_curvature else None)

    def _reader(self, blocks: list[slice]) -> Callable[[slice], Any]:
        """Return what gives the rows of a block in memory."""
        if len(blocks) > 1:
            return lambda block: in_memory(self.features[block])
        features = in_memory(self.features)
        return lambda _: features

    def _bag_sums(self, features: Any, factors: Floats, block: slice) -> Floats:
        """Return the part of the weighted sums over bags that a block has."""
        inside = np.clip(self.counts.starts - block.start, 0, features.shape[0])
        return bag_sums(features, factors[block], inside)


def _to_starts(lengths: list[Numbers]) -> Numbers:
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
