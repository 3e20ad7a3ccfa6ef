# SPDX-License-Identifier: BSD-3-Clause
"""
Choosing parameters without labels
==================================

The labels of today are unknown, so they cannot choose parameters. The shares can: hold out whole
bags, fit on the others, and compare the predicted share of each held-out bag with the given one.
"""

# %%
# Data
# ----
# Handwritten threes (negative) and eights (positive). The source is upright and labelled, the
# target is turned by 50 degrees and lies in bags of eight. Further turned digits are set aside
# to count, at the end, how good the choice was.

from bagshift import Bags
from bagshift.datasets import rotated_digits

digits = rotated_digits(random_state=0)
source = digits.X_source, digits.y_source
X, bags = digits.X_bagged, Bags.from_arrays(digits.bag_ids, digits.shares)
fresh = digits.X_fresh, digits.y_fresh
print(bags)

# %%
# The search
# ----------
# `path_search` computes each kernel matrix once and solves one setting from its neighbour. The
# criterion is the share error on held-out bags; ties are broken by the error of the mean scores.

from bagshift import TGPLM, RepeatedBagKFold, path_search

grid = {
    "coupling": [2.0**power for power in range(-6, 8, 2)],
    "C_target": [2.0**power for power in range(-4, 9, 2)],
}
cv = RepeatedBagKFold(n_splits=7, n_repeats=3, random_state=0)
search = path_search(TGPLM(), X, bags, source=source, grid=grid, cv=cv)
print(search.best_params)

# %%
# What the search saw, and what it could not see
# ----------------------------------------------
# Left, the criterion. Right, the accuracy on fresh digits, which takes labels that a user does
# not have. Bright is good in both, and the dot is the choice. The criterion steers clear of the
# bad settings; among the good ones fourteen bags cannot tell which is best.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

held_out = np.array([entry["share_error"] for entry in search.table])
accuracy = np.array(
    [
        TGPLM(**entry["params"]).fit(X, bags, source=source).score(*fresh)
        for entry in search.table
    ]
)

# The table follows the order of scikit-learn's ParameterGrid: names sorted, the last fastest.
shape = len(grid["C_target"]), len(grid["coupling"])
best = np.unravel_index(search.best_index, shape)
powers = {
    name: [f"{np.log2(value):.0f}" for value in values]
    for name, values in grid.items()
}

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, values, title, colours in (
    (axes[0], held_out, "share error on held-out bags", "viridis_r"),
    (axes[1], accuracy, "accuracy on fresh digits", "viridis"),
):
    picture = ax.imshow(
        values.reshape(shape), origin="lower", cmap=colours, aspect="auto"
    )
    ax.plot(best[1], best[0], "o", color="red", markersize=10)
    ax.set(title=title, xlabel="log2 of coupling", ylabel="log2 of C_target")
    ax.set_xticks(range(shape[1]), powers["coupling"])
    ax.set_yticks(range(shape[0]), powers["C_target"])
    figure.colorbar(picture, ax=ax, format=PercentFormatter(1.0))
plt.show()

print(
    f"chosen without labels: {accuracy[search.best_index]:.3f} of fresh digits right"
)
print(f"best of the grid, which takes labels to find: {accuracy.max():.3f}")

# %%
# The same by scikit-learn
# ------------------------
# `GridSearchCV` comes to the same choice, more slowly. Give it a whole-bag splitter: an ordinary
# one would cut bags in two, and is refused.

from sklearn.model_selection import GridSearchCV

from bagshift.model_selection import share_error_soft_ties

same = GridSearchCV(TGPLM(), grid, cv=cv, scoring=share_error_soft_ties)
same.fit(X, bags, source=source)
print(same.best_params_ == search.best_params)
