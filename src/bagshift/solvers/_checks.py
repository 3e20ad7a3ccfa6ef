# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the arrays of a program before the core reads them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def check_gram(gram: NDArray[np.float64] | NDArray[np.float32]) -> None:
    """Refuse what is no Gram matrix that the core can read.

    Parameters
    ----------
    gram : ndarray

    Raises
    ------
    TypeError, ValueError
        When it is no square matrix of finite doubles or singles with adjacent entries in a row.
    """
    if not isinstance(gram, np.ndarray) or gram.dtype not in (np.float64, np.float32):
        raise TypeError("gram must be a NumPy array of float64 or float32.")
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.shape[0] == 0:
        raise ValueError(f"gram must be square with at least one unit: its shape is {gram.shape}.")
    if gram.shape[0] > 1 and gram.strides[1] != gram.itemsize:
        raise ValueError("gram must be in C order: use numpy.ascontiguousarray.")
    # The sum is finite almost always, and needs no array of flags.
    if not math.isfinite(gram.sum()) and not np.isfinite(gram).all():
        raise ValueError("gram holds values that are not finite.")


def to_vector(name: str, values: ArrayLike, m: int) -> Array:
    """Return numbers of the units of a program as an array that the core can read.

    Parameters
    ----------
    name : str
        What an error calls them.
    values : array-like of shape (m,)
    m : int

    Returns
    -------
    ndarray of shape (m,)

    Raises
    ------
    ValueError
        When the shape is another one, or a number is not finite.
    """
    vector = np.ascontiguousarray(values, dtype=np.float64)
    if vector.shape != (m,):
        raise ValueError(
            f"{name} must have shape ({m},) as gram has: its shape is {vector.shape}."
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} holds values that are not finite.")
    return vector
