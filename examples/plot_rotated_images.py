# SPDX-License-Identifier: BSD-3-Clause
"""
Images on a turned page
=======================

A scanner reads digits that were labelled once, when pages lay straight. Now pages come in turned,
and nobody labels them again; but every form says how many of its digits are eights. How far may
the page turn before the old labels are of no use, and how far do the numbers on the forms help?
"""

# %%
# Digits
# ------
# Threes and eights of scikit-learn's bundled digits: 120 upright ones with labels, about as many
# turned ones on forms of eight, and others turned likewise that no machine sees, to judge by.

import matplotlib.pyplot as plt
import numpy as np

from bagshift.datasets import rotated_digits

ANGLES = [0, 15, 30, 45, 60, 75, 90]
draws = {angle: rotated_digits(angle=angle, random_state=0) for angle in ANGLES}

figure, axes = plt.subplots(2, len(ANGLES), figsize=(9, 2.9), layout="constrained")
for column, (angle, digits) in enumerate(draws.items()):
    for label, ax in enumerate(axes[:, column]):
        image = digits.X_fresh[digits.y_fresh == label][0]
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    axes[0, column].set_title(f"{angle}°")
axes[0, 0].set_ylabel("three")
axes[1, 0].set_ylabel("eight")
plt.show()

# %%
# What a form says
# ----------------
# The number of eights on each form, and nothing else about its digits.

from bagshift import Bags

digits = draws[45]
bags = Bags.from_arrays(digits.bag_ids, digits.shares, positive=1)
bags

# %%
# Four machines
# -------------
# One learns from the upright digits alone. `TGPLM` and `CountLikelihoodClassifier` couple them
# with the forms. The last one learns from the forms alone. All are at their defaults. The same
# digits come on fourteen forms of eight, or on two of 56.

import warnings

from sklearn.base import clone

from bagshift import (
    TGPLM,
    CountLikelihoodClassifier,
    ReversedScoresWarning,
    SourceSVM,
)

machines = {
    "upright digits alone": SourceSVM(),
    "TGPLM, both": TGPLM(),
    "count likelihood, both": CountLikelihoodClassifier(),
    "count likelihood, forms alone": CountLikelihoodClassifier(),
}
FORM_SIZES, N_DRAWS = [8, 56], 5


def accuracies(angle, draw, form_size):
    """Fit all machines on one draw and judge them on digits that none has seen."""
    digits = rotated_digits(angle=angle, random_state=draw, bag_size=form_size)
    bags = Bags.from_arrays(digits.bag_ids, digits.shares, positive=1)
    source = digits.X_source, digits.y_source
    found = []
    for name, machine in machines.items():
        given = {} if "forms alone" in name else {"source": source}
        model = clone(machine).fit(digits.X_bagged, bags, **given)
        found.append(model.score(digits.X_fresh, digits.y_fresh))
    return found


with warnings.catch_warnings():
    # Forms alone may fit a machine and its mirror image alike. The machine says so; here it shows.
    warnings.simplefilter("ignore", ReversedScoresWarning)
    accuracy = np.array(
        [
            [
                [accuracies(angle, draw, size) for draw in range(N_DRAWS)]
                for angle in ANGLES
            ]
            for size in FORM_SIZES
        ]
    ).mean(axis=2)

# %%
# How far may the page turn?
# --------------------------
# The old labels alone fail from 30 degrees on. Fourteen forms need no old labels: the count
# machine gets nearly all digits right at any angle. On two forms with nearly as many eights as
# threes a machine and its mirror image, which calls every three an eight, fit alike. Forms alone
# then guess which of the two is right. The old labels tell them apart as long as they are better
# than guessing themselves, up to some 30 degrees here.

figure, axes = plt.subplots(
    1, 2, figsize=(10, 4.2), sharey=True, layout="constrained"
)
for ax, size, of_size in zip(axes, FORM_SIZES, accuracy, strict=True):
    for (name, values), marker in zip(
        zip(machines, of_size.T, strict=True), "sv^o", strict=True
    ):
        ax.plot(ANGLES, values, marker=marker, label=name)
    ax.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
    ax.set(title=f"{112 // size} forms of {size}", xlabel="turned by (degrees)")
    ax.set_xticks(ANGLES)
axes[0].set(
    ylabel=f"accuracy on fresh digits, mean of {N_DRAWS} draws", ylim=(0.4, 1.01)
)
axes[0].annotate("guessing", (0, 0.507), color="grey")
axes[0].legend(loc="lower left", fontsize="small", bbox_to_anchor=(0.0, 0.2))
plt.show()

for size, of_size in zip(FORM_SIZES, accuracy, strict=True):
    print(f"forms of {size}")
    for name, values in zip(machines, of_size.T, strict=True):
        print(f"  {name:30s}", *(f"{value:.3f}" for value in values))
