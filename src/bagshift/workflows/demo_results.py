# SPDX-License-Identifier: BSD-3-Clause
"""What the demonstration ends with: six methods on fresh rows, and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from bagshift.atomic import whole_file
from bagshift.bags import Bags
from bagshift.columns import NamedTable, as_kinds
from bagshift.metrics import expected_shares
from bagshift.model_selection import bag_cross_val_predict
from bagshift.persistence import SavedModel
from bagshift.plotting import plot_accuracies, plot_images, plot_shares
from bagshift.tables import read_table
from bagshift.workflows.demo_files import DemoFiles

SOURCE_ONLY = "history only (SVM)"
IC_SVM = "shares only (IC-SVM)"
ALONE = "shares only (count likelihood)"
TGPLM = "both (TGPLM)"
BOTH = "both (count likelihood)"
CEILING = "true labels (ceiling)"
N_SHOWN = 12


@dataclass(frozen=True)
class DemoResults:
    """Results on rows that no method has seen.

    Attributes
    ----------
    accuracies : dict of str to float
        Accuracy on the fresh rows by method.
    n_fresh : int
        Number of these rows.
    given_shares, held_out_shares : ndarray of shape (n_bags,)
        Share of each bag, and the mean probability that the count-likelihood machine gives its
        rows without having been told.
    fresh_labels : ndarray of bool, shape (n_fresh,)
        Which fresh rows it takes for positive.
    """

    accuracies: dict[str, float]
    n_fresh: int
    given_shares: NDArray[np.float64]
    held_out_shares: NDArray[np.float64]
    fresh_labels: NDArray[np.bool_]


def compare_methods(files: DemoFiles, models: dict[str, SavedModel]) -> DemoResults:
    """Compare methods on the fresh rows.

    The SVM on history and the ceiling, which is given the true labels that nobody has, are tuned
    by five-fold accuracy on the rows they are trained on.

    Parameters
    ----------
    files : DemoFiles
        The example files.
    models : dict of str to SavedModel
        Models fitted on them by name, `BOTH` among them.

    Returns
    -------
    DemoResults
    """
    digits, truth = files.digits, files.digits.y_fresh
    history, bagged, fresh = (
        _features(models[BOTH], path) for path in (files.history, files.target, files.fresh)
    )
    is_eight = {name: _are_positive(model, files.fresh) for name, model in models.items()}
    accuracies = {
        SOURCE_ONLY: _tuned_svc(history, digits.y_source).score(fresh, truth),
        **{name: np.mean(guess == truth) for name, guess in is_eight.items()},
        CEILING: _tuned_svc(bagged, digits.y_bagged).score(fresh, truth),
    }
    bags = Bags.from_arrays(digits.bag_ids, digits.shares)
    scores = bag_cross_val_predict(
        models[BOTH].model[-1], bagged, bags, source=(history, digits.y_source)
    )
    return DemoResults(
        accuracies={name: float(value) for name, value in accuracies.items()},
        n_fresh=len(truth),
        given_shares=bags.positive_shares,
        held_out_shares=expected_shares(bags, expit(scores)),
        fresh_labels=is_eight[BOTH],
    )


def _are_positive(saved: SavedModel, path: Path) -> NDArray[np.bool_]:
    labels = saved.model[-1].predict(_features(saved, path))
    return np.asarray(labels == saved.manifest.positive)


def save_picture(files: DemoFiles, results: DemoResults, path: Path) -> None:
    """Draw the demonstration in one picture.

    Parameters
    ----------
    files : DemoFiles
        The example files.
    results : DemoResults
        Results on them.
    path : Path
        A PNG file.
    """
    figure = demo_picture(files, results)
    FigureCanvasAgg(figure)
    with whole_file(path) as draft:
        figure.savefig(draft, format="png", dpi=150)


def demo_picture(files: DemoFiles, results: DemoResults) -> Figure:
    """Return the picture: the digits of both domains, accuracies, and shares of held-out bags.

    Parameters
    ----------
    files : DemoFiles
        The example files.
    results : DemoResults
        Results on them.

    Returns
    -------
    Figure
    """
    digits = files.digits
    figure = Figure(figsize=(10, 7.2), layout="constrained")
    axes = figure.subplot_mosaic(
        [["history", "history"], ["target", "target"], ["accuracies", "shares"]],
        height_ratios=[1.0, 1.0, 3.0],
        width_ratios=[1.4, 1.0],
    )
    shown = slice(0, N_SHOWN)
    plot_images(
        digits.X_source[shown], _digits(digits.pair, digits.y_source[shown]), axes["history"]
    )
    axes["history"].set_title("History: upright digits, each with its label", loc="left")
    wrong = results.fresh_labels != (digits.y_fresh == 1)
    plot_images(
        digits.X_fresh[shown],
        _digits(digits.pair, results.fresh_labels[shown].astype(int)),
        axes["target"],
        marked=list(wrong[shown]),
    )
    axes["target"].set_title(
        f"Target: digits rotated by {digits.angle:g}°, known by the share of eights in bags of 8."
        f"\nBelow, what the model takes fresh ones for: {wrong[shown].sum()} of {N_SHOWN} wrong",
        loc="left",
    )
    two_lines = {name.replace(" (", "\n("): x for name, x in results.accuracies.items()}
    plot_accuracies(two_lines, axes["accuracies"], highlight=BOTH.replace(" (", "\n("))
    axes["accuracies"].set_title(
        f"Accuracy on {results.n_fresh} fresh rows (draw {files.seed})", loc="left"
    )
    plot_shares(results.given_shares, results.held_out_shares, axes["shares"])
    axes["shares"].set(xlabel="given share of eights", ylabel="mean probability of an eight")
    axes["shares"].set_title(
        f"{len(results.given_shares)} bags, predicted while held out",
        loc="left",
    )
    return figure


def _digits(pair: tuple[int, int], labels: NDArray[Any]) -> list[str]:
    return [str(pair[int(label)]) for label in labels]


def _features(saved: SavedModel, path: Path) -> NDArray[Any]:
    frame: pl.DataFrame = read_table(path)
    rows = as_kinds(NamedTable(frame, path.name), saved.manifest.columns)
    return np.asarray(saved.model[:-1].transform(rows))


def _tuned_svc(X: NDArray[Any], labels: NDArray[np.int64]) -> GridSearchCV:
    scale = 1.0 / (X.shape[1] * X.var())
    grid = {"C": [0.25, 1.0, 8.0], "gamma": [0.25 * scale, scale, 4 * scale]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(SVC(), grid, cv=folds).fit(X, labels)
