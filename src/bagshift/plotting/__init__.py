# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of results. Every function draws into axes it is given and keeps no global state."""

from bagshift.plotting.accuracies import plot_accuracies
from bagshift.plotting.images import plot_images
from bagshift.plotting.shares import plot_shares

__all__ = ["plot_accuracies", "plot_images", "plot_shares"]
