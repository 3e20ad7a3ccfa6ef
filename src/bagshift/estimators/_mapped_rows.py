# SPDX-License-Identifier: BSD-3-Clause
"""Rows in files as the features of a kernel: a map goes over them when they are read.

Mapped rows are not stored. They would take many times the disk of the rows themselves, and a pass
that reads them would wait for it, while a row's part of Newton's matrix costs about as many
multiplications as mapping it. Means of bags are means of mapped rows; there is one of them
for many rows, so these are computed once and stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift.estimators._feature_space import FeatureSpace, feature_space
from bagshift.estimators._stored_data import StoredData
from bagshift.kernels import FourierMap, resolve_kernel


@dataclass(frozen=True, eq=False)
class MappedRows:
    """A matrix of features; slices of it read and map nothing.

    Features have single precision, as those of rows of single precision in memory.

    Attributes
    ----------
    rows : matrix of shape (n_rows, n_columns)
        What gives rows when it is sliced, and an array when asked.
    space : FeatureSpace
    """

    rows: Any
    space: FeatureSpace

    ndim = 2
    dtype = np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        assert self.space.feature_map is not None
        return len(self), self.space.feature_map.rank

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice) and rows.step in (None, 1):
            return replace(self, rows=self.rows[rows])
        return np.asarray(self)[rows]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Rows in files cannot be had without a copy.")
        features = self.space.transform(np.asarray(self.rows), self.dtype)
        return np.asarray(features if dtype is None else features.astype(dtype, copy=False))


@dataclass(frozen=True, eq=False)
class SampledMap:
    """A map of a kernel and the rows that it was made from.

    Attributes
    ----------
    space : FeatureSpace
    X_source : ndarray of shape (n_sampled_source, n_columns) or None
    X_target : ndarray of shape (n_sampled_target, n_columns)
    """

    space: FeatureSpace
    X_source: NDArray[Any] | None
    X_target: NDArray[Any]

    @property
    def n_columns(self) -> int:
        """Columns of a row before it is mapped."""
        return int(self.X_target.shape[1])

    @property
    def mark(self) -> str:
        """Return a short text that stands for the map, to the last digit of it."""
        found = self.space.feature_map
        assert found is not None
        if isinstance(found, FourierMap):
            arrays = [found.frequencies]
        else:
            arrays = [found.landmarks, found.projection]
        digest = blake2b(repr(self.space.kernel).encode(), digest_size=8)
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def described(self, data: StoredData) -> StoredData:
        """Return data whose rows are those of the sample, for a report of the map's error."""
        return replace(data, X_source=self.X_source, X_target=self.X_target)


def sampled_map(
    machine: Any, X_source: NDArray[Any] | None, X_target: NDArray[Any], *, n_components: int
) -> SampledMap | None:
    """Make the map of a machine's kernel from a sample of both domains.

    Parameters
    ----------
    machine : TGPLM, InverseCalibrationSVM or CountLikelihoodClassifier
        Gives the kernel and its parameters, the kind of map, and the random state.
    X_source : ndarray of shape (n_sampled_source, n_columns) or None
    X_target : ndarray of shape (n_sampled_target, n_columns)
    n_components : int
        Features of the map.

    Returns
    -------
    SampledMap or None
        None for the linear kernel, which needs no map.
    """
    given = (machine.kernel, machine.gamma, machine.degree, machine.coef0)
    # One thread, so that the map is the same whenever it is made again.
    with threadpool_limits(1):
        kernel = resolve_kernel(*given, X_source, X_target)
        if kernel.name == "linear":
            return None
        sample = SampledMap(FeatureSpace(kernel, None), X_source, X_target)
        space = feature_space(
            kernel,
            sample,  # type: ignore[arg-type]
            n_components=n_components,
            feature_map=getattr(machine, "feature_map", "nystroem"),
            random_state=machine.random_state,
        )
    return replace(sample, space=space)
