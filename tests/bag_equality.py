# SPDX-License-Identifier: BSD-3-Clause
"""When two Bags are the same."""

import numpy as np

ROWS = ("bag_index", "label_values", "is_source", "row_weights", "has_label")
TABLE = ("ids", "shares", "sizes", "weights", "noise", "rows_per_bag", "counts")


def assert_same_bags(left, right):
    """Compare everything that is public, and whether the bags are whole."""
    for name in (*ROWS, *TABLE):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    assert left.shape == right.shape
    assert (left.positive, left.negative) == (right.positive, right.negative)
    assert is_whole(left) == is_whole(right)


def is_whole(bags):
    """Whether no bag was cut."""
    try:
        bags.check_whole()
    except ValueError:
        return False
    return True
