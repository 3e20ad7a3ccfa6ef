# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the paper's Gaussians: boundaries, and accuracy over K and over the coupling."""

from __future__ import annotations

import warnings
from typing import Any

from matplotlib.figure import Figure

from bagshift.experiments.draws import Draw
from bagshift.experiments.methods import METHODS
from bagshift.experiments.pages import PagePicture, PageSection
from bagshift.experiments.paper.choosing import IC_SVM, MACHINES, SVM, TGPLM_NAME, fitted
from bagshift.experiments.paper.gaussians import (
    BAG_SIZES,
    COUPLINGS,
    HONEST_METHODS,
    METHOD_NAMES,
    PATH_BAG_SIZES,
    PATH_COSTS,
    TASKS,
    gaussian_draw,
    path_method,
)
from bagshift.experiments.paper.protocols import Protocol, read_setting
from bagshift.experiments.paper.statistics import Results
from bagshift.plotting.boundaries import plot_boundaries
from bagshift.plotting.sensitivity import plot_sensitivity

BOUNDARY_BAG_SIZE, BOUNDARY_DRAW = 8, 0
PARAMETERS = ("C", "C_source", "C_target", "coupling", "gamma")


def over_bag_sizes(chosen: Results, protocol: Protocol) -> PagePicture:
    """Draw the accuracies over the bag size.

    Parameters
    ----------
    chosen : Results
        Cells with chosen parameters.
    protocol : Protocol
        Their rules.

    Returns
    -------
    PagePicture
    """
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for task, ax in zip(TASKS, figure.subplots(1, 2), strict=True):
        in_sample, fresh = (
            {
                method: [chosen.mean(where, task, size, method) for size in BAG_SIZES]
                for method in METHOD_NAMES
            }
            for where in ("in_sample", "fresh")
        )
        plot_sensitivity(BAG_SIZES, in_sample, ax, dashed=fresh)
        ax.set_xticks(BAG_SIZES, [str(size) for size in BAG_SIZES])
        ax.set_title(f"{TASKS[task]} shift", loc="left")
        ax.set_xlabel("bag size K")
    return PagePicture(
        name="over-bag-sizes",
        caption="Solid: in-sample, on the bagged rows. Dashed: on fresh rows. "
        f"{protocol.description[0].upper()}{protocol.description[1:]}; {chosen.draws}.",
        figure=figure,
        description="Accuracy of SVM, IC-SVM, TGPLM and the ceiling over the bag size.",
    )


def boundaries(chosen: Results, protocol: Protocol) -> PageSection:
    """Draw the boundaries of the three machines on one draw of either assumption.

    Parameters
    ----------
    chosen : Results
        Cells with chosen parameters.
    protocol : Protocol
        Their rules.

    Returns
    -------
    PageSection
    """
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    for task, ax in zip(TASKS, figure.subplots(1, 2), strict=True):
        draw = gaussian_draw(TASKS[task], BOUNDARY_BAG_SIZE, BOUNDARY_DRAW)
        machines = _machines(chosen, protocol, task, draw)
        plot_boundaries(draw.X_source, draw.y_source, draw.X_bagged, draw.y_bagged, machines, ax)
        ax.set_title(f"{TASKS[task]} shift", loc="left")
    picture = PagePicture(
        name="boundaries",
        caption=f"Source and target rows and boundaries at K = {BOUNDARY_BAG_SIZE}, draw "
        f"{BOUNDARY_DRAW}; {protocol.description}. The marks show true labels, of which the "
        "machines see those of the source only.",
        figure=figure,
        description="Points of both domains in the plane with the boundaries of SVM, IC-SVM and "
        "TGPLM.",
    )
    return PageSection(title="Boundaries", pictures=[picture])


def _machines(chosen: Results, protocol: Protocol, task: str, draw: Draw) -> dict[str, Any]:
    """Return the three machines fitted as they were chosen."""
    machines = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (SVM, IC_SVM, TGPLM_NAME):
            cell = chosen.cells[(task, "random", BOUNDARY_BAG_SIZE, name, BOUNDARY_DRAW)]
            if cell.status != "done":
                continue
            if protocol.name == "paper":
                setting = read_setting(cell.chosen, PARAMETERS)
                machines[name] = fitted(MACHINES[name](), setting, draw)
            else:
                machines[name] = METHODS[HONEST_METHODS[name]].fit(draw)[0]
    return machines


def couplings(paths: Results) -> PageSection:
    """Draw the accuracy of TGPLM along the coupling.

    Parameters
    ----------
    paths : Results
        Cells along the coupling.

    Returns
    -------
    PageSection
    """
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for task, ax in zip(TASKS, figure.subplots(1, 2), strict=True):
        in_sample, fresh = (
            {
                f"K = {size}": [
                    paths.mean(where, task, size, path_method(coupling)) for coupling in COUPLINGS
                ]
                for size in PATH_BAG_SIZES
            }
            for where in ("in_sample", "fresh")
        )
        plot_sensitivity(COUPLINGS, in_sample, ax, dashed=fresh)
        ax.set_title(f"{TASKS[task]} shift", loc="left")
        ax.set_xlabel("coupling λ")
    costs = ", ".join(f"{name} = {value:g}" for name, value in PATH_COSTS.items())
    picture = PagePicture(
        name="coupling",
        caption=f"Solid: in-sample. Dashed: fresh rows. Fixed settings: 2σ² = s, {costs}; no "
        f"parameter is chosen; {paths.draws}.",
        figure=figure,
        description="Accuracy of TGPLM over the coupling for two bag sizes.",
    )
    return PageSection(title="Along the coupling", pictures=[picture])
