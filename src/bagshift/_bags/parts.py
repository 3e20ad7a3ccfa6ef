# SPDX-License-Identifier: BSD-3-Clause
"""Bags that are to be put below one another, and whether their classes agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from bagshift._bags.data import BagData
from bagshift.exceptions import BagError, name_some


def list_parts(parts: Any) -> list[BagData]:
    """List what is to be put below one another, at least one."""
    is_list = isinstance(parts, Iterable) and not isinstance(parts, BagData)
    listed = list(parts) if is_list else [parts]
    strange = [part for part in listed if not isinstance(part, BagData)]
    if strange or not is_list:
        what = f"holds {type(strange[0]).__name__}" if strange and is_list else "is one object"
        raise BagError(f"parts {what}: give a list of Bags, such as [bags, more_bags].")
    if not listed:
        raise BagError("parts is empty: give at least one Bags.")
    return listed


def same_classes(parts: list[BagData]) -> list[BagData]:
    """Give parts without bags, such as the rows of a source, the classes of the others."""
    held = [part for part in parts if part.n_bags or part.classes]
    if not held:
        return parts
    first = held[0]
    if any(part.classes != first.classes for part in held):
        raise BagError(
            "the parts have different classes, "
            f"{name_some(part.classes or 'two' for part in held)}."
        )
    nothing = np.empty((0, first.n_classes))
    return [
        part if part in held else replace(part, shares=nothing, classes=first.classes)
        for part in parts
    ]


def agreed(parts: list[BagData], name: str) -> Any:
    """Return what the parts declare as the positive or the negative class."""
    declared = [getattr(part, name) for part in parts if getattr(part, name) is not None]
    if any(label != declared[0] for label in declared):
        raise BagError(f"the parts declare different {name}= labels, {name_some(declared)}.")
    return declared[0] if declared else None
