# SPDX-License-Identifier: BSD-3-Clause
"""One page about a fitted model that can be sent to a colleague."""

from bagshift.report.report import Report, make_report

__all__ = ["Report", "make_report"]
