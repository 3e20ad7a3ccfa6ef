# SPDX-License-Identifier: BSD-3-Clause
"""The machines fitted to rows on a cluster: their losses, laid on blocks of these rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators import CountLikelihoodClassifier
from bagshift.estimators._advice import who_is_positive
from bagshift.estimators._stored_counts import counts_of, fit_count_passes
from bagshift.estimators._stored_data import StoredBags, StoredData
from bagshift.estimators._stored_units import fit_unit_passes
from bagshift.labels import resolve_classes, warn_if_flipped, warn_uninformative
from bagshift.scale import _dask_blocks as blocks
from bagshift.scale._dask_frames import Frames, Known
from bagshift.scale.dask_passes import DaskRowPasses, DaskUnitPasses
from bagshift.solvers._linear_passes import LinearPasses
from bagshift.solvers.coupled_linear import are_few


@dataclass(frozen=True, eq=False)
class _ClusterData(StoredData):
    """Training data whose rows, and the labels of the source, lie on a cluster."""

    n_source_rows: int = 0

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return self.n_source_rows

    @property
    def source_weight(self) -> NDArray[np.float64]:
        """As many as `source_signs`: none."""
        return np.empty(0)


def fit(machine: Any, client: Client, frames: Frames, known: Known, bags: Bags) -> None:
    """Fit a machine in place.

    Parameters
    ----------
    machine : TGPLM, InverseCalibrationSVM or CountLikelihoodClassifier
    client : distributed.Client
    frames : Frames
    known : Known
        Of these frames.
    bags : Bags
        A row for each bag, in the order of the ids that are known.
    """
    classes = resolve_classes(known.labels, bags)
    positive, classes = classes[1], np.sort(classes)
    is_used = bags.bag_index >= 0
    of_bags = blocks.Bagged(frames.bag, known.ids, known.ids[is_used], known.n_rows[is_used])
    data = _ClusterData(
        classes=classes,
        positive=positive,
        X_source=None,
        X_target=None,
        source_signs=np.empty(0),
        bags=StoredBags(bags.positive_shares, bags.sizes, of_bags.n_rows),
        n_source_rows=sum(known.lengths),
    )
    _warn(data, known, bags, who_is_positive(machine))
    if isinstance(machine, CountLikelihoodClassifier):
        _fit_counts(machine, client, frames, known, of_bags, data)
    else:
        _fit_units(machine, client, frames, known, of_bags, data)
    machine.feature_names_in_ = np.array(known.columns.names, dtype=object)


def _warn(data: StoredData, known: Known, bags: Bags, from_where: str) -> None:
    warn_uninformative(bags, from_where)
    if known.labels is not None:
        is_positive = known.labels == data.positive
        rate = float(known.label_counts[is_positive].sum() / known.label_counts.sum())
        warn_if_flipped(rate, bags)


def _fit_units(
    machine: Any,
    client: Client,
    frames: Frames,
    known: Known,
    of_bags: blocks.Bagged,
    data: _ClusterData,
) -> None:
    losses = machine._losses(data)
    source: LinearPasses | None = None
    if frames.source is not None:
        labels = blocks.Labelled(frames.label or "", data.classes[1], machine.C_source, True)
        source = DaskUnitPasses(
            blocks.blocks_of_labelled_rows(
                client, frames.source, known.columns, labels, known.lengths
            )
        )
    target: LinearPasses = DaskUnitPasses(
        blocks.blocks_of_means(client, frames.target, known.columns, of_bags, losses.target[0])
    )
    if are_few(data.n_source + of_bags.n_bags):
        # All of them would be fetched in the end.
        source = None if source is None else source.gathered()
        target = target.gathered()
    fit_unit_passes(machine, data, source, target, losses.coupling)


def _fit_counts(
    machine: CountLikelihoodClassifier,
    client: Client,
    frames: Frames,
    known: Known,
    of_bags: blocks.Bagged,
    data: _ClusterData,
) -> None:
    machine._check_learnable(data)  # type: ignore[arg-type]
    counts = counts_of(data.bags)
    found = [
        blocks.blocks_of_counted_rows(
            client, frames.target, known.columns, of_bags, counts, machine.C_target
        )
    ]
    if frames.source is not None:
        # Scores grow towards the class that shares are of.
        labels = blocks.Labelled(frames.label or "", data.positive, machine.C_source, False)
        found.append(
            blocks.blocks_of_labelled_rows(
                client, frames.source, known.columns, labels, known.lengths
            )
        )
    scale = blocks.column_scale_of(found, machine.standardize)
    target, *source = [DaskRowPasses(blocks.standardised(part, scale)) for part in found]
    fit_count_passes(machine, data, source[0] if source else None, target, scale=scale)
