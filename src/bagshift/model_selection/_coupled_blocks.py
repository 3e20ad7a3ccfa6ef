# SPDX-License-Identifier: BSD-3-Clause
"""Settings of a coupled machine, ordered so that each can be solved from an earlier one.

Settings of one kernel make a *block*: they share whatever stands for the kernel. Settings of a
block that differ in costs and coupling alone make a *chain*. Two modules train the settings of
blocks on folds, each with a function ``errors_of_groups`` of the same arguments and results:
:mod:`bagshift.model_selection._exact_folds` on kernel matrices,
:mod:`bagshift.model_selection._explicit_folds` on explicit features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._training import TrainingData
from bagshift.kernels import Kernel
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._grouping import group, parameters

Floats = NDArray[np.float64]

KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0")

_COSTS = ("C", "C_source", "C_target")


@dataclass(frozen=True)
class Chain:
    """Settings that differ in costs and coupling alone, in the order to solve them in.

    Costs are in one ratio and grow; with the same costs the coupling grows. `machine` has these
    parameters and unit costs; chains of machines that differ in nothing else share it.
    """

    settings: NDArray[np.intp]
    machine: CoupledMachine
    source_costs: Floats
    target_costs: Floats
    couplings: Floats


@dataclass(frozen=True)
class Family:
    """Settings with the same kernel, without data: what is sent to other processes."""

    kernel: Kernel
    chains: list[Chain]
    n_settings: int


@dataclass(frozen=True)
class Block:
    """A family of settings and its data.

    `given` is all training data, `data` the part that the machines learn from.
    """

    family: Family
    given: TrainingData
    data: TrainingData

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.family.kernel

    @property
    def chains(self) -> list[Chain]:
        """All settings, in chains."""
        return self.family.chains

    @property
    def n_settings(self) -> int:
        """Number of settings."""
        return self.family.n_settings


def family_of(machines: list[CoupledMachine], data: TrainingData) -> Family:
    """Return the family of machines of one kernel, which the data fix."""
    return Family(machines[0]._kernel(data), chains_of(machines), len(machines))


def chains_of(machines: list[CoupledMachine]) -> list[Chain]:
    """Order settings into chains: same ratio of costs, growing costs, coupling innermost."""
    first = machines[0].get_params(deep=False)
    others = [name for name in first if name not in (*_COSTS, "coupling")]
    values = [vars(each) for each in machines]
    # Machines with one cost have units of one domain only.
    only = "C" if "C" in first else None
    source, target = (
        np.array([each[only or name] for each in values], dtype=float)
        for name in ("C_source", "C_target")
    )
    couplings = np.array([each.get("coupling", 0.0) for each in values], dtype=float)
    largest = np.maximum(source, target)
    ratios = np.divide(source - target, largest, out=np.zeros_like(largest), where=largest > 0)
    ratios = np.round(ratios, 12)
    at_unit_costs: dict[tuple[Any, ...], CoupledMachine] = {}
    keys = []
    for machine, ratio in zip(machines, ratios, strict=True):
        key = parameters(machine, others)
        if key not in at_unit_costs:
            unit_costs = {name: 1.0 for name in _COSTS if name in first}
            at_unit_costs[key] = clone(machine).set_params(**unit_costs)
        keys.append((key, ratio))
    chains = []
    for members in group(range(len(machines)), keys.__getitem__):
        settings = np.array(members)
        settings = settings[np.lexsort((couplings[settings], largest[settings]))]
        chains.append(
            Chain(
                settings,
                at_unit_costs[keys[members[0]][0]],
                source[settings],
                target[settings],
                couplings[settings],
            )
        )
    return chains


def training_part(block: Block, fold: BagFold) -> tuple[TrainingData, NDArray[np.intp]]:
    """Return the training data of a fold and its units; rows in no bag are in every fold."""
    bags = block.data.bags[fold.train_rows]
    # The problem is stated in units, so the fold's rows themselves are not needed.
    data = replace(
        block.data, X_target=None, bags=bags, labelled_rows=np.flatnonzero(bags.has_label)
    )
    n_source, n_bags = block.data.n_source, block.data.bags.n_bags
    labelled = np.arange(n_source + n_bags, n_source + block.data.n_target_units)
    units = np.concatenate([np.arange(n_source), n_source + fold.train_bags, labelled])
    return data, units
