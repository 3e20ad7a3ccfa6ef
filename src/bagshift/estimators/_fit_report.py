# SPDX-License-Identifier: BSD-3-Clause
"""What was solved and how: the attribute ``fit_report_``, and a line of the log."""

from __future__ import annotations

import logging
from typing import Any

from bagshift.estimators._feature_space import FeatureSpace
from bagshift.estimators._training import TrainingData
from bagshift.kernels import map_error

_LOG = logging.getLogger("bagshift")


def fit_report(
    data: TrainingData, solver: str, space: FeatureSpace | None, *, is_plain: bool | None = None
) -> dict[str, Any]:
    """Return what was solved and how, and say it in the log where it is not the plain way.

    Parameters
    ----------
    data : TrainingData
    solver : str
    space : FeatureSpace or None
        Explicit features, if there are such.
    is_plain : bool, optional
        Whether there is nothing to say; by default where the solver is "exact". The error of a map
        is not computed then.

    Returns
    -------
    dict
    """
    feature_map = None if space is None else space.feature_map
    report = {
        "solver": solver,
        "n_source_rows": data.n_source,
        "n_target_rows": len(data.bags),
        "n_target_units": data.n_target_units,
        "n_components": None if feature_map is None else feature_map.rank,
        "map_error": None,
    }
    if solver == "exact" if is_plain is None else is_plain:
        return report
    features = "its columns"
    if space is not None and feature_map is not None:
        error = map_error(space.kernel, feature_map, data.X_source, data.X_target)
        report["map_error"] = error.root_mean_square
        features = f"{feature_map.rank:,} components"
    _LOG.info(
        "%d source rows and %d bags or labelled rows: solved on %s (solver=%r).",
        data.n_source,
        data.n_target_units,
        features,
        solver,
    )
    return report
