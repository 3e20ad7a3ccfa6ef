# SPDX-License-Identifier: BSD-3-Clause
"""Labels of single target rows: known ones, those of bags of one class, and ones to guess."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bagshift.estimators._hidden_labels import every_row_a_unit
from bagshift.estimators._training import TrainingData


@dataclass(frozen=True, kw_only=True)
class TargetLabels(TrainingData):
    """Training data with a unit for each target row that has a label, or may be given one.

    Attributes
    ----------
    given : TrainingData
        The data as they were read.
    is_guessed : bool
        Whether labels are to be guessed where ``labelled_signs`` are 0.
    passes_over_labels : bool
        Whether rows were labelled, but are guessed all the same.
    """

    given: TrainingData
    is_guessed: bool
    passes_over_labels: bool

    @classmethod
    def of(cls, given: TrainingData, rule: str) -> Self:
        """Collect the labels by a rule, one of the values of ``target_labels``."""
        every = every_row_a_unit(given)
        if rule != "labelled":
            every = with_pure_bags(every, given)
        of_one_class = rule == "auto" and not every.without_source().knows_both_classes
        if of_one_class:
            n_rows = len(every.labelled_rows)
            every = replace(
                every, labelled_signs=np.zeros(n_rows), labelled_weight=np.ones(n_rows)
            )
        is_guessed = rule == "pseudo" or of_one_class
        rows = np.flatnonzero(is_guessed | (every.labelled_signs != 0))
        of_rows = {
            "labelled_rows": rows,
            "labelled_signs": every.labelled_signs[rows],
            "labelled_weight": every.labelled_weight[rows],
        }
        return cls(
            **{**every.entries(), **of_rows},
            given=given,
            is_guessed=is_guessed,
            passes_over_labels=of_one_class and len(given.labelled_rows) > 0,
        )


def with_pure_bags(every: TrainingData, given: TrainingData) -> TrainingData:
    """Return training data with the labels of rows in bags of share 0 or 1.

    Parameters
    ----------
    every : TrainingData
        One unit per target row.
    given : TrainingData
        The same with bags. A share that may be noisy or rounded says nothing for sure.

    Returns
    -------
    TrainingData
        The weight of a bag is that of each of its rows.
    """
    bags = given.bags
    is_exact = np.array([law is None for law in bags.noise], dtype=bool)
    sign_of_bag = is_exact * ((given.shares == 1.0) * 1.0 - (given.shares == 0.0) * 1.0)
    rows = bags.rows_in_bags()
    signs, weight = every.labelled_signs.copy(), every.labelled_weight.copy()
    signs[rows] = sign_of_bag[bags.bag_index[rows]]
    weight[rows] = bags.weights[bags.bag_index[rows]]
    return replace(every, labelled_signs=signs, labelled_weight=weight)
