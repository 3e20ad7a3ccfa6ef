# SPDX-License-Identifier: BSD-3-Clause
"""The noise law of every bag, from one law for all of them or a law by bag id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.columns import BagColumn, check_distinct
from bagshift._bags.ids import is_missing, list_entries, number_distinct
from bagshift._bags.numbers import FloatArray
from bagshift.exceptions import BagError, name_bags
from bagshift.noise import NoiseLaw

Laws = NDArray[np.object_]

_FORMS = (
    'a law such as LaplaceNoise(0.05, unit="shares"), or a mapping or Series from bag id to law'
)


def read_noise_column(values: Any) -> tuple[BagColumn, Laws]:
    """Read laws by bag id.

    Parameters
    ----------
    values : mapping or Series
        A law for each bag id; None for a bag whose number is exact.

    Returns
    -------
    column : BagColumn
        The ids; its numbers mean nothing.
    laws : ndarray of shape (n_entries,)
        The laws, in the order of the ids.

    Raises
    ------
    BagError
        If the form, the ids or the laws cannot be used.
    """
    if isinstance(values, Mapping):
        ids, entries = list(values), list(values.values())
    elif hasattr(values, "iloc") and not hasattr(values, "columns"):
        ids, entries = list_entries(values.index, "noise"), values.tolist()
    else:
        raise BagError(f"noise must be {_FORMS}, not {_describe(values)}.")
    entries = [None if is_missing(entry) else entry for entry in entries]
    strange = [place for place, law in enumerate(entries) if not _is_law(law)]
    if strange:
        found = _describe(entries[strange[0]])
        raise BagError(
            f"noise must hold a law or None for every bag but holds {found} for "
            f"{name_bags(ids[place] for place in strange)}: give {_FORMS}."
        )
    try:
        column = BagColumn(ids, np.zeros(len(ids)))
    except (TypeError, ValueError) as error:
        raise BagError(f"the bag ids of noise must be hashable: {error}.") from error
    check_distinct(column, "noise")
    return column, np.fromiter(entries, dtype=object, count=len(entries))


def repeat_law(law: NoiseLaw | None, n_bags: int) -> Laws:
    """Give every bag the same law; shape (n_bags,)."""
    laws = np.empty(n_bags, dtype=object)
    laws[:] = [law] * n_bags
    return laws


def places_by_law(noise: Laws) -> dict[NoiseLaw | None, NDArray[np.int64]]:
    """List the places of the bags of each law, and of those without one under None."""
    codes, laws = number_distinct(noise, "noise")
    places = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return {
        law if isinstance(law, NoiseLaw) else None: listed
        for law, listed in zip(laws, places, strict=False)
    }


def is_additive(noise: Laws) -> NDArray[np.bool_]:
    """Whether something was added to the number of each bag; shape (n_bags,)."""
    return np.fromiter((law is not None and law.is_additive for law in noise), bool, len(noise))


def scales_in_shares(noise: Laws, sizes: FloatArray) -> FloatArray:
    """Return the scale of what was added to each share, 0 for nothing; shape (n_bags,)."""
    scales = np.zeros(len(noise))
    for law, places in places_by_law(noise).items():
        if law is not None and law.is_additive:
            scales[places] = law._scale_in_shares(sizes[places])
    return scales


def _is_law(entry: Any) -> bool:
    return entry is None or isinstance(entry, NoiseLaw)


def _describe(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    return f"something of type {type(value).__name__}"
