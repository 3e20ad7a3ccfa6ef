# SPDX-License-Identifier: BSD-3-Clause
r"""Under which rules a number was made.

The paper chooses parameters by "classification accuracy of 10-fold cross-validation on the
training set", which can be read in two ways:

* *oracle*: accuracy on target rows of held-out bags, by their hidden labels, which no user has;
* *source*: accuracy of the source machine on held-out source rows. It says nothing of the target,
  so it cannot choose the target's cost, and a coupling can only hurt it.

Either takes steps of one row, so many of the 84,474 settings tie. Then the most regular machine is
taken: that with the smallest C_target (or C), among these the largest coupling, the smallest
C_source, and the smallest gamma; the order in which :func:`bagshift.model_selection.path_search`
has it. The accuracies of all that tied are reported too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.utils.extmath import row_norms

from bagshift.estimators import TGPLM
from bagshift.estimators._training import read_training
from bagshift.experiments.draws import Draw
from bagshift.model_selection.grids import named_grid

ProtocolName = Literal["paper", "honest"]
PaperSelection = Literal["source", "oracle"]
GridName = Literal["paper", "quick"]
Grid = Mapping[str, Sequence[float]]
Setting = dict[str, float]

N_FOLDS = 10
# The quick grid, to try things out: every sixth value of each parameter.
_STEP = 6
# What makes a machine more regular, the most telling first, and the sign of its smallest value.
_REGULARITY = (("C_target", 1), ("C", 1), ("coupling", -1), ("C_source", 1), ("gamma", 1))


@dataclass(frozen=True)
class Protocol:
    """The rules of a run.

    Attributes
    ----------
    name : {"paper", "honest"}
        The paper's, or the honest one.
    selection : {"source", "oracle"}
        How the paper's choice of parameters is read; plays no part in the honest one.
    grid : {"paper", "quick"}
        All settings of the paper, or a few of them; plays no part in the honest one.
    """

    name: ProtocolName = "paper"
    selection: PaperSelection = "oracle"
    grid: GridName = "paper"

    @property
    def file_part(self) -> str:
        """How files of these rules are named."""
        if self.name == "honest":
            return "honest"
        return f"paper-{self.selection}" + ("" if self.grid == "paper" else f"-{self.grid}")

    @property
    def description(self) -> str:
        """One phrase that goes with every number."""
        if self.name == "honest":
            return "honest protocol, parameters chosen without a target label"
        how = {
            "oracle": "parameters chosen by hidden target labels (oracle)",
            "source": "parameters chosen by accuracy on source rows",
        }[self.selection]
        quick = "" if self.grid == "paper" else ", quick grid"
        return f"the paper's protocol, {how}{quick}"


def how_chosen(protocol: Protocol) -> list[str]:
    """Return how parameters are chosen, in words for a page.

    Parameters
    ----------
    protocol : Protocol
        The rules.

    Returns
    -------
    list of str
    """
    if protocol.name == "honest":
        return [
            "Parameters are chosen out of the league's grids, without a target label: by the "
            "share error of held-out bags, for the SVM by accuracy on held-out source rows."
        ]
    tried = "all 84,474 settings of TGPLM and 247 of SVM and IC-SVM"
    if protocol.grid == "quick":
        tried = "a few settings, to try things out, and not the paper's 84,474 and 247"
    by = {
        "oracle": "TGPLM and IC-SVM are chosen by accuracy on held-out rows of the target, by "
        "labels that no user has",
        "source": "TGPLM is chosen by accuracy of its source machine on held-out source rows, "
        "IC-SVM, which has no source, by the share error of held-out bags",
    }[protocol.selection]
    return [
        f"Tried are {tried}. Methods whose labelled rows are those of the source are chosen by "
        f"accuracy on source rows held out, in either reading of the paper. {by}. The ceiling is "
        "given the true labels, and chosen by them in folds."
    ]


def paper_grid(draw: Draw, name: GridName) -> dict[str, list[float]]:
    """Return the paper's values of gamma, C_source, C_target and coupling.

    Parameters
    ----------
    draw : Draw
        Its source rows set the unit of the kernel widths.
    name : {"paper", "quick"}
        All of them, or every sixth.

    Returns
    -------
    dict of str to list of float
    """
    given = read_training(TGPLM(), draw.X_bagged, draw.bags, source=draw.source)
    grid = named_grid("paper", TGPLM(), given)
    step = 1 if name == "paper" else _STEP
    return {parameter: list(values)[::step] for parameter, values in grid.items()}


def unit_gamma(draw: Draw) -> float:
    """Return gamma of the kernel with 2 sigma^2 = s.

    Parameters
    ----------
    draw : Draw
        Its source rows set s, the squared mean norm.

    Returns
    -------
    float
    """
    return float(1.0 / np.mean(row_norms(draw.X_source)) ** 2)


def one_cost_grid(grid: Grid) -> dict[str, list[float]]:
    """Return the grid of a machine with one cost, SVM or IC-SVM, out of that of TGPLM.

    Parameters
    ----------
    grid : mapping of str to sequence of float
        From :func:`paper_grid`.

    Returns
    -------
    dict of str to list of float
    """
    return {"gamma": list(grid["gamma"]), "C": list(grid["C_target"])}


def settings_of(grid: Grid) -> list[Setting]:
    """Return all combinations of the values of a grid.

    Parameters
    ----------
    grid : mapping of str to sequence of float
        Values per parameter.

    Returns
    -------
    list of dict
    """
    return list(ParameterGrid(dict(grid)))


def most_regular(settings: Sequence[Setting]) -> int:
    """Return which of the settings makes the most regular machine; see the module.

    Parameters
    ----------
    settings : sequence of dict
        All with the same parameters.

    Returns
    -------
    int
        The first one where nothing tells them apart.
    """
    if not set(settings[0]) & {name for name, _ in _REGULARITY}:
        return 0
    keys = [
        [sign * setting[name] for setting in settings]
        for name, sign in _REGULARITY
        if name in settings[0]
    ]
    return int(np.lexsort(keys[::-1])[0])


def written(setting: Mapping[str, Any]) -> str:
    """Write a setting as a cell holds it.

    Parameters
    ----------
    setting : mapping of str to value
        Parameters.

    Returns
    -------
    str
        ``name=value`` with blanks between; floats so that they are read back exactly.
    """
    return " ".join(
        f"{name}={float(value)!r}" if isinstance(value, float) else f"{name}={value}"
        for name, value in setting.items()
    )


def read_setting(chosen: str, names: Sequence[str]) -> Setting:
    """Read parameters back from a cell.

    Parameters
    ----------
    chosen : str
        From :func:`written`.
    names : sequence of str
        The parameters wanted; others are passed over.

    Returns
    -------
    dict of str to float
    """
    pairs = dict(part.split("=", 1) for part in chosen.split())
    return {name: float(pairs[name]) for name in names if name in pairs}


def accuracy(truth: NDArray[Any], guess: NDArray[Any]) -> float:
    """Return the share of rows labelled right; NaN of no row.

    Parameters
    ----------
    truth, guess : ndarray of shape (n_rows,)
        Labels.

    Returns
    -------
    float
    """
    return float(np.mean(truth == guess)) if len(truth) else float("nan")
