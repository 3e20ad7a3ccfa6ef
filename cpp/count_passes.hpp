// SPDX-License-Identifier: BSD-3-Clause
//
// The vectorised passes over the rows of one bag from which the count likelihood is put together.
//
// A row is a Bernoulli variable with chance s = sigma(score + theta), failure q = 1 - s and
// ratio e = min(s, q) / max(s, q) = exp(-|score + theta|). Arrays of rows are padded to a multiple
// of kLanes with rows that never succeed, so that every pass runs in full lanes and adds up in an
// order that does not depend on the machine.
#pragma once

#include <cstddef>

#include "multiversion.hpp"

namespace bagshift {

constexpr std::ptrdiff_t kLanes = 8;
constexpr std::ptrdiff_t kGroup = 4;  // rows that enter the recursion together

constexpr std::ptrdiff_t padded(std::ptrdiff_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// The sum of one number for each lane, in an order that is the same everywhere.
BAGSHIFT_INLINE double sum_lanes(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Beyond this |score + theta| a row is certain: exp(-700) only makes denormal numbers.
constexpr double kCertain = 700.0;

struct Rows {
  double* success;
  double* failure;
  double* ratio;
};

struct Moments {
  double mean;
  double variance;
};

// Fill the padded rows of a bag at tilt theta; the moments of their sum.
Moments tilt_rows(const double* scores, std::ptrdiff_t n, double theta, const Rows& rows);

// sum log(1 + e) over padded rows; accurate relative to itself, however small.
double log_excess(const double* ratio, std::ptrdiff_t n_padded);

// sum max(score + theta - origin, 0) - max(score, 0).
double hinge_difference(const double* scores, std::ptrdiff_t n, double theta);

struct Range {
  double least;
  double most;
};
Range score_range(const double* scores, std::ptrdiff_t n);

// weights[i] = exp(log_weights[i] - theta * i - level) for i < n.
void tilt_weights(const double* log_weights, std::ptrdiff_t n, double theta, double level,
                  double* weights);

// Largest half-width t with Bernstein's bound exp(-t^2 / (2 (variance + t / 3))) above exp(-tail).
double half_width(double variance);

// A piece of a distribution over counts: P(first + i) = values[i] for i < width. At least
// kLanes zeros stand before values[0], and 2 kLanes after values[width - 1].
struct Window {
  const double* values;
  std::ptrdiff_t first;
  std::ptrdiff_t width;
};

// Distribution of the sum of the rows, on its mean +- half_width and up to `highest`. Each of the
// two buffers must hold `window_size(variance)` numbers.
Window sum_distribution(const Rows& rows, std::ptrdiff_t n_padded, std::ptrdiff_t highest,
                        double* buffer, double* other);
std::size_t window_size(double variance);

// Take each of n rows (padded with ratio 0) out of a distribution with values p[0..n_counts):
// rest[j] = p[n_counts-1] - e_j (p[n_counts-2] - e_j (...)). At least 3 zeros before p[0].
void take_out(const double* p, std::ptrdiff_t n_counts, const double* ratio,
              std::ptrdiff_t n_padded, double* rest);

// The same for weights over counts: joint[j] = sum_i weights[i] e_j rest_j[i-1].
void take_out_weighted(const double* p, const double* weights, std::ptrdiff_t n_counts,
                       const double* ratio, std::ptrdiff_t n_padded, double* joint);

// Nodes z = exp(iu) on the unit circle, padded to a multiple of kLanes with z = 1: powers 1 to
// kGroup of z, the characteristic function of the sum there, and the weights with which a node
// enters the posterior.
struct Nodes {
  std::ptrdiff_t n;         // padded
  double* cosine[kGroup];
  double* sine[kGroup];
  double* real;
  double* imaginary;
  double* gap;              // 2 (1 - cos u)
  double* certain_weight;   // of s^2
  double* mixed_weight;     // of s q
};

void characteristic_function(const Rows& rows, std::ptrdiff_t n_padded, const Nodes& nodes);

// Fourier sums of n weights: real + i imaginary = sum_i weights[i] conj(z)^i for every node.
void fourier_sums(const double* weights, std::ptrdiff_t n, const Nodes& nodes, double* real,
                  double* imaginary);

// joint[j] = base s_j + sum over nodes of (certain s^2 + mixed s q) / (1 - gap s q).
void node_posterior(const Rows& rows, std::ptrdiff_t n_padded, const Nodes& nodes, double base,
                    double* joint);

}  // namespace bagshift
