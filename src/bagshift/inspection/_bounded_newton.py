# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method for a few bounded variables, its curvature from differences of gradients.

Made for fits of two or three numbers that are repeated by the thousand, where the general
optimisers of SciPy take longer than the function.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DIFFERENCE = 1e-4
_LONGEST_STEP = 5.0
_MOST_STEPS = 60
_MOST_HALVINGS = 30
_SUFFICIENT = 1e-4
_FLATTEST = 1e-8


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    lower: Floats,
    upper: Floats,
    *,
    tol: float = 1e-7,
) -> tuple[Floats, float]:
    """Minimise a smooth function between bounds.

    Parameters
    ----------
    function : callable
        From a point to the value and the gradient.
    start, lower, upper : ndarray of shape (n,)
        Variables whose bounds agree are held fast.
    tol : float, default=1e-7
        Stops when a step promises less, relative to the value.

    Returns
    -------
    point : ndarray of shape (n,)
    value : float

    Examples
    --------
    >>> def bowl(x):
    ...     return float(x @ x + 2 * x[0]), 2 * x + np.array([2.0, 0.0])
    >>> point, value = minimise(bowl, np.ones(2), np.array([0.0, -9.0]), np.full(2, 9.0))
    >>> bool(abs(point).max() < 1e-9)
    True
    """
    point = np.clip(start, lower, upper)
    value, gradient = function(point)
    for _ in range(_MOST_STEPS):
        held = ((point <= lower) & (gradient >= 0.0)) | ((point >= upper) & (gradient <= 0.0))
        free = np.flatnonzero(~held & (lower < upper))
        if not len(free):
            break
        step = _step(function, point, gradient, free)
        if -gradient @ step <= tol * (1.0 + abs(value)):
            break
        found = _search(function, point, value, gradient, step, lower, upper)
        if found is None:
            break
        point, value, gradient = found
    return point, value


def _step(
    function: Callable[[Floats], tuple[float, Floats]],
    point: Floats,
    gradient: Floats,
    free: NDArray[np.intp],
) -> Floats:
    """Return Newton's step in the free variables, downhill also where nothing is convex."""
    curvature = np.empty((len(free), len(free)))
    for i, variable in enumerate(free):
        moved = point.copy()
        moved[variable] += _DIFFERENCE
        curvature[i] = (function(moved)[1][free] - gradient[free]) / _DIFFERENCE
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    values = np.maximum(np.abs(values), _FLATTEST * max(1.0, float(np.abs(values).max())))
    step = np.zeros_like(point)
    step[free] = -vectors @ ((vectors.T @ gradient[free]) / values)
    longest = float(np.abs(step).max())
    return step if longest <= _LONGEST_STEP else step * (_LONGEST_STEP / longest)


def _search(
    function: Callable[[Floats], tuple[float, Floats]],
    point: Floats,
    value: float,
    gradient: Floats,
    step: Floats,
    lower: Floats,
    upper: Floats,
) -> tuple[Floats, float, Floats] | None:
    """Return a point along the step that is lower by enough, None where rounding hides it."""
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        there = np.clip(point + length * step, lower, upper)
        new_value, new_gradient = function(there)
        if new_value <= value + _SUFFICIENT * float(gradient @ (there - point)):
            return there, new_value, new_gradient
        length *= 0.5
    return None
