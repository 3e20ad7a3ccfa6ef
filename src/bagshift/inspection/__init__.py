# SPDX-License-Identifier: BSD-3-Clause
"""What a user asks around a fit: can the bags teach, did the history help, is the answer right."""
