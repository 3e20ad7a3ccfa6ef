# SPDX-License-Identifier: BSD-3-Clause
"""Times from commit to commit, taken by Airspeed Velocity (asv)."""
