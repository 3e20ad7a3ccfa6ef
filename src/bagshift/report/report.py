# SPDX-License-Identifier: BSD-3-Clause
"""What a page says of a model, and the page."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from bagshift.atomic import whole_file
from bagshift.bags import Bags
from bagshift.estimators import TGPLM, CountLikelihoodClassifier
from bagshift.exceptions import BagError, plural
from bagshift.inspection import (
    AccuracyEstimate,
    Intervals,
    TransferReport,
    bag_bootstrap,
    bag_report,
    estimate_accuracy,
    privacy_report,
    transfer_report,
)
from bagshift.inspection.class_accuracy import of_two_classes
from bagshift.report import _data_sections as data
from bagshift.report import _trust_sections as trust
from bagshift.report._page import render
from bagshift.report.sections import Facts, Section, Table

__all__ = ["Report", "make_report"]

# Of more rows in bags, whole bags are drawn for what has to fit machines again.
MOST_ROWS_REFITTED = 10_000
# Up to so many rows machines are fitted again to bags drawn from all of them.
MOST_ROWS_RESAMPLED = 1_000


@dataclass(frozen=True)
class Report:
    """A page about a model.

    Attributes
    ----------
    title : str
    warnings : tuple of str
        What stands first in the page.
    sections : tuple of Section
    html : str
        The page: one file that needs no other, and no network.
    """

    title: str
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    html: str

    def save(self, path: str | Path) -> None:
        """Write the page; an older file is replaced when it is complete.

        Parameters
        ----------
        path : str or Path
        """
        with whole_file(path) as draft:
            draft.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        page, title = html.escape(self.html), html.escape(self.title)
        return f'<iframe title="{title}" srcdoc="{page}" width="100%" height="640"></iframe>'


def make_report(
    model: Any,
    X: Any,
    bags: Bags,
    *,
    source: tuple[Any, ...] | None = None,
    title: str = "Report on individuals from group shares",
    read: Facts = (),
    settings: Facts = (),
    warnings: Sequence[str] = (),
    rows: Table | None = None,
    n_replicates: int = 50,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Say on one page what a model found, and how far it can be trusted.

    Nothing of single rows is in the page, unless `rows` are given.

    Parameters
    ----------
    model : classifier
        Fitted; a machine of this package. It is fitted again on other bags to judge it: of more
        than 10,000 rows on whole bags drawn from them, which the page says.
    X : array-like of shape (n_rows, n_features)
        Target rows, as the model takes them.
    bags : Bags of length n_rows
        Their bags.
    source : tuple (X, y) or (X, y, sample_weight), default=None
        Labelled source rows that it was fitted with.
    title : str
    read : sequence of (str, str), default=()
        More to say of what was read.
    settings : sequence of (str, str), default=()
        More to say of the model.
    warnings : sequence of str, default=()
        More to know before it is used.
    rows : Table or None, default=None
        Predictions of rows, to stand in the page.
    n_replicates : int, default=50
        Of the bootstrap over bags, which gives predicted shares their intervals; it is left out
        beyond 1,000 rows, for searches, and when this is 0.
    random_state : int, default=0
        The page is the same for the same one.
    n_jobs : int or None, default=None
        Folds fitted at the same time.
    progress : callable, optional
        Called with (done, total) steps.

    Returns
    -------
    Report

    Raises
    ------
    BagError
        When there is no bag.

    Examples
    --------
    >>> from bagshift import Bags, CountLikelihoodClassifier
    >>> from bagshift.datasets import rotated_digits
    >>> from bagshift.report import make_report
    >>> digits = rotated_digits(random_state=0)
    >>> bags = Bags.from_arrays(digits.bag_ids, digits.shares)
    >>> machine = CountLikelihoodClassifier().fit(digits.X_bagged, bags)
    >>> page = make_report(machine, digits.X_bagged, bags)
    >>> [section.name for section in page.sections][:3]
    ['read', 'shares', 'bags']
    """
    if not bags.n_bags:
        raise BagError("there are no bags, and so nothing to report on.")
    steps = 6
    tell = progress or (lambda done, total: None)
    bags_found = bag_report(bags)
    disclosed = privacy_report(bags)
    tell(1, steps)
    intervals = _intervals(model, X, bags, source, n_replicates, random_state, n_jobs)
    shares = data.shares_section(model, X, bags, intervals)
    tell(2, steps)
    part, part_bags, note = _part_of(X, bags, random_state)
    with catch_warnings():
        # Machines that are fitted again warn of parts of the bags; the page warns of all of them.
        simplefilter("ignore")
        accuracy, why_not = _accuracy(model, part, part_bags, source, random_state, n_jobs)
        tell(3, steps)
        transfer = _transfer(model, part, part_bags, source, random_state, n_jobs)
    tell(4, steps)
    sections = [
        data.read_section(model, X, bags, source, read, settings),
        shares,
        data.bags_section(bags_found),
        data.domains_section(model, X, source),
    ]
    tell(5, steps)
    if transfer is not None:
        sections.append(trust.transfer_section(transfer, note))
    if accuracy is None:
        why = f"This could not be estimated: {why_not}"
        sections.append(Section("accuracy", trust.ACCURACY_TITLE, [why]))
    else:
        sections.append(trust.accuracy_section(accuracy, note))
        sections.append(trust.calibration_section(model, part_bags, accuracy, note))
    sections.append(trust.privacy_section(disclosed))
    if rows is not None:
        sections.append(trust.rows_section(rows))
    sections.append(trust.citing_section())
    unknown = f"How good single predictions are could not be estimated: {why_not}"
    found = [
        *warnings,
        *(accuracy.warnings if accuracy else (unknown,)),
        *(transfer.warnings if transfer else ()),
        *bags_found.warnings,
        *disclosed.warnings,
    ]
    distinct = tuple(dict.fromkeys(_as_sentence(warning) for warning in found))
    subtitle = (
        f"{plural(len(bags), 'row')} in {plural(bags.n_bags, 'bag')}; "
        f"by bagshift {trust.version()}"
    )
    page = render(title, subtitle, distinct, sections)
    tell(steps, steps)
    return Report(title, distinct, tuple(sections), page)


def _intervals(
    model: Any,
    X: Any,
    bags: Bags,
    source: tuple[Any, ...] | None,
    n_replicates: int,
    random_state: int,
    n_jobs: int | None,
) -> Intervals | None:
    """Return intervals of predicted shares, where they do not take long."""
    if n_replicates < 2 or bags.n_bags < 2 or len(bags) > MOST_ROWS_RESAMPLED:
        return None
    if hasattr(model, "best_params_"):  # a search in every replicate takes too long
        return None
    try:
        with catch_warnings():
            simplefilter("ignore")
            found = bag_bootstrap(
                model,
                X,
                bags,
                source=source,
                n_replicates=n_replicates,
                random_state=random_state,
                n_jobs=n_jobs,
            )
    except ValueError:
        return None
    return found.shares


def _as_sentence(words: str) -> str:
    sentence = words[:1].upper() + words[1:]
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _part_of(X: Any, bags: Bags, random_state: int) -> tuple[Any, Bags, str]:
    """Draw whole bags where there are many rows, and say so."""
    inside = len(bags.rows_in_bags())
    if inside <= MOST_ROWS_REFITTED:
        return X, bags, ""
    generator = np.random.default_rng(random_state)
    order = generator.permutation(bags.n_bags)
    ends = np.cumsum(bags.rows_per_bag[order])
    n_kept = max(int(np.searchsorted(ends, MOST_ROWS_REFITTED, side="right")), 2)
    chosen = np.zeros(bags.n_bags + 1, dtype=bool)  # the last place is that of rows in no bag
    chosen[order[:n_kept]] = True
    kept: NDArray[np.int64] = np.flatnonzero(chosen[bags.bag_index])
    note = (
        f"For this the machine was fitted again on parts of {n_kept:,} bags, drawn from the "
        f"{bags.n_bags:,}. On all of them it may do better."
    )
    return _safe_indexing(X, kept), bags[kept], note


def _accuracy(
    model: Any,
    X: Any,
    bags: Bags,
    source: tuple[Any, ...] | None,
    random_state: int,
    n_jobs: int | None,
) -> tuple[AccuracyEstimate | None, str]:
    if bags.n_bags < 2:
        return None, "there is one bag only, so none can be held out."
    try:
        found = estimate_accuracy(model, X, bags, source, random_state=random_state, n_jobs=n_jobs)
    except (ValueError, TypeError) as error:
        return None, str(error)
    return of_two_classes(found), ""


def _transfer(
    model: Any,
    X: Any,
    bags: Bags,
    source: tuple[Any, ...] | None,
    random_state: int,
    n_jobs: int | None,
) -> TransferReport | None:
    """Return what the history did, for machines that couple it."""
    couples = isinstance(model, CountLikelihoodClassifier | TGPLM)
    if source is None or not couples or model.coupling == 0.0:
        return None
    try:
        return transfer_report(model, X, bags, source, random_state=random_state, n_jobs=n_jobs)
    except ValueError:
        return None
