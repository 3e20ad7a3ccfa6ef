# SPDX-License-Identifier: BSD-3-Clause
"""Fit and predict with an installed bagshift: what a wheel has to be good for."""

import numpy as np

import bagshift
from bagshift import TGPLM, Bags, CountLikelihoodClassifier


def make_rows(
    rng: np.random.Generator, n: int, offset: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, their labels and the bags that they lie in."""
    bag_ids = np.arange(n) % 20
    y = np.where(rng.random(n) < 0.1 + 0.04 * bag_ids, 1, -1)
    X = rng.normal(size=(n, 3)) + 1.2 * y[:, None] + offset
    return X, y, bag_ids


def main() -> None:
    """Print the accuracy of two classifiers that saw no label of the rows."""
    rng = np.random.default_rng(0)
    X_source, y_source, _ = make_rows(rng, 200, 0.0)
    X, y, bag_ids = make_rows(rng, 400, 0.5)
    counts = {int(bag): int(np.sum(y[bag_ids == bag] == 1)) for bag in np.unique(bag_ids)}
    bags = Bags.from_arrays(bag_ids, counts=counts, positive=1)
    print(f"bagshift {bagshift.__version__} from {bagshift.__file__}")
    for model in (TGPLM(), CountLikelihoodClassifier()):
        model.fit(X, bags, source=(X_source, y_source))
        accuracy = float(np.mean(model.predict(X) == y))
        print(f"{type(model).__name__}: accuracy {accuracy:.3f}")
        if accuracy < 0.9:
            raise SystemExit("That is too low: something is wrong with this build.")


if __name__ == "__main__":
    main()
