# SPDX-License-Identifier: BSD-3-Clause
"""The two-dimensional Gaussians of the paper as draws, and machines of fixed settings on them."""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np

from bagshift.datasets import make_bags, paper_gaussians
from bagshift.estimators import TGPLM, InverseCalibrationSVM, SourceSVM
from bagshift.experiments.draws import Draw
from bagshift.experiments.methods import CEILING as HONEST_CEILING
from bagshift.experiments.methods import FLOOR
from bagshift.experiments.paper.choosing import (
    CEILING,
    IC_SVM,
    SVM,
    TGPLM_NAME,
    fitted,
    fixed_outcome,
    honest_outcome,
    outcome_of,
)
from bagshift.experiments.paper.protocols import (
    Protocol,
    accuracy,
    read_setting,
    unit_gamma,
)
from bagshift.experiments.runs import Job, Outcome
from bagshift.model_selection.grids import PAPER_COUPLINGS

Assumption = Literal["mild", "strong"]
ASSUMPTIONS: tuple[Assumption, ...] = get_args(Assumption)
TASKS: dict[str, Assumption] = {f"gaussians-{name}": name for name in ASSUMPTIONS}
BAG_SIZES = (2, 4, 8, 16)
METHOD_NAMES = (SVM, IC_SVM, TGPLM_NAME, CEILING)
HONEST_METHODS = {
    SVM: FLOOR,
    IC_SVM: "InverseCalibrationSVM",
    TGPLM_NAME: "TGPLMCV",
    CEILING: HONEST_CEILING,
}

# The path along the coupling: kernel 2 sigma^2 = s, and costs in the middle of the paper's grid.
PATH_BAG_SIZES = (8, 16)
PATH_COSTS = {"C_source": 2.0, "C_target": 1.0}
COUPLINGS = tuple(PAPER_COUPLINGS)
# Where large and small couplings are compared with what they should become.
LIMIT_BAG_SIZE = 8
LIMIT_COSTS = (2.0**-6, 2.0, 32.0)
TWINS = ("SVM", "pooled machine", "IC-SVM")


def gaussian_draw(assumption: Assumption, bag_size: int, seed: int) -> Draw:
    """Return a draw of the paper's Gaussians with 100 source rows and 100 bagged ones.

    Parameters
    ----------
    assumption : {"mild", "strong"}
        What is assumed of the class means, which the paper does not give.
    bag_size : int
        Rows per bag; what is left over forms a shorter one.
    seed : int
        Number of the draw; points are the same for every bag size.

    Returns
    -------
    Draw
    """
    random = np.random.RandomState(seed)
    points = paper_gaussians(assumption, random_state=random)
    bag_ids, shares = make_bags(points.y_target, bag_size, random_state=random)
    return Draw(
        kernel="rbf",
        X_source=points.X_source,
        y_source=points.y_source,
        X_bagged=points.X_target,
        y_bagged=points.y_target,
        bag_ids=bag_ids,
        shares=shares,
        X_fresh=points.X_fresh,
        y_fresh=points.y_fresh,
        seed=seed,
    )


def chosen_outcome(protocol: Protocol, job: Job) -> Outcome:
    """Return what a method reaches on the draw of a job.

    Parameters
    ----------
    protocol : Protocol
        How its parameters are chosen.
    job : Job
        Its task is one of `TASKS`, its method one of `METHOD_NAMES`.

    Returns
    -------
    Outcome
    """
    draw = gaussian_draw(TASKS[job.task], job.bag_size, job.draw)
    if protocol.name == "paper":
        return outcome_of(job.method, draw, protocol.selection, protocol.grid)
    return honest_outcome(HONEST_METHODS[job.method], draw)


def path_method(coupling: float) -> str:
    """Return the name of TGPLM on the path along the coupling.

    Parameters
    ----------
    coupling : float
        A power of two.

    Returns
    -------
    str
    """
    return f"TGPLM coupling={coupling:g}"


def path_outcome(job: Job) -> Outcome:
    """Return what TGPLM of fixed costs reaches at the coupling in a job's name.

    Parameters
    ----------
    job : Job
        Its method comes from :func:`path_method`.

    Returns
    -------
    Outcome
    """
    draw = gaussian_draw(TASKS[job.task], job.bag_size, job.draw)
    coupling = read_setting(job.method.partition(" ")[2], ["coupling"])["coupling"]
    setting = {**PATH_COSTS, "coupling": coupling, "gamma": unit_gamma(draw)}
    return fixed_outcome(setting, draw)


def twin_method(coupling: float, twin: str, target_cost: float) -> str:
    """Return the name of a comparison of TGPLM with another machine.

    Parameters
    ----------
    coupling : float
        Of TGPLM.
    twin : str
        One of `TWINS`.
    target_cost : float
        C_target of TGPLM.

    Returns
    -------
    str
    """
    return f"coupling={coupling:g} C_target={target_cost:g} against {twin}"


def twin_outcome(job: Job) -> Outcome:
    """Return on which share of the rows TGPLM and another machine of the same costs agree.

    Parameters
    ----------
    job : Job
        Its method comes from :func:`twin_method`.

    Returns
    -------
    Outcome
        Agreement in place of accuracy.
    """
    draw = gaussian_draw(TASKS[job.task], job.bag_size, job.draw)
    setting_text, _, twin = job.method.partition(" against ")
    costs = {"C_source": PATH_COSTS["C_source"], **read_setting(setting_text, ["C_target"])}
    coupling = read_setting(setting_text, ["coupling"])["coupling"]
    gamma = unit_gamma(draw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(TGPLM(), {**costs, "coupling": coupling, "gamma": gamma}, draw)
        other = _twin(twin, costs, gamma, draw)
        return Outcome(
            fresh=accuracy(model.predict(draw.X_fresh), other.predict(draw.X_fresh)),
            in_sample=accuracy(model.predict(draw.X_bagged), other.predict(draw.X_bagged)),
            chosen="agreement",
        )


def _twin(name: str, costs: dict[str, float], gamma: float, draw: Draw) -> Any:
    if name == "SVM":
        return fitted(SourceSVM(), {"C": costs["C_source"], "gamma": gamma}, draw)
    if name == "IC-SVM":
        return fitted(InverseCalibrationSVM(), {"C": costs["C_target"], "gamma": gamma}, draw)
    return fitted(TGPLM(), {**costs, "coupling": np.inf, "gamma": gamma}, draw)
