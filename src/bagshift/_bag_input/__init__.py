# SPDX-License-Identifier: BSD-3-Clause
"""Reading of bag ids, shares, counts, sizes and weights in the forms people hold them."""
