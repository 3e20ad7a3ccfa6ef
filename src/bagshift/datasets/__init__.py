# SPDX-License-Identifier: BSD-3-Clause
"""Example problems with known truth, and bags made from labels."""

from bagshift.datasets.bag_making import make_bags, make_skewed_bags
from bagshift.datasets.clustered_bags import make_clustered_bags
from bagshift.datasets.labelled_domains import GeneratedDomains, LabelledDomains
from bagshift.datasets.natural_bags import make_feature_bags, make_natural_bags
from bagshift.datasets.paper_gaussians import paper_gaussians
from bagshift.datasets.rotated_digits import RotatedDigits, rotated_digits
from bagshift.datasets.turned_directions import turned_directions

__all__ = [
    "GeneratedDomains",
    "LabelledDomains",
    "RotatedDigits",
    "make_bags",
    "make_clustered_bags",
    "make_feature_bags",
    "make_natural_bags",
    "make_skewed_bags",
    "paper_gaussians",
    "rotated_digits",
    "turned_directions",
]
