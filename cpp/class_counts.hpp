// SPDX-License-Identifier: BSD-3-Clause
//
// The probability of the numbers of rows of each class in a bag, by recursion over all smaller
// numbers, and the classes of the rows given those numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bagshift {

struct ClassCountProblem {
  std::ptrdiff_t n_bags;
  std::ptrdiff_t n_classes;
  const double* chances;       // of every row and class; rows sum to 1
  const std::int64_t* starts;  // n_bags + 1: rows stand bag by bag
  const std::int64_t* counts;  // of every bag and class; they sum to the rows of the bag
};

struct ClassCountPosterior {
  double* log_probability;  // of the counts of every bag
  double* posterior;        // of every row and class, given the counts
};

// Takes memory for as many numbers as a bag has rows, and three, for each of its states: the product
// of its counts, each plus one, without the largest.
void class_count_posterior(const ClassCountProblem& problem, const ClassCountPosterior& found);

}  // namespace bagshift
