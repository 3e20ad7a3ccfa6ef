# SPDX-License-Identifier: BSD-3-Clause
"""Kernels between rows, and between bags of rows.

A *unit* is what the machines train on: a source row, or a group of target rows that shares one
target value (a bag, or one labelled target row). A unit of rows enters through the mean of its
rows in feature space, so the kernel of two units is the mean of the kernel over all pairs of
their rows. With the averaging matrix ``A`` (one row per unit, ``1 / size`` at its rows) and the
kernel matrix ``K`` of all rows the matrix of the units is ``A K A'``; here it is accumulated by
tiles and ``K`` is never held.
"""

from bagshift.kernels._expansion import decision_values, linear_weights
from bagshift.kernels._fourier import FourierMap, fourier_map
from bagshift.kernels._functions import Kernel
from bagshift.kernels._low_rank import LowRankMap, low_rank_map
from bagshift.kernels._map_error import FeatureMap, MapError, default_n_components, map_error
from bagshift.kernels._memory import free_memory, require_gram, require_memory
from bagshift.kernels._parameters import resolve_kernel
from bagshift.kernels._pieces import unit_means
from bagshift.kernels._rows import take_rows
from bagshift.kernels._tiles import TILE_ROWS
from bagshift.kernels._units import unit_cross, unit_crosses, unit_gram, unit_grams

__all__ = [
    "TILE_ROWS",
    "FeatureMap",
    "FourierMap",
    "Kernel",
    "LowRankMap",
    "MapError",
    "decision_values",
    "default_n_components",
    "fourier_map",
    "free_memory",
    "linear_weights",
    "low_rank_map",
    "map_error",
    "require_gram",
    "require_memory",
    "resolve_kernel",
    "take_rows",
    "unit_cross",
    "unit_crosses",
    "unit_gram",
    "unit_grams",
    "unit_means",
]
