# SPDX-License-Identifier: BSD-3-Clause
"""How far a model's predictions are from given shares and, where there are some, labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bagshift._bags.noise_column import is_additive
from bagshift.bags import Bags
from bagshift.columns import NamedTable
from bagshift.estimators._guesses import Guesses, guess
from bagshift.estimators._in_bags import mean_count_log_likelihood
from bagshift.exceptions import TableError, name_some
from bagshift.fingerprints import row_fingerprints
from bagshift.metrics import constant_share_error
from bagshift.persistence import Manifest, SavedModel
from bagshift.workflows.bag_check import check_bag_sheet, raise_first_error
from bagshift.workflows.bag_sheet import read_bag_sheet
from bagshift.workflows.count_fit import CountFit, count_fit
from bagshift.workflows.findings import Finding
from bagshift.workflows.in_bags import doubt_about_noise, with_noise_at_fit
from bagshift.workflows.inputs import make_bags
from bagshift.workflows.labels import label_values, made_up_negative
from bagshift.workflows.prediction import ModelRows, read_model_rows
from bagshift.workflows.requests import BagRequest


@dataclass(frozen=True)
class Accuracy:
    """Agreement with true labels, kept apart for rows that were fitted on and fresh ones.

    Attributes
    ----------
    n_in_sample, n_fresh : int
        Labelled rows of each kind.
    in_sample, fresh : float or None
        Share of them that is predicted right; None without such rows.
    n_unlabelled : int
        Rows without a label.
    """

    n_in_sample: int
    n_fresh: int
    in_sample: float | None
    fresh: float | None
    n_unlabelled: int


@dataclass(frozen=True)
class ShareErrors:
    """Predicted against given shares.

    Attributes
    ----------
    overall : float
        Size-weighted mean of the absolute errors.
    by_labels : float
        The same of the shares of predicted labels; equal for a model without probabilities.
    constant : float
        The same if every bag were predicted to have the overall share.
    counts : CountFit or None
        How likely the published numbers are; None for a model without probabilities.
    bags : polars.DataFrame
        Columns ``bag``, ``rows``, ``given``, ``predicted``, ``labelled``, ``error`` and
        ``spread``, how far noise and chance may move the given share; largest error first, or
        largest error for its spread where there is noise.
    is_noisy : bool
        Whether something was added to the share of a bag.
    n_fitted_bags : int
        Bags whose rows the model was all fitted on: their shares were not held out.
    findings : list of Finding
        What is worth knowing about the bags.
    doubts : list of str
        What speaks against the shares being taken as they are.
    """

    overall: float
    by_labels: float
    constant: float
    counts: CountFit | None
    bags: pl.DataFrame
    is_noisy: bool
    n_fitted_bags: int
    findings: list[Finding]
    doubts: list[str]


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate_model` found.

    Attributes
    ----------
    n_rows, n_fitted_rows : int
        Rows of the file, and how many of them the model was fitted on.
    by_probability : bool
        Whether predicted shares are mean probabilities; shares of predicted labels otherwise.
    predicted_share, labelled_share : float
        Predicted share of all rows, and share of rows labelled positive.
    shares : ShareErrors or None
        Against given shares.
    accuracy : Accuracy or None
        Against labels.
    notes : list of str
        What was done to the columns.
    """

    n_rows: int
    n_fitted_rows: int
    by_probability: bool
    predicted_share: float
    labelled_share: float
    shares: ShareErrors | None
    accuracy: Accuracy | None
    notes: list[str]


def evaluate_model(
    saved: SavedModel,
    target: Path,
    *,
    bags: BagRequest | None = None,
    label: str | None = None,
) -> Evaluation:
    """Compare predictions for a file with what is known about it.

    Parameters
    ----------
    saved : SavedModel
        A loaded model.
    target : Path
        Rows to predict.
    bags : BagRequest, optional
        Where the shares of their bags are.
    label : str, optional
        Column of true labels; rows without one are left out.

    Returns
    -------
    Evaluation

    Raises
    ------
    TableError, BagError
        When the files cannot be used.
    """
    rows = read_model_rows(
        target, saved.manifest, text_columns=(bags.bag if bags else None, label)
    )
    guesses = guess(saved.model, rows.X, saved.manifest.positive)
    notes = list(rows.notes)
    if saved.manifest.fit.get("is_streamed"):
        was_fitted = np.ones(rows.X.height, dtype=bool)
        notes.append(
            "The model was fitted on files too large to know their rows again, so all rows count "
            "as in-sample."
        )
    else:
        was_fitted = np.isin(row_fingerprints(rows.X), saved.fitted_rows)
    return Evaluation(
        n_rows=rows.X.height,
        n_fitted_rows=int(was_fitted.sum()),
        by_probability=guesses.probability is not None,
        predicted_share=float(guesses.positiveness.mean()),
        labelled_share=float(guesses.is_positive.mean()),
        shares=_share_errors(saved, rows, bags, guesses, was_fitted) if bags else None,
        accuracy=_accuracy(rows.table, label, saved.manifest, guesses.is_positive, was_fitted),
        notes=notes,
    )


def _share_errors(
    saved: SavedModel,
    rows: ModelRows,
    request: BagRequest,
    guesses: Guesses,
    was_fitted: NDArray[np.bool_],
) -> ShareErrors:
    request = with_noise_at_fit(request, saved)
    sheet = read_bag_sheet(request, rows.table)
    findings = check_bag_sheet(sheet)
    raise_first_error(findings, drop=request.on_unmatched == "drop")
    manifest = saved.manifest
    negative = next(label for label in manifest.classes if label != manifest.positive)
    bags = make_bags(sheet, negative, manifest.positive)
    counts = None
    if guesses.probability is not None:
        counts = count_fit(bags, mean_count_log_likelihood(saved.model, rows.X, bags))
    is_noisy = bool(is_additive(bags.noise).any())
    return ShareErrors(
        overall=guesses.share_error(bags),
        by_labels=guesses.labelled_share_error(bags),
        constant=constant_share_error(bags),
        counts=counts,
        bags=_bag_table(bags, guesses, by_spread=is_noisy),
        is_noisy=is_noisy,
        n_fitted_bags=int((bags.bag_means(was_fitted) == 1).sum()),
        findings=findings,
        doubts=doubt_about_noise(request),
    )


def _bag_table(bags: Bags, guesses: Guesses, *, by_spread: bool) -> pl.DataFrame:
    predicted = guesses.shares(bags)
    frame = pl.DataFrame(
        {
            "bag": [str(bag) for bag in bags.ids],
            "rows": bags.rows_per_bag,
            "given": bags.positive_shares,
            "predicted": predicted,
            "labelled": guesses.labelled_shares(bags),
            "error": predicted - bags.positive_shares,
            "spread": guesses.spread(bags),
        }
    )
    error = pl.col("error").abs()
    # The largest errors alone would be those of the noisiest bags.
    return frame.sort(
        error / pl.col("spread") if by_spread else error, descending=True, maintain_order=True
    )


def _accuracy(
    table: NamedTable,
    label: str | None,
    manifest: Manifest,
    is_positive: NDArray[np.bool_],
    was_fitted: NDArray[np.bool_],
) -> Accuracy | None:
    if label is None:
        return None
    truth, known = _truth(table, label, manifest)
    correct = truth == is_positive

    def mean(rows: NDArray[np.bool_]) -> float | None:
        return float(correct[rows].mean()) if rows.any() else None

    in_sample, fresh = known & was_fitted, known & ~was_fitted
    return Accuracy(
        n_in_sample=int(in_sample.sum()),
        n_fresh=int(fresh.sum()),
        in_sample=mean(in_sample),
        fresh=mean(fresh),
        n_unlabelled=int((~known).sum()),
    )


def _truth(
    table: NamedTable, label: str, manifest: Manifest
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are truly positive, and which have a label at all."""
    values = label_values(table, label)
    known = values.is_not_null().to_numpy()
    positive = _same_type(values, manifest.positive)
    classes = [_same_type(values, known_class) for known_class in manifest.classes]
    found: list[Any] = values.drop_nulls().unique().sort().to_list()
    strangers = [value for value in found if value not in classes]
    others_are_negative = _has_made_up_negative(manifest) and (
        positive in found or len(strangers) == 1
    )
    if not found or (strangers and not others_are_negative):
        held = name_some(strangers) if strangers else "no label"
        raise TableError(
            f"Column {label!r} of {table.name} holds {held}; the model knows "
            f"{name_some(manifest.classes)}{_remedy(manifest)}."
        )
    return np.array([value == positive for value in values.to_list()]), known


def _has_made_up_negative(manifest: Manifest) -> bool:
    """Tell models of shares alone, where only the positive class has the name of a label."""
    return manifest.label_column is None and made_up_negative(manifest.positive) in (
        manifest.classes
    )


def _remedy(manifest: Manifest) -> str:
    """Say how the classes of a model of shares alone get the names of the labels."""
    if manifest.label_column is not None:
        return ""
    return "; name the label that the shares are of with --positive when you fit"


def _same_type(values: pl.Series, label: Any) -> Any:
    """Write a class as the column does: the text "1" of a model may be the number 1 here."""
    if values.dtype == pl.String:
        return str(label)
    if isinstance(label, str) and values.dtype.is_integer() and label.lstrip("-").isdigit():
        return int(label)
    return label
