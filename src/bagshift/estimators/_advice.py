# SPDX-License-Identifier: BSD-3-Clause
"""Sentences about what ``fit`` is to be given, from what a machine can make use of."""

from __future__ import annotations

from typing import Any

from bagshift.estimators._base import get_bag_tags

MAKE_BAGS = "give the bags of the rows as y: Bags.from_arrays(bag_ids, shares)"
IF_IDS = f"if these are bag ids, {MAKE_BAGS}"


def no_target(estimator: Any) -> str:
    """Say what ``fit`` was to be given beside the rows; scikit-learn looks for the first words."""
    tags = get_bag_tags(estimator)
    needs = []
    if tags.uses_bags:
        needs.append("the bags of the rows as y, Bags.from_arrays(bag_ids, shares)")
    if tags.uses_source:
        needs.append("labelled history as source=(X, y)")
    needs = needs or ["the label of every row as y"]
    joined = (", and " if tags.needs_source else ", with or without ").join(needs)
    return (
        f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is "
        f"None; give {joined}."
    )


def labels_beside_source(estimator: Any) -> str:
    """Say what to do with plain labels of the rows and a source, given together."""
    tags = get_bag_tags(estimator)
    if not tags.uses_source:
        bags = f"; {IF_IDS}" if tags.uses_bags else ""
        return f"{type(estimator).__name__} makes no use of a source; leave source= out{bags}."
    known = "put known target labels into Bags.unlabelled(n_rows).with_labels(labels), or "
    bags = IF_IDS if tags.uses_bags else "without any labels of the target, give y=None"
    return (
        "Plain labels together with source= are ambiguous; "
        f"{known if tags.uses_target_labels else ''}train on all labelled rows without source=; "
        f"{bags}."
    )


def who_is_positive(estimator: Any) -> str:
    """Say where labels of rows must come from when bags do not tell rows apart."""
    tags = get_bag_tags(estimator)
    places = ["the source"] if tags.uses_source else []
    places += ["labelled rows"] if tags.uses_target_labels else []
    return " or from ".join(places)
