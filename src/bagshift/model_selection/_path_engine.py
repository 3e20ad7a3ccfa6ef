# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validated share errors of many settings of the machines of one program.

A setting is trained by the solver that the machine itself would take for all the data: on the
kernel matrix of all units, or on explicit features where they are many.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

from bagshift.bags import Bags
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._scalable import choose_solver
from bagshift.estimators._training import TrainingData
from bagshift.model_selection import _exact_folds, _explicit_folds
from bagshift.model_selection._coupled_blocks import KERNEL_PARAMETERS
from bagshift.model_selection._folds import BagFold, default_bag_cv
from bagshift.model_selection._grouping import group, parameters
from bagshift.model_selection._parallel import counter
from bagshift.model_selection._search_engine import FoldScores, Grid, Progress
from bagshift.model_selection._share_errors import ErrorTable
from bagshift.model_selection.grids import named_grid, numbers_of_terms

# What settings must share to be trained on the same kernel matrix or features.
_GROUPING = (*KERNEL_PARAMETERS, "solver", "feature_map", "n_components", "random_state")


class CoupledEngine:
    """Engine of the machines that solve one coupled quadratic program."""

    machine_names = ("TGPLM", "InverseCalibrationSVM", "SourceSVM")

    def serves(self, machine: Any) -> bool:
        """Tell whether an estimator is such a machine."""
        return isinstance(machine, CoupledMachine) and machine._is_one_program

    def grid(self, name: str, machine: Any, given: TrainingData) -> Grid:
        """Return a named grid for a machine and all its training data."""
        return named_grid(name, machine, machine._select(given))

    def for_sample(
        self, machines: list[Any], given: TrainingData, sample: TrainingData
    ) -> list[Any]:
        """Return the machines whose costs weigh the mean losses of a sample as these do of all."""
        data, part = machines[0]._select(given), machines[0]._select(sample)
        factors: dict[Any, tuple[float, float]] = {}
        scaled = []
        for machine in machines:
            weighting = getattr(machine, "bag_weight", None)
            if weighting not in factors:
                of_all, of_part = (numbers_of_terms(machine, each) for each in (data, part))
                factors[weighting] = of_all[0] / of_part[0], of_all[1] / of_part[1]
            scaled.append(_at_costs(machine, *factors[weighting]))
        return scaled

    def default_cv(self, bags: Bags) -> Any:
        """Return ten folds, repeated below thirty bags, since share errors move in steps."""
        return default_bag_cv(bags)

    def require_memory(self, machines: list[Any], given: TrainingData, n_running: int) -> None:
        """Refuse what does not fit with a part of it for every running fold."""
        data = machines[0]._select(given)
        for members in _groups(machines):
            machine = machines[members[0]]
            if _solver_of(machine, data) == "exact":
                _exact_folds.require_memory(data, n_running)
            else:
                _explicit_folds.require_memory(machine, data, n_running)

    def cross_validate(
        self,
        machines: list[Any],
        given: TrainingData,
        folds: list[BagFold],
        *,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> FoldScores:
        """Return the scores of machines of one type, one per setting, on held-out bags.

        Parameters
        ----------
        machines : list of CoupledMachine
            Unfitted.
        given : TrainingData
            All training data, as ``fit`` would read them.
        folds : list of BagFold
        n_jobs : int, optional
            Folds worked on at the same time.
        progress : callable, optional
            Called with the number of folds done and the number of all, over all kernels.

        Returns
        -------
        FoldScores
            Scored by 1 - share error, its ties broken by the soft share error.

        Raises
        ------
        KernelMemoryError
            When a kernel matrix or a map of the rows would not fit into memory.
        """
        table = ErrorTable(len(machines), given.bags, folds)
        groups = _groups(machines)
        advance = counter(progress, len(groups) * len(folds))
        data = machines[0]._select(given)
        for module, of_module in _by_module(groups, machines, data):
            ready = [[machines[i] for i in members] for members in of_module]
            found = module.errors_of_groups(ready, given, folds, n_jobs, advance)
            for number, fold, errors in found:
                table.add(of_module[number], fold, errors)
        return replace(table.as_scores(), report=_report(groups, machines, data))


def _at_costs(machine: Any, source: float, target: float) -> Any:
    """Return a machine with its costs multiplied; the only cost is that of the target's units."""
    scaled = copy(machine)
    for name, factor in (("C", target), ("C_target", target), ("C_source", source)):
        if hasattr(machine, name):
            setattr(scaled, name, factor * getattr(machine, name))
    return scaled


def _report(groups: list[list[int]], machines: list[Any], data: TrainingData) -> dict[str, Any]:
    """Return which solvers trained the settings, and on how many components of a map."""
    first = [machines[members[0]] for members in groups]
    solvers = {_solver_of(machine, data) for machine in first}
    n_components = None
    if solvers != {"exact"}:
        found = [_explicit_folds.n_components_of(m, data) for m in first]
        n_components = max((n for n in found if n is not None), default=None)
    return {"solver": ", ".join(sorted(solvers)), "n_components": n_components}


def _groups(machines: list[Any]) -> list[list[int]]:
    """Group machines that are trained on the same kernel matrix or features."""
    names = [name for name in _GROUPING if hasattr(machines[0], name)]
    return group(range(len(machines)), lambda i: parameters(machines[i], names))


def _solver_of(machine: Any, data: TrainingData) -> str:
    """Return the solver that a machine would take for all the data."""
    wanted = getattr(machine, "solver", "exact")
    return wanted if wanted == "exact" else choose_solver(wanted, machine._kernel(data), data)


def _by_module(
    groups: list[list[int]], machines: list[Any], data: TrainingData
) -> list[tuple[Any, list[list[int]]]]:
    """Return the modules that train groups, and which ones each of them does."""
    exact: list[list[int]] = []
    explicit: list[list[int]] = []
    for members in groups:
        is_exact = _solver_of(machines[members[0]], data) == "exact"
        (exact if is_exact else explicit).append(members)
    both = [(_exact_folds, exact), (_explicit_folds, explicit)]
    return [(module, of_module) for module, of_module in both if of_module]
