# SPDX-License-Identifier: BSD-3-Clause
"""The paper's tables and figures, and a league of all methods; runs can be resumed."""
