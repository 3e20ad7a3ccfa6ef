# SPDX-License-Identifier: BSD-3-Clause
"""
Who voted yes?
==============

Nobody may know how a person voted. Every precinct publishes its share of yes votes, and a survey
of the last election asked people for theirs. How well can single votes be told from that, and
when does the survey help?

The voters here are invented, so that their true votes are known and the answers can be counted.
"""

# %%
# Invented voters
# ---------------
# A voter is ten numbers. What separates yes from no is a direction in that space, and since the
# last election the direction has turned by 40 degrees. Each precinct leans its own way.

import matplotlib.pyplot as plt
import numpy as np

N_COLUMNS, PRECINCT_SIZE = 10, 16


def voters(votes, angle, rng):
    """Draw one row of ten columns for each vote (0 or 1)."""
    direction = np.zeros(N_COLUMNS)
    direction[:2] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return rng.normal(size=(len(votes), N_COLUMNS)) + 1.4 * np.outer(
        2 * votes - 1, direction
    )


def election(n_precincts, rng):
    """Draw a survey, the voters of some precincts, and voters of whom nothing is known."""
    survey_votes = rng.integers(0, 2, 200)
    leaning = rng.uniform(0.2, 0.8, n_precincts)
    votes = rng.binomial(1, np.repeat(leaning, PRECINCT_SIZE))
    fresh_votes = rng.integers(0, 2, 2000)
    return (
        (voters(survey_votes, 0, rng), survey_votes),
        (voters(votes, 40, rng), votes),
        (voters(fresh_votes, 40, rng), fresh_votes),
    )


rng = np.random.default_rng(0)
survey, today, fresh = election(n_precincts=20, rng=rng)

# %%
# What is published
# -----------------
# The votes of today go into the shares, and then nobody looks at them again. `Bags` joins the
# precinct of each voter with the precinct's share.

from bagshift import Bags

precinct = np.repeat([f"precinct {k}" for k in range(20)], PRECINCT_SIZE)
shares = {name: today[1][precinct == name].mean() for name in np.unique(precinct)}
bags = Bags.from_arrays(precinct, shares)
bags

# %%
# Three machines
# --------------
# `SourceSVM` learns from the survey only. `InverseCalibrationSVM` learns from the shares only.
# `TGPLM` learns from both, and its coupling says how alike the two elections are: 4 is rather
# alike. (:ref:`sphx_glr_gallery_plot_search.py` shows how to choose it without a label.)

from bagshift import TGPLM, InverseCalibrationSVM, SourceSVM

machines = {
    "SourceSVM": SourceSVM(kernel="linear"),
    "InverseCalibrationSVM": InverseCalibrationSVM(kernel="linear"),
    "TGPLM": TGPLM(kernel="linear", coupling=4.0),
}


def fit(machine, X, bags, survey):
    """Fit with the survey where the machine can use it."""
    if isinstance(machine, InverseCalibrationSVM):
        return machine.fit(X, bags)
    return machine.fit(X, bags, source=survey)


for name, machine in machines.items():
    fit(machine, today[0], bags, survey)
    print(
        f"{name:22s} error of shares {1 - machine.score(today[0], bags):.3f}   "
        f"accuracy on fresh voters {machine.score(*fresh):.3f}"
    )

# %%
# How many precincts does it take?
# --------------------------------
# With very few precincts the shares say too little, and the survey alone does best. With many,
# the shares know better than a survey of another election, and the survey adds little. In
# between, having both is worth most. The dashed line is a machine that saw every vote of today.

from sklearn.base import clone
from sklearn.svm import SVC

NUMBERS, DRAWS = [5, 10, 20, 40], 10
accuracy = {
    name: np.zeros((DRAWS, len(NUMBERS))) for name in [*machines, "all votes known"]
}
for draw in range(DRAWS):
    survey, today, fresh = election(max(NUMBERS), np.random.default_rng(draw))
    for column, n_precincts in enumerate(NUMBERS):
        precinct = np.repeat(np.arange(n_precincts), PRECINCT_SIZE)
        X, votes = today[0][: len(precinct)], today[1][: len(precinct)]
        shares = {k: votes[precinct == k].mean() for k in range(n_precincts)}
        bags = Bags.from_arrays(precinct, shares)
        for name, machine in machines.items():
            fitted = fit(clone(machine), X, bags, survey)
            accuracy[name][draw, column] = fitted.score(*fresh)
        fitted = SVC(kernel="linear").fit(X, votes)
        accuracy["all votes known"][draw, column] = fitted.score(*fresh)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for vote, colour in ((0, "tab:orange"), (1, "tab:blue")):
    for (X, votes), marker, label in (
        (survey, "x", "survey"),
        (fresh, ".", "today"),
    ):
        some = X[votes == vote][:100]
        left.scatter(
            some[:, 0],
            some[:, 1],
            c=colour,
            marker=marker,
            s=22,
            alpha=0.7,
            label=f"{label}, {'yes' if vote else 'no'}",
        )
left.set(title="Two of the ten columns", xlabel="column 0", ylabel="column 1")
left.legend(fontsize="small")

for name, values in accuracy.items():
    known = name == "all votes known"
    right.plot(
        NUMBERS,
        values.mean(axis=0),
        label=name,
        marker=None if known else "o",
        color="grey" if known else None,
        linestyle="--" if known else "-",
    )
right.set(
    title="Fresh voters, mean of ten draws",
    xlabel="precincts of 16 voters",
    ylabel="accuracy",
    xscale="log",
)
right.set_xticks(NUMBERS, NUMBERS)
right.minorticks_off()
right.legend(fontsize="small")
plt.show()

for name, values in accuracy.items():
    print(f"{name:22s}", *(f"{value:.3f}" for value in values.mean(axis=0)))

# %%
# On other data the lines cross elsewhere: if the world has turned further, the survey helps
# less, or even harms.
