// SPDX-License-Identifier: BSD-3-Clause
//
// The likelihood of the number of positive rows of a bag, and the chance of every row to be
// positive given that number.
//
// Row j of a bag is positive with chance sigma(f_j), independently. What is published about the
// bag is a law: weights w(c) = P(published | true count c). The core returns
//
//     log Z = log sum_c P(c) w(c),      r_j = P(y_j = 1 | published) = d log Z / df_j + sigma(f_j)
//
// to rounding, whatever the size of the bag and wherever the count lies. An exact count is a law
// with one weight. The formulas stand in src/bagshift/solvers/count_likelihood.py.
//
// This header and its sources know nothing of Python.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bagshift {

// Bags stand one after the other. Bag k has rows starts[k] to starts[k+1] and the log weights
// weight_starts[k] to weight_starts[k+1] of the counts first_counts[k], +1, +2, ...
struct CountProblem {
  std::ptrdiff_t n_bags;
  const double* scores;                // finite
  const std::int64_t* starts;          // n_bags + 1
  const std::int64_t* first_counts;    // n_bags
  const std::int64_t* weight_starts;   // n_bags + 1
  const double* log_weights;           // -inf: impossible; never +inf or NaN
};

// log_likelihood: one for each bag, -inf when no count from 0 to the size has a weight.
// probability: one for each row; sigma of the score in a bag of log-likelihood -inf.
struct CountResult {
  double* log_likelihood;
  double* probability;
};

// The result does not depend on the number of threads.
void count_posterior(const CountProblem& problem, const CountResult& result, int n_threads);

// log P(c) for c = 0..n, by one tilt for each stretch of counts around its mean.
void count_log_probabilities(const double* scores, std::ptrdiff_t n, double* log_probabilities);

}  // namespace bagshift
