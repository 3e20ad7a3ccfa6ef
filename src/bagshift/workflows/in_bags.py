# SPDX-License-Identifier: BSD-3-Clause
"""Predictions for rows of bags with a known share, given that share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bagshift.bags import Bags
from bagshift.estimators import predict_proba_in_bags
from bagshift.exceptions import TableError, name_some
from bagshift.fingerprints import row_fingerprints
from bagshift.persistence import Manifest, SavedModel
from bagshift.workflows.bag_check import check_bag_sheet, raise_first_error
from bagshift.workflows.bag_sheet import read_bag_sheet
from bagshift.workflows.class_bags import read_class_bags
from bagshift.workflows.findings import Finding
from bagshift.workflows.inputs import make_bags
from bagshift.workflows.noise import noise_at_fit
from bagshift.workflows.prediction import ModelRows
from bagshift.workflows.requests import BagRequest

LABEL_IN_BAG = "label_in_bag"
PROBABILITY_IN_BAG = "probability_in_bag_"


@dataclass(frozen=True)
class InBagPredictions:
    """What is known of rows once the share of their bag is.

    Attributes
    ----------
    columns : polars.DataFrame of n_rows
        ``label_in_bag`` and ``probability_in_bag_<class>`` for each class. Rows in no bag have
        their plain probability.
    bags : Bags
        The bags as read.
    findings : list of Finding
        What is worth knowing about the bags.
    notes : list of str
        What speaks against the given shares being those of these rows.
    """

    columns: pl.DataFrame
    bags: Bags
    findings: list[Finding]
    notes: list[str]


def predict_in_known_bags(
    saved: SavedModel, rows: ModelRows, request: BagRequest
) -> InBagPredictions:
    """Predict rows of whole bags, given the share of each bag.

    Parameters
    ----------
    saved : SavedModel
        A loaded model.
    rows : ModelRows
        Rows in its columns.
    request : BagRequest
        Where their bags and shares are.

    Returns
    -------
    InBagPredictions

    Raises
    ------
    TableError, BagError
        When the model has no probabilities or the bags cannot be used.
    """
    manifest = saved.manifest
    if not hasattr(saved.model, "predict_proba"):
        raise TableError(
            f"The method {manifest.method} has no probabilities, and without them the share of a "
            "bag says nothing about its rows; fit with another --method."
        )
    request = with_noise_at_fit(request, saved)
    if (manifest.positive is None) != request.has_more_classes:
        raise TableError(_other_classes(manifest))
    if request.has_more_classes:
        bags = read_class_bags(request, rows.table, list(manifest.classes))
        return _given_bags(saved, rows, request, bags, [])
    sheet = read_bag_sheet(request, rows.table)
    findings = check_bag_sheet(sheet)
    raise_first_error(findings, drop=request.on_unmatched == "drop")
    negative = next(label for label in manifest.classes if label != manifest.positive)
    bags = make_bags(sheet, negative, manifest.positive)
    return _given_bags(saved, rows, request, bags, findings)


def _other_classes(manifest: Manifest) -> str:
    if manifest.positive is None:
        return (
            f"The model has the classes {name_some(manifest.classes)}; give --share-column or "
            "--count-column once for each, with columns named as the classes."
        )
    return (
        f"The model has the two classes {name_some(manifest.classes)}; give one --share-column "
        f"or --count-column, that of {manifest.positive}."
    )


def _given_bags(
    saved: SavedModel,
    rows: ModelRows,
    request: BagRequest,
    bags: Bags,
    findings: list[Finding],
) -> InBagPredictions:
    manifest = saved.manifest
    probability = predict_proba_in_bags(saved.model, rows.X, bags)
    if len(manifest.classes) == 2:
        places = (probability[:, 1] > 0.5).astype(int)
    else:
        places = probability.argmax(axis=1)
    labels = [manifest.classes[place] for place in places]
    columns = [pl.Series(LABEL_IN_BAG, labels)]
    for k, label in enumerate(manifest.classes):
        columns.append(pl.Series(f"{PROBABILITY_IN_BAG}{label}", probability[:, k]))
    return InBagPredictions(pl.DataFrame(columns), bags, findings, _doubts(saved, rows, request))


def add_columns(predictions: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Put the columns of rows in bags behind the plain ones.

    Parameters
    ----------
    predictions : polars.DataFrame
        Of :func:`bagshift.workflows.prediction.predict_rows`.
    more : polars.DataFrame
        Of :func:`predict_in_known_bags`.

    Returns
    -------
    polars.DataFrame

    Raises
    ------
    TableError
        When both have a column of the same name.
    """
    twice = [name for name in more.columns if name in predictions.columns]
    if twice:
        raise TableError(f"The result would have two columns {twice[0]!r}; rename the id column.")
    return predictions.hstack(more)


def _doubts(saved: SavedModel, rows: ModelRows, request: BagRequest) -> list[str]:
    notes = []
    n_here = int(np.isin(saved.fitted_rows, row_fingerprints(rows.X)).sum())
    if 0 < n_here < len(saved.fitted_rows) and request.size_column is None:
        notes.append(
            f"Only {n_here:,} of the {len(saved.fitted_rows):,} rows that the model was fitted on "
            "are here; a share speaks of all rows of its bag, so keep bags whole or give their "
            "sizes with --size-column."
        )
    return [*notes, *doubt_about_noise(request)]


def with_noise_at_fit(request: BagRequest, saved: SavedModel) -> BagRequest:
    """Add the law of the shares that a model was fitted on.

    Parameters
    ----------
    request : BagRequest
        Bags that the model has to do with.
    saved : SavedModel
        The model.

    Returns
    -------
    BagRequest
    """
    return replace(request, noise_at_fit=noise_at_fit(saved.manifest.fit))


def doubt_about_noise(request: BagRequest) -> list[str]:
    """Say that shares are taken as exact though the model was fitted on others that are not.

    Parameters
    ----------
    request : BagRequest
        From :func:`with_noise_at_fit`.

    Returns
    -------
    list of str
        Empty, or one sentence.
    """
    known = request.noise_at_fit
    if known is None or request.noise is not None:
        return []
    return [
        f"The model was fitted on shares with noise ({known.describe()}), and these are taken as "
        f"exact; if they have the same noise, add --noise {known.as_option()}."
    ]
