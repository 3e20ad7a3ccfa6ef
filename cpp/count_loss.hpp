// SPDX-License-Identifier: BSD-3-Clause
//
// Minus the log-likelihood of what is published about bags, and its curvature in the scores: a
// diagonal, and one outer product for each bag. The formulas stand in
// src/bagshift/solvers/coupled_logistic.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "count_likelihood.hpp"

namespace bagshift {

// log_likelihood and bag_weight: one for each bag. The others: one for each row. The curvature of
// bag k is diag(curvature) + bag_weight[k] v v', where v is the label variance of its rows.
// Costs are factors on the bags' losses; log-likelihood and label variance are without them.
struct CountLoss {
  double* log_likelihood;
  double* slope;
  double* curvature;
  double* label_variance;
  double* bag_weight;
};

// The result does not depend on the number of threads.
void count_loss(const CountProblem& problem, const double* costs, const CountLoss& result,
                int n_threads);

// sums[k] = sum over the rows of bag k of factor * row, and last, of factors: n_features + 1
// numbers for each bag.
void bag_sums(const double* rows, std::ptrdiff_t n_features, const double* factors,
              const std::int64_t* starts, std::ptrdiff_t n_bags, double* sums);
void bag_sums(const float* rows, std::ptrdiff_t n_features, const double* factors,
              const std::int64_t* starts, std::ptrdiff_t n_bags, double* sums);

}  // namespace bagshift
