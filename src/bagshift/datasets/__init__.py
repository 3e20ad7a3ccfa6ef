# SPDX-License-Identifier: BSD-3-Clause
"""Example problems with known truth, and bags made from labels."""

from bagshift.datasets.bag_making import make_bags, make_skewed_bags
from bagshift.datasets.clustered_bags import make_clustered_bags
from bagshift.datasets.labelled_domains import LabelledDomains
from bagshift.datasets.natural_bags import make_feature_bags, make_natural_bags
from bagshift.datasets.rotated_digits import RotatedDigits, rotated_digits

__all__ = [
    "LabelledDomains",
    "RotatedDigits",
    "make_bags",
    "make_clustered_bags",
    "make_feature_bags",
    "make_natural_bags",
    "make_skewed_bags",
    "rotated_digits",
]
