# SPDX-License-Identifier: BSD-3-Clause
r"""RBF kernels of several widths by one exponential.

Kernels whose gammas are a power of two apart are powers of one another,

.. math:: e^{-2\gamma \|u - v\|^2} = \bigl(e^{-\gamma \|u - v\|^2}\bigr)^2 ,

so the values of a *ladder* of them cost the exponential of the smallest gamma, and a product for
every doubling. The way goes up only: roots of values that are zero, as they are far down a large
gamma, would not find back. Means over bags must come after the squares, not before.

The exponents of all rungs are equal but for a power of two, whose product rounds nothing, so the
values differ from those of one exponential each by the rounding of the first value and of the
squares alone. With :math:`\epsilon = 2^{-53}` the first value is good to about :math:`\epsilon`,
relatively; a square doubles the error and adds :math:`\epsilon`. So after k squares the error is
below :math:`2^{k+1} \epsilon`, 9e-13 for k = 12, as long as numbers are not subnormal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._tiles import in_double

# The 13 widths of the TGPLM paper take so many, and keep the relative error below 1e-12.
MOST_SQUARES = 12


def ladders(kernels: Sequence[Kernel]) -> list[list[int]]:
    """Find the kernels that one exponential serves.

    Parameters
    ----------
    kernels : sequence of Kernel

    Returns
    -------
    list of list of int
        Numbers of the kernels of each ladder, gammas rising; every kernel is in one ladder, alone
        where it is not "rbf". No ladder spans more than ``2**MOST_SQUARES``.
    """
    found: list[list[int]] = []
    of_mantissa: dict[Hashable, list[int]] = {}
    for i in sorted(range(len(kernels)), key=lambda i: kernels[i].gamma):
        mantissa = math.frexp(kernels[i].gamma)[0] if kernels[i].name == "rbf" else None
        ladder = of_mantissa.get(mantissa)
        if (
            mantissa is None
            or ladder is None
            or kernels[i].gamma > 2.0**MOST_SQUARES * kernels[ladder[0]].gamma
        ):
            ladder = of_mantissa[mantissa] = []
            found.append(ladder)
        ladder.append(i)
    return found


def ladder_values(ladder: Sequence[Kernel], A: Rows, B: Rows) -> Iterator[NDArray[Any]]:
    """Yield the kernel matrix of two sets of rows for every kernel of a ladder.

    Parameters
    ----------
    ladder : sequence of Kernel
        Kernels of one of the `ladders`, in its order.
    A : {ndarray, CSR} of shape (n_a, n_features)
        First rows; the same object twice gives an exact diagonal.
    B : {ndarray, CSR} of shape (n_b, n_features)
        Second rows.

    Yields
    ------
    ndarray of shape (n_a, n_b)
        Overwritten by the next. In double precision where the ladder has several kernels: the
        error of single precision would be squared up to 1e-3.
    """
    if len(ladder) > 1:
        same = A is B
        A = in_double(A)
        B = A if same else in_double(B)
    values = ladder[0](A, B)
    yield values
    for last, kernel in itertools.pairwise(ladder):
        for _ in range(math.frexp(kernel.gamma)[1] - math.frexp(last.gamma)[1]):
            np.multiply(values, values, out=values)
        yield values
