# SPDX-License-Identifier: BSD-3-Clause
"""Everything that would trouble a fit, found without fitting."""

from __future__ import annotations

from dataclasses import dataclass

from bagshift._bags.published import published_counts
from bagshift.bags import Bags
from bagshift.columns import as_kinds
from bagshift.exceptions import BagError, TableError
from bagshift.inspection.bag_report import BagReport, bag_report
from bagshift.workflows.bag_check import check_bag_sheet
from bagshift.workflows.bag_sheet import read_bag_sheet
from bagshift.workflows.findings import Finding
from bagshift.workflows.inputs import (
    FitInputs,
    bag_classes,
    choose_fit_columns,
    class_doubts,
    make_bags,
    read_fit_inputs,
    read_history,
    read_target,
)
from bagshift.workflows.requests import FitRequest


@dataclass(frozen=True)
class CheckReport:
    """What :func:`check_files` found.

    Attributes
    ----------
    findings : list of Finding
        Errors first.
    bags : Bags or None
        What a fit would learn from; None when errors prevent it.
    inputs : FitInputs or None
        All that a fit would read; None when there is an error.
    report : BagReport or None
        What the bags can teach; None when errors prevent it.
    """

    findings: list[Finding]
    bags: Bags | None
    inputs: FitInputs | None
    report: BagReport | None = None

    @property
    def n_errors(self) -> int:
        """Number of errors."""
        return sum(finding.level == "error" for finding in self.findings)


def check_files(request: FitRequest) -> CheckReport:
    """Check the files of a fit and report all troubles at once.

    Parameters
    ----------
    request : FitRequest
        Files and columns; history is checked when it is named.

    Returns
    -------
    CheckReport
        With ``on_unmatched="drop"``, troubles that can be left out are notes.

    Raises
    ------
    TableError
        When the target or the shares cannot be read at all.
    """
    if request.bags.has_more_classes:
        return _check_classes(request)
    target = read_target(request)
    sheet = read_bag_sheet(request.bags, target)
    findings = check_bag_sheet(sheet)
    if request.bags.on_unmatched == "drop":
        findings = [_dropped(finding) for finding in findings]
    trouble: list[Finding] = []
    labels = bags = inputs = report = None
    try:
        source, labels = read_history(request)
        columns = choose_fit_columns(request, target, source)
        X_target = as_kinds(target, columns.kinds)
        X_source = as_kinds(source, columns.kinds) if source else None
    except TableError as error:
        trouble.append(Finding("error", str(error)))
    if not any(finding.level == "error" for finding in findings):
        try:
            classes = bag_classes(labels, request)
            bags = make_bags(sheet, *classes)
            published_counts(bags)
            findings += class_doubts(request, *classes)
            report = bag_report(bags)
            known = {finding.text for finding in findings}
            findings += [Finding("warning", text) for text in report.warnings if text not in known]
        except BagError as error:
            bags = report = None
            findings.append(Finding("error", str(error)))
    if bags is not None and not trouble:
        inputs = FitInputs(request, X_target, bags, X_source, labels, columns, findings)
    order = ("error", "warning", "note")
    findings = sorted(findings + trouble, key=lambda finding: order.index(finding.level))
    return CheckReport(findings, bags, inputs, report)


def _dropped(finding: Finding) -> Finding:
    if finding.level == "error" and finding.droppable:
        return Finding("note", f"Would be dropped: {finding.as_dropped}")
    return finding


def _check_classes(request: FitRequest) -> CheckReport:
    """Check files with a column for every class: what a fit would refuse first, if anything."""
    try:
        inputs = read_fit_inputs(request)
    except (TableError, BagError) as error:
        return CheckReport([Finding("error", str(error))], None, None)
    return CheckReport(inputs.findings, inputs.bags, inputs)
