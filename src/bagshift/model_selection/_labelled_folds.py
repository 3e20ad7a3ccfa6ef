# SPDX-License-Identifier: BSD-3-Clause
"""Labels of held-out rows that every setting of a kernel machine gets right.

This is the criterion of published comparisons, "classification accuracy of cross-validation". On
rows of the target it asks for labels that nobody has; on rows of the source it says nothing of
the target. It is here to compute what was published, not to choose parameters by.

As in :mod:`bagshift.model_selection._exact_folds`, settings of one kernel share its matrix, and
settings that differ in costs and coupling alone are solved from one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._training import TrainingData
from bagshift.kernels import unit_cross
from bagshift.model_selection._coupled_blocks import KERNEL_PARAMETERS
from bagshift.model_selection._exact_folds import ExactBlock, make_blocks, solved_chains
from bagshift.model_selection._grouping import group, parameters

Rows = NDArray[np.int64]
Part = tuple[TrainingData, NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class LabelledFold:
    """Which rows of one domain are trained on and which are scored; the other is used whole.

    Attributes
    ----------
    domain : {"source", "target"}
        The domain. Rows of the source are scored by the source machine.
    train, test : ndarray of int
        Numbers of its rows, ascending. Training rows of the target are whole bags.
    """

    domain: Literal["source", "target"]
    train: Rows
    test: Rows


def count_right(
    machines: Sequence[CoupledMachine],
    given: TrainingData,
    folds: Sequence[LabelledFold],
    truth: NDArray[Any],
) -> NDArray[np.int64]:
    """Count the scored rows that every machine labels right.

    Parameters
    ----------
    machines : sequence of CoupledMachine
        Unfitted, of one type, one per setting.
    given : TrainingData
        All training data, as ``fit`` would read them.
    folds : sequence of LabelledFold
        All of one domain.
    truth : ndarray of shape (n_rows,)
        Labels of the rows of this domain, positive for ``classes[1]``.

    Returns
    -------
    ndarray of shape (n_settings, n_folds)
    """
    right = np.zeros((len(machines), len(folds)), dtype=np.int64)
    groups = group(range(len(machines)), lambda i: parameters(machines[i], KERNEL_PARAMETERS))
    for members in groups:
        # One kernel after the other: there is a single matrix at a time.
        block = make_blocks([[machines[i] for i in members]], given)[0]
        kernel = _kernel_of_domain(block, folds[0].domain)
        for number, fold in enumerate(folds):
            right[members, number] = _count_right_of_block(block, kernel, fold, truth)
    return right


def _kernel_of_domain(block: ExactBlock, domain: str) -> NDArray[Any]:
    """Return the kernel of all rows of a domain with all units."""
    data, given = block.data, block.given
    if domain == "source":
        # In every machine that has a source its rows are units.
        return block.gram[: given.n_source]
    return unit_cross(
        block.kernel,
        given.X_target,
        data.X_source,
        data.X_target,
        data.unit_of_row,
        data.n_target_units,
    )


def _count_right_of_block(
    block: ExactBlock, kernel: NDArray[Any], fold: LabelledFold, truth: NDArray[Any]
) -> NDArray[np.int64]:
    data, units = _training_part(block, fold)
    gram = np.ascontiguousarray(block.gram[np.ix_(units, units)])
    cross = kernel[np.ix_(fold.test, units)]
    is_positive = truth[fold.test, np.newaxis] > 0
    by_source_machine = fold.domain == "source" and data.n_source > 0
    right = np.empty(block.n_settings, dtype=np.int64)
    for chain, solved in solved_chains(block, data, gram, before=lambda: None):
        scores = solved.source_scores(cross) if by_source_machine else solved.scores(cross)
        right[chain.settings] = np.sum((scores > 0) == is_positive, axis=0)
    return right


def _training_part(block: ExactBlock, fold: LabelledFold) -> Part:
    """Return the training data of a fold and its units."""
    data, train = block.data, fold.train
    n_source, n_bags = data.n_source, data.bags.n_bags
    if not n_bags:
        learns_from = "source" if block.given.n_source else "target"
        return _labelled_part(data, train if fold.domain == learns_from else None)
    if fold.domain == "source":
        part = replace(
            data,
            X_source=None,
            source_signs=data.source_signs[train],
            source_weight=data.source_weight[train],
        )
        return part, np.concatenate([train, np.arange(n_source, n_source + n_bags)])
    bags = data.bags[train]
    trained = np.unique(data.bags.bag_index[train])
    part = replace(data, X_target=None, bags=bags)
    return part, np.concatenate([np.arange(n_source), n_source + trained])


def _labelled_part(data: TrainingData, train: Rows | None) -> Part:
    """Return the same for a machine that learns from labels alone."""
    if train is None:
        return data, np.arange(len(data.labelled_rows))
    part = replace(
        data,
        X_target=None,
        bags=Bags.unlabelled(len(train)),
        labelled_rows=np.arange(len(train)),
        labelled_signs=data.labelled_signs[train],
        labelled_weight=data.labelled_weight[train],
    )
    return part, train.astype(np.intp)
