# SPDX-License-Identifier: BSD-3-Clause
"""What files of shares about the same rows disclose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from bagshift.columns import NamedTable
from bagshift.inspection.privacy_report import PrivacyReport, privacy_report
from bagshift.tables import read_table
from bagshift.workflows.bag_check import check_bag_sheet, raise_first_error
from bagshift.workflows.bag_sheet import read_bag_sheet
from bagshift.workflows.findings import Finding
from bagshift.workflows.inputs import make_bags
from bagshift.workflows.requests import BagRequest


@dataclass(frozen=True)
class PrivacyCheck:
    """What :func:`privacy_of_files` found.

    Attributes
    ----------
    report : PrivacyReport
    dropped : list of Finding
        What was left out of the files.
    """

    report: PrivacyReport
    dropped: list[Finding]

    def bag_frame(self) -> pl.DataFrame:
        """List the bags of all releases.

        Returns
        -------
        polars.DataFrame
            Columns release, bag, size, share, is_pure and is_noisy.
        """
        columns = {
            name: [str(value) for value in values] if values.dtype == object else values
            for name, values in self.report.bag_table().items()
        }
        return pl.DataFrame(columns).cast({"size": pl.Int64})


def privacy_of_files(
    requests: Sequence[BagRequest],
    *,
    epsilon: float | None = None,
    n_classes: int = 2,
    max_cells: int | None = None,
) -> PrivacyCheck:
    """Read releases and report what they disclose.

    Parameters
    ----------
    requests : sequence of BagRequest
        One for each release, with one target.
    epsilon : float, optional
        Of noise whose cost is to be estimated.
    n_classes : int, default=2
        How many classes the individuals have.
    max_cells : int, optional
        See `privacy_report`.

    Returns
    -------
    PrivacyCheck

    Raises
    ------
    TableError, BagError
        When the files cannot be used; one sentence says why.
    """
    path = requests[0].target
    frame = read_table(path, text_columns=[request.bag for request in requests])
    target = NamedTable(frame, path.name)
    releases, dropped = {}, []
    for name, request in zip(release_names(requests), requests, strict=True):
        sheet = read_bag_sheet(request, target)
        findings = check_bag_sheet(sheet)
        drop = request.on_unmatched == "drop"
        raise_first_error(findings, drop=drop)
        dropped += [finding for finding in findings if finding.level == "error"]
        releases[name] = make_bags(sheet)
    options = {} if max_cells is None else {"max_cells": max_cells}
    report = privacy_report(releases, epsilon=epsilon, n_classes=n_classes, **options)
    return PrivacyCheck(report, dropped)


def release_names(requests: Sequence[BagRequest]) -> list[str]:
    """Name releases by their files, their columns, or both, so that no two names are equal.

    Parameters
    ----------
    requests : sequence of BagRequest

    Returns
    -------
    list of str

    Examples
    --------
    >>> from pathlib import Path
    >>> people, shares = Path("people.csv"), Path("wards.csv")
    >>> release_names([BagRequest(people, "ward", shares, share_column="yes"),
    ...                BagRequest(people, "ward", shares, share_column="may"),
    ...                BagRequest(people, "age", share_column="yes")])
    ['wards.csv (ward, yes)', 'wards.csv (ward, may)', 'people.csv (age, yes)']
    """
    files = [(request.shares or request.target).name for request in requests]
    if len(set(files)) == len(files):
        return files
    names = [
        f"{file} ({request.bag}, {request.value_column})"
        for file, request in zip(files, requests, strict=True)
    ]
    times, seen = Counter(names), Counter[str]()
    for place, name in enumerate(names):
        seen[name] += 1
        if times[name] > 1:
            names[place] = f"{name}, {seen[name]}"
    return names
