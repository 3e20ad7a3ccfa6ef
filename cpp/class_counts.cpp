// SPDX-License-Identifier: BSD-3-Clause
#include "class_counts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bagshift {

namespace {

// A class of a bag that the states count: a step to the next number of it is `stride` places.
struct Counted {
  std::ptrdiff_t place;
  std::size_t count;
  std::size_t stride;
};

// All classes but the most frequent one, whose number follows from the others and the rows so far.
struct Lattice {
  std::vector<Counted> counted;
  std::ptrdiff_t rest;
  std::size_t n_states;
};

Lattice lattice_of(const std::int64_t* counts, std::ptrdiff_t n_classes) {
  Lattice lattice{{}, std::max_element(counts, counts + n_classes) - counts, 1};
  for (std::ptrdiff_t c = 0; c < n_classes; ++c) {
    if (c == lattice.rest || counts[c] == 0) continue;
    const auto count = static_cast<std::size_t>(counts[c]);
    lattice.counted.push_back({c, count, lattice.n_states});
    lattice.n_states *= count + 1;
  }
  return lattice;
}

// Calls work(first, length) for the runs of states from which one more of a class may be counted.
template <class Work>
void for_runs(const Lattice& lattice, const Counted& of, Work work) {
  const std::size_t block = of.stride * (of.count + 1), length = of.stride * of.count;
  for (std::size_t first = 0; first < lattice.n_states; first += block) work(first, length);
}

// Divides by the largest entry, so that products of many rows neither vanish nor overflow.
double rescale(double* values, std::size_t n) {
  const double largest = *std::max_element(values, values + n);
  if (!(largest > 0)) return -std::numeric_limits<double>::infinity();
  const double factor = 1.0 / largest;
  for (std::size_t a = 0; a < n; ++a) values[a] *= factor;
  return std::log(largest);
}

// Probabilities of the states after one more row.
void step_forward(const Lattice& lattice, const double* chance, const double* before,
                  double* after) {
  const double of_rest = chance[lattice.rest];
  for (std::size_t a = 0; a < lattice.n_states; ++a) after[a] = of_rest * before[a];
  for (const Counted& of : lattice.counted) {
    const double p = chance[of.place];
    for_runs(lattice, of, [&](std::size_t first, std::size_t length) {
      const double* from = before + first;
      double* to = after + first + of.stride;
      for (std::size_t a = 0; a < length; ++a) to[a] += p * from[a];
    });
  }
}

// Probabilities of the end from the states before the last row taken.
void step_backward(const Lattice& lattice, const double* chance, const double* after,
                   double* before) {
  const double of_rest = chance[lattice.rest];
  for (std::size_t a = 0; a < lattice.n_states; ++a) before[a] = of_rest * after[a];
  for (const Counted& of : lattice.counted) {
    const double p = chance[of.place];
    for_runs(lattice, of, [&](std::size_t first, std::size_t length) {
      const double* from = after + first + of.stride;
      double* to = before + first;
      for (std::size_t a = 0; a < length; ++a) to[a] += p * from[a];
    });
  }
}

// The classes of a row, from the states before it and the ends after it.
void posterior_of_row(const Lattice& lattice, const double* chance, std::ptrdiff_t n_classes,
                      const double* before, const double* after, double* posterior) {
  std::fill(posterior, posterior + n_classes, 0.0);
  double total = 0.0;
  for (std::size_t a = 0; a < lattice.n_states; ++a) total += before[a] * after[a];
  posterior[lattice.rest] = total * chance[lattice.rest];
  double sum = posterior[lattice.rest];
  for (const Counted& of : lattice.counted) {
    total = 0.0;
    for_runs(lattice, of, [&](std::size_t first, std::size_t length) {
      const double *from = before + first, *to = after + first + of.stride;
      for (std::size_t a = 0; a < length; ++a) total += from[a] * to[a];
    });
    posterior[of.place] = total * chance[of.place];
    sum += posterior[of.place];
  }
  for (std::ptrdiff_t c = 0; c < n_classes; ++c) posterior[c] /= sum;
}

double posterior_of_bag(const Lattice& lattice, const double* chances, std::size_t n_rows,
                        std::ptrdiff_t n_classes, std::vector<double>& memory,
                        double* posterior) {
  const std::size_t n = lattice.n_states;
  memory.assign((n_rows + 3) * n, 0.0);
  double* forward = memory.data();
  forward[0] = 1.0;
  double log_scale = 0.0;
  for (std::size_t j = 0; j < n_rows; ++j) {
    step_forward(lattice, chances + j * n_classes, forward + j * n, forward + (j + 1) * n);
    log_scale += rescale(forward + (j + 1) * n, n);
  }
  const double log_probability = log_scale + std::log(forward[n_rows * n + n - 1]);
  double *after = forward + (n_rows + 1) * n, *before = after + n;
  after[n - 1] = 1.0;
  for (std::size_t j = n_rows; j-- > 0;) {
    const double* chance = chances + j * n_classes;
    posterior_of_row(lattice, chance, n_classes, forward + j * n, after, posterior + j * n_classes);
    step_backward(lattice, chance, after, before);
    rescale(before, n);
    std::swap(after, before);
  }
  return log_probability;
}

}  // namespace

void class_count_posterior(const ClassCountProblem& problem, const ClassCountPosterior& found) {
  std::vector<double> memory;
  for (std::ptrdiff_t k = 0; k < problem.n_bags; ++k) {
    const auto lattice = lattice_of(problem.counts + k * problem.n_classes, problem.n_classes);
    const std::ptrdiff_t first = problem.starts[k] * problem.n_classes;
    const auto n_rows = static_cast<std::size_t>(problem.starts[k + 1] - problem.starts[k]);
    found.log_probability[k] =
        posterior_of_bag(lattice, problem.chances + first, n_rows, problem.n_classes, memory,
                         found.posterior + first);
  }
}

}  // namespace bagshift
