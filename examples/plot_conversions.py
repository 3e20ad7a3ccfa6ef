# SPDX-License-Identifier: BSD-3-Clause
"""
Which clicks became sales?
==========================

An advertiser no longer sees who bought something. The platform reports, for every group of clicks
that look alike, how many of them became sales, and adds noise to that number, so that nobody can
be found out. An event log of last year still has every click with its sale. Which of today's
clicks became sales?

The clicks here are invented, so that the answers can be counted.
"""

# %%
# Invented clicks
# ---------------
# A click is eight numbers. Sales are rare, and what drives them has changed a little since last
# year. A group is a campaign on one day: 25 clicks with something in common.

import numpy as np
from scipy.special import expit

N_COLUMNS, GROUP_SIZE = 8, 25


def clicks(n_groups, slope, rng):
    """Draw clicks in groups, and whether each became a sale."""
    common = 0.8 * rng.normal(size=(n_groups, N_COLUMNS))
    X = np.repeat(common, GROUP_SIZE, axis=0)
    X = X + rng.normal(size=X.shape)
    return X, (rng.random(len(X)) < expit(X @ slope - 2.0)).astype(int)


rng = np.random.default_rng(0)
then = 0.7 * rng.normal(size=N_COLUMNS)
now = then + 0.6 * rng.normal(size=N_COLUMNS)
log = clicks(40, then, rng)
X, sold = clicks(160, now, rng)
fresh = clicks(400, now, rng)
group = np.repeat(np.arange(160), GROUP_SIZE)
print(
    f"{sold.mean():.0%} of today's clicks became sales, {log[1].mean():.0%} last year"
)

# %%
# What the platform reports
# -------------------------
# `noise_counts` adds whole-numbered noise to the number of sales of each group. Whatever is
# reported is then at most exp(epsilon) times as probable if one click became a sale as if it did
# not. (Noise for a test may have a seed; for a real release it must not.) Some numbers fall below
# zero. They stay as they are: clipping them would make sales seem more frequent.

from bagshift import Bags, noise_counts

exact = Bags.from_arrays(group, counts=dict(enumerate(np.bincount(group, sold))))
reported = noise_counts(exact, epsilon=0.3, testing=True, seed=0)
print("sales   ", exact.counts[:12, 1].astype(int))
print("reported", reported.counts[:12, 1].astype(int))

# %%
# Does it help to know the noise?
# -------------------------------
# The reported bags know the law of their noise, and the likelihood of a report is then that of
# all counts that it may stand for. A machine that takes the reports as exact must explain the
# noise by the clicks.

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from bagshift import CountLikelihoodClassifier

as_if_exact = Bags.from_arrays(
    group, dict(enumerate(np.clip(reported.positive_shares, 0.0, 1.0)))
)
machine = CountLikelihoodClassifier(kernel="linear", coupling=1.0, C_target=1.0)
models = {
    "last year's log alone": LogisticRegression().fit(*log),
    "reports taken as exact": clone(machine).fit(X, as_if_exact, source=log),
    "reports with their noise": clone(machine).fit(X, reported, source=log),
    "exact counts": clone(machine).fit(X, exact, source=log),
    "every sale known": LogisticRegression().fit(X, sold),
}
for name, model in models.items():
    chance = model.predict_proba(fresh[0])[:, 1]
    auc, loss = roc_auc_score(fresh[1], chance), log_loss(fresh[1], chance)
    print(f"{name:26s} AUC {auc:.3f}   log loss {loss:.3f}")

# %%
# What privacy costs
# ------------------
# A smaller epsilon protects more and tells less. The loss is that beyond a model that knows every
# sale; each point is the mean of five releases of noise. Known noise costs little down to an
# epsilon of 0.3. Taken as exact, the same reports cost several times that.

import matplotlib.pyplot as plt

EPSILONS, RELEASES = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0], 5
best = log_loss(fresh[1], models["every sale known"].predict_proba(fresh[0])[:, 1])
excess = {name: [] for name in ("taken as exact", "with their noise")}
for epsilon in EPSILONS:
    losses = {name: [] for name in excess}
    for seed in range(RELEASES):
        release = noise_counts(exact, epsilon=epsilon, testing=True, seed=seed)
        clipped = dict(enumerate(np.clip(release.positive_shares, 0.0, 1.0)))
        given = Bags.from_arrays(group, clipped), release
        for name, bags in zip(excess, given, strict=True):
            chance = clone(machine).fit(X, bags, source=log).predict_proba(fresh[0])
            losses[name].append(log_loss(fresh[1], chance[:, 1]) - best)
    for name, values in losses.items():
        excess[name].append(np.mean(values))

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, values), marker in zip(excess.items(), "so", strict=True):
    ax.plot(EPSILONS, values, marker=marker, label=f"reports {name}")
ax.set(
    title="Fresh clicks, mean of five releases",
    xlabel="epsilon of the noise (smaller protects more)",
    ylabel="log loss beyond every sale known",
    xscale="log",
    yscale="log",
)
ax.set_xticks(EPSILONS, EPSILONS)
ax.minorticks_off()
ax.legend()
plt.show()

for name, values in excess.items():
    print(f"{name:18s}", *(f"{value:.4f}" for value in values))
