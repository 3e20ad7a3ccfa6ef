# SPDX-License-Identifier: BSD-3-Clause
"""The parts of `bagshift.bags`: reading, checking, indexing, joining and display."""
