# SPDX-License-Identifier: BSD-3-Clause
"""The work behind the command line: from files to models, predictions and checks."""
