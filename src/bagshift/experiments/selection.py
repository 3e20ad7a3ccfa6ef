# SPDX-License-Identifier: BSD-3-Clause
"""Parameters chosen without a target label, in the same way for every method.

The criterion is the share error of held-out bags, ties broken by the soft share error. A method
that never sees a share while it is fitted is fitted once per setting, and scored on all bags; any
other by three folds of whole bags.

Methods on landmarks of a kernel are searched on a Nystroem map of 300 rows, made once per width,
and fitted as they are with what was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

from bagshift.estimators import get_bag_tags
from bagshift.experiments.draws import Draw
from bagshift.model_selection import BagKFold, share_error_soft_ties

N_FOLDS = 3
N_LANDMARKS = 300

Setting = Mapping[str, Any]


def select(
    estimator: Any, settings: Sequence[Setting], draw: Draw, in_search: Setting | None = None
) -> tuple[Any, Setting]:
    """Choose a setting of a method and fit it on a draw.

    Parameters
    ----------
    estimator : classifier
        Unfitted; it is cloned, not changed.
    settings : sequence of mappings
        Parameters to try; of settings equally good the first is taken.
    draw : Draw
        Its fresh rows and the labels of the target are not touched.
    in_search : mapping, optional
        Parameters that make the search cheaper, such as fewer starts.

    Returns
    -------
    model : classifier
        Fitted with the chosen setting.
    setting : mapping
        The setting.
    """
    best = settings[0]
    if len(settings) > 1:
        trial = clone(estimator).set_params(**(in_search or {}))
        views = _views(trial, settings, draw)
        scores = [score(clone(trial), setting, view) for setting, view in views]
        best = settings[int(np.argmax(scores))]
    model = clone(estimator).set_params(**best)
    return _fitted(model, draw, np.arange(len(draw.y_bagged))), best


def rbf_widths(draw: Draw) -> list[float]:
    """Return the widths of the RBF kernel that every method may choose from.

    Parameters
    ----------
    draw : Draw
        Source and bagged rows count.

    Returns
    -------
    list of float
        gamma = 1 / (n_features * variance) times 1/4, 1 and 4.
    """
    return widths_for(np.concatenate([draw.X_source, draw.X_bagged]))


def widths_for(X: NDArray[np.float64]) -> list[float]:
    """Return the widths of the protocol for rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows.

    Returns
    -------
    list of float
        gamma = 1 / (n_features * variance) times 1/4, 1 and 4.
    """
    scale = float(1.0 / (X.shape[1] * X.var()))
    return [0.25 * scale, scale, 4.0 * scale]


def source_for(machine: Any, draw: Draw) -> Any:
    """Return the source of a draw for a machine that has use for one.

    Parameters
    ----------
    machine : classifier
        The machine.
    draw : Draw
        The draw.

    Returns
    -------
    tuple or None
    """
    tags = get_bag_tags(machine)
    return draw.source if tags.uses_source or tags.needs_source else None


def _views(estimator: Any, settings: Sequence[Setting], draw: Draw) -> list[tuple[Setting, Draw]]:
    """Pair every setting with the rows to search it on."""
    if draw.kernel == "linear" or "n_components" not in estimator.get_params(deep=False):
        return [(setting, draw) for setting in settings]
    maps: dict[float, Draw] = {}
    pairs: list[tuple[Setting, Draw]] = []
    for setting in settings:
        gamma = setting["gamma"]
        if gamma not in maps:
            maps[gamma] = mapped(draw, gamma)[1]
        pairs.append(({**setting, "kernel": "linear"}, maps[gamma]))
    return pairs


def mapped(draw: Draw, gamma: float) -> tuple[Nystroem, Draw]:
    """Return a Nystroem map of a width, and source and bagged rows in its features.

    Parameters
    ----------
    draw : Draw
        With dense rows.
    gamma : float
        Of the RBF kernel.

    Returns
    -------
    nystroem : Nystroem
        Fitted to 300 of these rows.
    in_features : Draw
        The draw without its fresh rows.
    """
    rows = np.concatenate([draw.X_source, draw.X_bagged])
    nystroem = Nystroem(
        gamma=gamma, n_components=min(N_LANDMARKS, len(rows)), random_state=draw.seed
    ).fit(rows)
    X_source, X_bagged = (nystroem.transform(part) for part in (draw.X_source, draw.X_bagged))
    return nystroem, replace(
        draw,
        kernel="linear",
        X_source=X_source,
        X_bagged=X_bagged,
        X_fresh=X_bagged[:0],
        y_fresh=draw.y_fresh[:0],
    )


def score(estimator: Any, setting: Setting, draw: Draw) -> float:
    """Return how well a setting predicts shares of bags that it has not seen.

    Parameters
    ----------
    estimator : classifier
        Unfitted; changed.
    setting : mapping
        Its parameters.
    draw : Draw
        The draw.

    Returns
    -------
    float
        One minus the share error, its ties broken by the soft share error.
    """
    machine = estimator.set_params(**setting)
    bags = draw.bags
    if not get_bag_tags(machine).uses_bags:
        model = _fitted(machine, draw, np.arange(len(bags)))
        return share_error_soft_ties(model, draw.X_bagged, bags)
    folds = BagKFold(min(N_FOLDS, bags.n_bags), shuffle=True, random_state=draw.seed)
    scores, weights = [], []
    for train, test in folds.split(draw.X_bagged, bags):
        model = _fitted(clone(machine), draw, train)
        scores.append(share_error_soft_ties(model, draw.X_bagged[test], bags[test]))
        weights.append(len(test))
    return float(np.average(scores, weights=weights))


def _fitted(machine: Any, draw: Draw, rows: Any) -> Any:
    return machine.fit(draw.X_bagged[rows], draw.bags[rows], source=source_for(machine, draw))
