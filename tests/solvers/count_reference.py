# SPDX-License-Identifier: BSD-3-Clause
"""Two slow and obvious ways to the likelihood and posterior of a count."""

from itertools import product

import numpy as np

Extended = np.longdouble


def log_sigmoids(scores):
    """Log-probabilities of success and of failure, in extended precision."""
    scores = np.asarray(scores, dtype=Extended)
    zero = Extended(0)
    return -np.logaddexp(zero, -scores), -np.logaddexp(zero, scores)


def log_sum(terms):
    high = terms.max()
    return high if np.isneginf(high) else high + np.log(np.exp(terms - high).sum())


def enumerate_labels(scores, log_weights):
    """Add up all labellings; log_weights[c] for c = 0, ..., n."""
    success, failure = log_sigmoids(scores)
    labels = np.array(list(product((0, 1), repeat=len(scores))))
    joint = labels @ success + (1 - labels) @ failure + np.asarray(log_weights)[labels.sum(axis=1)]
    total = log_sum(joint)
    return total, np.exp(joint - total) @ labels


def add_row(log_probabilities, success, failure):
    """Log-probabilities of the count with one row more; the last entry must be impossible."""
    more = log_probabilities + failure
    more[1:] = np.logaddexp(more[1:], log_probabilities[:-1] + success)
    return more


def log_probabilities_of_counts(scores):
    counts = np.full(len(scores) + 1, -np.inf, dtype=Extended)
    counts[0] = 0
    for success, failure in zip(*log_sigmoids(scores), strict=True):
        counts = add_row(counts, success, failure)
    return counts


def forward_backward(scores, log_weights):
    """Log-likelihood and posterior by recursion over prefixes and suffixes, in logarithms."""
    success, failure = log_sigmoids(scores)
    n = len(scores)
    forward = np.full((n + 1, n + 1), -np.inf, dtype=Extended)
    forward[0, 0] = 0
    for j in range(n):
        forward[j + 1] = add_row(forward[j], success[j], failure[j])
    backward = np.asarray(log_weights, dtype=Extended)
    total = log_sum(forward[n] + backward)
    posterior = np.empty(n, dtype=Extended)
    for j in range(n)[::-1]:
        one_more = np.append(backward[1:], -np.inf)
        posterior[j] = np.exp(success[j] + log_sum(forward[j] + one_more) - total)
        backward = np.logaddexp(backward + failure[j], one_more + success[j])
    return total, posterior
