// SPDX-License-Identifier: BSD-3-Clause
#include "count_likelihood.hpp"

#include <vector>

#include "bag_pieces.hpp"
#include "count_bag.hpp"

namespace bagshift {

void count_posterior(const CountProblem& problem, const CountResult& result, int n_threads) {
  visit_pieces(problem.starts, problem.n_bags, n_threads, [&] {
    return [&, workspace = CountWorkspace()](std::ptrdiff_t begin, std::ptrdiff_t end) mutable {
      for (std::ptrdiff_t k = begin; k < end; ++k) {
        const std::int64_t row = problem.starts[k];
        const auto size = static_cast<std::ptrdiff_t>(problem.starts[k + 1] - row);
        result.log_likelihood[k] = workspace.solve(problem.scores + row, size, law_of(problem, k),
                                                   result.probability + row);
      }
    };
  });
}

void count_log_probabilities(const double* scores, std::ptrdiff_t n, double* log_probabilities) {
  CountWorkspace workspace;
  std::vector<double> probability(static_cast<std::size_t>(n));
  const double certain = 0.0;
  log_probabilities[0] = workspace.solve(scores, n, {0, &certain, 1}, probability.data());
  log_probabilities[n] = workspace.solve(scores, n, {n, &certain, 1}, probability.data());
  for (std::ptrdiff_t count = 1; count < n;) {
    count += workspace.log_probabilities(scores, n, count, log_probabilities + count);
  }
}

}  // namespace bagshift
