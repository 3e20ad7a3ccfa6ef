# SPDX-License-Identifier: BSD-3-Clause
"""Example problems with known truth, and bags made from labels."""

from bagshift.datasets.aggregates import Aggregates, read_aggregates
from bagshift.datasets.bag_making import make_bags, make_skewed_bags
from bagshift.datasets.clustered_bags import make_clustered_bags
from bagshift.datasets.data_folder import data_folder, find_data_sets, read_row_table
from bagshift.datasets.labelled_domains import GeneratedDomains, LabelledDomains
from bagshift.datasets.natural_bags import make_feature_bags, make_natural_bags
from bagshift.datasets.one_hot import one_hot_columns
from bagshift.datasets.paper_gaussians import paper_gaussians
from bagshift.datasets.public import PUBLIC_FILES, PublicFile, fetch
from bagshift.datasets.public_tables import fetch_table
from bagshift.datasets.rotated_digits import RotatedDigits, rotated_digits
from bagshift.datasets.row_table import RowTable, stack_tables
from bagshift.datasets.turned_directions import turned_directions

__all__ = [
    "PUBLIC_FILES",
    "Aggregates",
    "GeneratedDomains",
    "LabelledDomains",
    "PublicFile",
    "RotatedDigits",
    "RowTable",
    "data_folder",
    "fetch",
    "fetch_table",
    "find_data_sets",
    "make_bags",
    "make_clustered_bags",
    "make_feature_bags",
    "make_natural_bags",
    "make_skewed_bags",
    "one_hot_columns",
    "paper_gaussians",
    "read_aggregates",
    "read_row_table",
    "rotated_digits",
    "stack_tables",
    "turned_directions",
]
