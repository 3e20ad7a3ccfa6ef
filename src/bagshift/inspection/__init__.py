# SPDX-License-Identifier: BSD-3-Clause
"""What a user asks around a fit: can the bags teach, did the history help, is the answer right."""

from bagshift.inspection._interval import Interval, Intervals
from bagshift.inspection.bag_bootstrap import BagBootstrap, bag_bootstrap
from bagshift.inspection.bag_report import BagReport, bag_report
from bagshift.inspection.class_accuracy import ClassAccuracyEstimate
from bagshift.inspection.estimate_accuracy import (
    AccuracyEstimate,
    AccuracyFigures,
    estimate_accuracy,
)
from bagshift.inspection.privacy_report import PrivacyReport, ReleasePrivacy, privacy_report
from bagshift.inspection.transfer_report import (
    DomainDistance,
    TransferPoint,
    TransferReport,
    transfer_report,
)

__all__ = [
    "AccuracyEstimate",
    "AccuracyFigures",
    "BagBootstrap",
    "BagReport",
    "ClassAccuracyEstimate",
    "DomainDistance",
    "Interval",
    "Intervals",
    "PrivacyReport",
    "ReleasePrivacy",
    "TransferPoint",
    "TransferReport",
    "bag_bootstrap",
    "bag_report",
    "estimate_accuracy",
    "privacy_report",
    "transfer_report",
]
