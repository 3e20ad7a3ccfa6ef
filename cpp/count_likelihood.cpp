// SPDX-License-Identifier: BSD-3-Clause
#include "count_likelihood.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "count_bag.hpp"

namespace bagshift {
namespace {

// Threads fetch work in pieces of about so many rows.
constexpr std::int64_t kPieceRows = 4096;

void solve_bags(const CountProblem& problem, const CountResult& result, std::ptrdiff_t begin,
                std::ptrdiff_t end, CountWorkspace& workspace) {
  for (std::ptrdiff_t k = begin; k < end; ++k) {
    const std::int64_t row = problem.starts[k], weight = problem.weight_starts[k];
    const Law law{static_cast<std::ptrdiff_t>(problem.first_counts[k]),
                  problem.log_weights + weight,
                  static_cast<std::ptrdiff_t>(problem.weight_starts[k + 1] - weight)};
    const auto size = static_cast<std::ptrdiff_t>(problem.starts[k + 1] - row);
    result.log_likelihood[k] =
        workspace.solve(problem.scores + row, size, law, result.probability + row);
  }
}

std::vector<std::ptrdiff_t> cut_into_pieces(const CountProblem& problem) {
  std::vector<std::ptrdiff_t> cuts{0};
  for (std::ptrdiff_t k = 1; k <= problem.n_bags; ++k) {
    if (k == problem.n_bags || problem.starts[k] - problem.starts[cuts.back()] >= kPieceRows) {
      cuts.push_back(k);
    }
  }
  return cuts;
}

}  // namespace

void count_posterior(const CountProblem& problem, const CountResult& result, int n_threads) {
  const std::vector<std::ptrdiff_t> cuts = cut_into_pieces(problem);
  const auto n_pieces = static_cast<std::ptrdiff_t>(cuts.size()) - 1;
  const auto most = std::max<std::ptrdiff_t>(n_pieces, 1);
  const auto n_workers = std::clamp<std::ptrdiff_t>(n_threads, 1, most);
  std::atomic<std::ptrdiff_t> next{0};
  const auto work = [&] {
    CountWorkspace workspace;
    for (std::ptrdiff_t i = next++; i < n_pieces; i = next++) {
      solve_bags(problem, result, cuts[static_cast<std::size_t>(i)],
                 cuts[static_cast<std::size_t>(i) + 1], workspace);
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(n_workers - 1));
  for (std::ptrdiff_t i = 1; i < n_workers; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // the threads that there are do all the work
    }
  }
  work();
  for (std::thread& other : others) other.join();
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
