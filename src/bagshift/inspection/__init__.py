# SPDX-License-Identifier: BSD-3-Clause
"""What a user asks around a fit: can the bags teach, did the history help, is the answer right."""

from bagshift.inspection._interval import Interval, Intervals
from bagshift.inspection.bag_bootstrap import BagBootstrap, bag_bootstrap
from bagshift.inspection.bag_report import BagReport, bag_report
from bagshift.inspection.privacy_report import PrivacyReport, ReleasePrivacy, privacy_report

__all__ = [
    "BagBootstrap",
    "BagReport",
    "Interval",
    "Intervals",
    "PrivacyReport",
    "ReleasePrivacy",
    "bag_bootstrap",
    "bag_report",
    "privacy_report",
]
