# SPDX-License-Identifier: BSD-3-Clause
"""Example problems with known truth, and bags made from labels."""

from bagshift.datasets.bag_making import make_bags
from bagshift.datasets.rotated_digits import RotatedDigits, rotated_digits

__all__ = ["RotatedDigits", "make_bags", "rotated_digits"]
