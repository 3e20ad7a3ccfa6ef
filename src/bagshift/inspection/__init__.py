# SPDX-License-Identifier: BSD-3-Clause
"""What a user asks around a fit: can the bags teach, did the history help, is the answer right."""

from bagshift.inspection._interval import Interval, Intervals
from bagshift.inspection.bag_bootstrap import BagBootstrap, bag_bootstrap

__all__ = ["BagBootstrap", "Interval", "Intervals", "bag_bootstrap"]
