# SPDX-License-Identifier: BSD-3-Clause
"""What a model file may hold: its archive, its types, and the model in it."""
