# SPDX-License-Identifier: BSD-3-Clause
"""Whether noise costs as much accuracy as the exact bags that ``privacy_report`` likens it to.

    python benchmarks/noise_cost.py --draws 20

Protocol: two Gaussian classes, 40 % positive, whose means are 2 s apart in a random direction,
in D features; 960 rows in bags of 4 or 8, and 20,000 fresh rows. Counts are released with
two-sided geometric noise of epsilon 2, 1 and 0.5. ``CountLikelihoodClassifier(kernel="linear",
C_target=1)`` is fitted, without a source, to the exact bags, to the noisy ones with their law, and
to exact bags of the same rows, of the size that ``NoiseCost.like_bags_of`` says for the accuracy
of the best classifier. Figures are mean accuracies on the fresh rows in percent, with standard
errors.
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from bagshift import Bags, CountLikelihoodClassifier, noise_counts
from bagshift.inspection import privacy_report

N_ROWS, N_FRESH, SHARE = 960, 20_000, 0.4
PROBLEMS = ((2, 1.0), (10, 1.0), (10, 1.5), (10, 2.0), (30, 1.5))
SIZES, EPSILONS = (4, 8), (2.0, 1.0, 0.5)

Floats = NDArray[np.float64]


def draw_rows(
    random: np.random.Generator, n_rows: int, direction: Floats, apart: float
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw rows and labels of the two classes."""
    labels = (random.random(n_rows) < SHARE).astype(np.int64)
    rows = random.normal(size=(n_rows, len(direction)))
    return rows + apart * np.outer(2 * labels - 1, direction), labels


def best_accuracy(apart: float) -> float:
    """Accuracy of the classifier that knows both classes."""
    threshold = np.log((1 - SHARE) / SHARE) / (2 * apart)
    return float(SHARE * norm.sf(threshold - apart) + (1 - SHARE) * norm.cdf(threshold + apart))


def bags_of(labels: NDArray[np.int64], size: int) -> Bags:
    """Cut rows into bags of a size."""
    place = np.arange(len(labels)) // size
    counts = np.bincount(place, weights=labels).astype(int)
    return Bags.from_arrays(place, counts=dict(enumerate(counts.tolist())))


def accuracy(X: Floats, bags: Bags, fresh: tuple[Floats, NDArray[np.int64]]) -> float:
    """Fit and score."""
    machine = CountLikelihoodClassifier(kernel="linear", C_target=1.0).fit(X, bags)
    return float((machine.predict(fresh[0]) == fresh[1]).mean())


def compare(n_features: int, apart: float, size: int, epsilon: float, n_draws: int) -> str:
    """Return a line of the table."""
    found, like = [], 0
    for seed in range(n_draws):
        random = np.random.default_rng(seed)
        direction = random.normal(size=n_features)
        direction /= np.linalg.norm(direction)
        X, labels = draw_rows(random, N_ROWS, direction, apart)
        fresh = draw_rows(random, N_FRESH, direction, apart)
        bags = bags_of(labels, size)
        report = privacy_report(bags, epsilon=epsilon, accuracy=best_accuracy(apart))
        cost = report.releases[0].cost
        assert cost is not None
        like = min(round(cost.like_bags_of), N_ROWS // 3)
        n_used = N_ROWS // like * like
        noisy = noise_counts(bags, epsilon, testing=True, seed=seed)
        found.append(
            (
                accuracy(X, bags, fresh),
                accuracy(X, noisy, fresh),
                accuracy(X[:n_used], bags_of(labels[:n_used], like), fresh),
            )
        )
    percent = 100 * np.array(found)
    mean, error = percent.mean(axis=0), percent.std(axis=0, ddof=1) / np.sqrt(n_draws)
    return (
        f"{n_features:3} {100 * best_accuracy(apart):6.1f} {size:5} {epsilon:5} {mean[0]:7.2f} "
        f"{mean[1]:7.2f} ± {error[1]:.2f} {like:6} {mean[2]:7.2f} ± {error[2]:.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    n_draws = parser.parse_args().draws
    print("  D   best  bags   eps   exact  noisy          like  exact of that size")
    for n_features, apart in PROBLEMS:
        for size in SIZES:
            for epsilon in EPSILONS:
                print(compare(n_features, apart, size, epsilon, n_draws), flush=True)


if __name__ == "__main__":
    main()
