# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of results.

Every function draws into axes that it is given. Displays, as scikit-learn has them, make new ones
where none are given.
"""

from bagshift.plotting.accuracies import plot_accuracies
from bagshift.plotting.accuracy_ranges import plot_accuracy_ranges
from bagshift.plotting.bag_share_display import BagShareDisplay
from bagshift.plotting.boundaries import plot_boundaries
from bagshift.plotting.critical_differences import plot_critical_differences
from bagshift.plotting.domain_boundary_display import DomainBoundaryDisplay
from bagshift.plotting.gap_closed import plot_gap_closed
from bagshift.plotting.images import plot_images
from bagshift.plotting.label_free_accuracy_display import LabelFreeAccuracyDisplay
from bagshift.plotting.sensitivity import plot_sensitivity
from bagshift.plotting.shares import plot_shares
from bagshift.plotting.tomography_display import TomographyDisplay
from bagshift.plotting.transfer_path_display import TransferPathDisplay

__all__ = [
    "BagShareDisplay",
    "DomainBoundaryDisplay",
    "LabelFreeAccuracyDisplay",
    "TomographyDisplay",
    "TransferPathDisplay",
    "plot_accuracies",
    "plot_accuracy_ranges",
    "plot_boundaries",
    "plot_critical_differences",
    "plot_gap_closed",
    "plot_images",
    "plot_sensitivity",
    "plot_shares",
]
