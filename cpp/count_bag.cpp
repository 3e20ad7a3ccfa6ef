// SPDX-License-Identifier: BSD-3-Clause
#include "count_bag.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bagshift {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTwoPi = 6.283185307179586;

// From this variance on the sum over nodes is cheaper than the recursion over counts; below, its
// nodes would come close to z = -1, where a row of chance 1/2 has a zero.
constexpr double kLeastNodeVariance = 24.0;

// Nodes where the characteristic function is below exp(-kNodeTail) are left out.
constexpr double kNodeTail = 36.0;

// A law of which the distribution of the sum meets less, because it has two far modes, is cut.
constexpr double kLeastOverlap = 1e-3;

// Without the impossible counts at its ends.
Law trimmed(Law law) {
  while (law.n > 0 && law.log_weights[law.n - 1] == -kInfinity) --law.n;
  while (law.n > 0 && law.log_weights[0] == -kInfinity) {
    ++law.log_weights;
    ++law.first;
    --law.n;
  }
  return law;
}

Law clipped(const Law& law, std::ptrdiff_t lowest, std::ptrdiff_t highest) {
  const std::ptrdiff_t first = std::max(law.first, lowest);
  const std::ptrdiff_t last = std::min(law.last(), highest);
  if (last < first) return {first, law.log_weights, 0};
  return {first, law.log_weights + (first - law.first), last - first + 1};
}

double log_of_sum(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace

double Law::lowest() const {
  double level = kInfinity;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    if (log_weights[i] > -kInfinity) level = std::min(level, log_weights[i]);
  }
  return level;
}

void CountWorkspace::reserve_rows(std::ptrdiff_t n) {
  const auto room = static_cast<std::size_t>(padded(n) + 2 * kLanes);
  if (order_memory_.size() < room) {
    row_memory_.assign(5 * room, 0.0);
    order_memory_.resize(room);
    order_ = order_memory_.data();
    double* memory = row_memory_.data();
    rows_ = {memory, memory + room, memory + 2 * room};
    sorted_ratio_ = memory + 3 * room;
    rest_ = memory + 4 * room;
  }
  if (window_memory_.empty()) {
    const std::size_t window_room = window_size(kLeastNodeVariance);
    window_memory_.assign(4 * window_room, 0.0);
    for (std::size_t i = 0; i < 4; ++i) window_[i] = window_memory_.data() + i * window_room;
  }
}

// --- a bag ----------------------------------------------------------------------------------

double CountWorkspace::solve(const double* scores, std::ptrdiff_t n, const Law& given,
                             double* probability) {
  reserve_rows(n);
  const Law law = trimmed(clipped(given, 0, n));
  if (law.n == 0) {
    tilt_rows(scores, n, 0.0, rows_);
    std::copy(rows_.success, rows_.success + n, probability);
    return -kInfinity;
  }
  if (law.n == 1 && (law.first == 0 || law.first == n)) {
    return law.log_weights[0] + solve_pure(scores, n, law.first > 0, probability);
  }
  find_tilt(scores, n, law);
  double total = join(n, law, probability);
  if (law.n > 1 && !(total > kLeastOverlap / std::sqrt(1.0 + sum_.variance))) {
    return merge_halves(scores, n, law, probability);
  }
  if (!(total > 0.0)) {  // scores so large that no tilt is fine enough
    total = 1.0;
    std::copy(rows_.success, rows_.success + n, probability);
  }
  const double scale = 1.0 / total;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    probability[j] = std::min(std::max(probability[j] * scale, 0.0), 1.0);
  }
  return std::min(log_factor_ + std::log(total), law.highest(0.0));
}

double CountWorkspace::solve_pure(const double* scores, std::ptrdiff_t n, bool positive,
                                  double* probability) {
  double hinge = 0.0;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    hinge += std::max(positive ? -scores[j] : scores[j], 0.0);
    probability[j] = positive ? 1.0 : 0.0;
  }
  if (n == 1) return -(hinge + std::log1p(std::exp(-std::fabs(scores[0]))));
  tilt_rows(scores, n, 0.0, rows_);
  return -(hinge + log_excess(rows_.ratio, padded(n)));
}

double CountWorkspace::merge_halves(const double* scores, std::ptrdiff_t n, const Law& law,
                                    double* probability) {
  auto middle = static_cast<std::ptrdiff_t>(std::floor(sum_.mean));
  if (middle < law.first || middle >= law.last()) middle = law.first + (law.n - 1) / 2;
  std::vector<double> other(static_cast<std::size_t>(n));
  const double lower = solve(scores, n, clipped(law, law.first, middle), probability);
  const double upper = solve(scores, n, clipped(law, middle + 1, law.last()), other.data());
  const double both = std::min(log_of_sum(lower, upper), law.highest(0.0));
  const double share = 1.0 / (1.0 + std::exp(lower - upper));
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    probability[j] += share * (other[static_cast<std::size_t>(j)] - probability[j]);
  }
  return both;
}

double CountWorkspace::join(std::ptrdiff_t n, const Law& law, double* joint) {
  return sum_.variance < kLeastNodeVariance ? join_by_recursion(n, law, joint)
                                            : join_by_nodes(n, law, joint);
}

// --- recursion over counts ------------------------------------------------------------------

// Rows of chance up to 1/2 are taken out of the distribution from below, the others from above:
// either way no digit is lost, because the distribution without the row rises up to the count.
void CountWorkspace::split_rows(std::ptrdiff_t n) {
  std::ptrdiff_t n_minor = 0, n_major = 0;
  std::ptrdiff_t* end = order_ + n;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const bool is_major = rows_.success[j] > rows_.failure[j];
    order_[n_minor] = j;
    end[-1 - n_major] = is_major ? j : end[-1 - n_major];
    n_major += is_major;
    n_minor += !is_major;
  }
  n_minor_ = n_minor;
  n_major_ = n_major;
  const auto gather = [this](std::ptrdiff_t first, std::ptrdiff_t size, double* ratio) {
    for (std::ptrdiff_t i = 0; i < size; ++i) ratio[i] = rows_.ratio[order_[first + i]];
    std::fill(ratio + size, ratio + padded(size), 0.0);
  };
  gather(0, n_minor, sorted_ratio_);
  gather(n_minor, n_major, sorted_ratio_ + padded(n_minor));
}

double CountWorkspace::join_by_recursion(std::ptrdiff_t n, const Law& law, double* joint) {
  split_rows(n);
  const Window window =
      sum_distribution(rows_, padded(n), n_major_ > 0 ? n : law.last(), window_[0], window_[1]);
  const Law kept = clipped(law, window.first, window.first + window.width - 1);
  if (kept.n == 0) return 0.0;
  const double total = law.n == 1 ? take_out_of_count(window, law.first, joint)
                                  : take_out_of_law(window, law, kept, joint);
  return total;
}

// Leave a row out and count one less: the part of P(count) with y_j = 1, or with y_j = 0 when the
// row is taken out from above.
double CountWorkspace::take_out_of_count(const Window& window, std::ptrdiff_t count,
                                         double* joint) {
  const std::ptrdiff_t below = count - window.first;
  const double total = window.values[below];
  const std::ptrdiff_t n_minor_padded = padded(n_minor_);
  take_out(window.values, below, sorted_ratio_, n_minor_padded, rest_);
  for (std::ptrdiff_t i = 0; i < n_minor_; ++i) joint[order_[i]] = sorted_ratio_[i] * rest_[i];
  if (n_major_ == 0) return total;
  const std::ptrdiff_t above = window.width - 1 - below;
  double* reversed = window_[2] + kLanes;
  std::reverse_copy(window.values + below + 1, window.values + window.width, reversed);
  const double* ratio = sorted_ratio_ + n_minor_padded;
  take_out(reversed, above, ratio, padded(n_major_), rest_);
  for (std::ptrdiff_t i = 0; i < n_major_; ++i) {
    joint[order_[n_minor_ + i]] = total - ratio[i] * rest_[i];
  }
  return total;
}

double CountWorkspace::take_out_of_law(const Window& window, const Law& law, const Law& kept,
                                       double* joint) {
  double* weights = window_[3];
  std::fill(weights, weights + window.width, 0.0);
  const double* from = weight_memory_.data() + (kept.first - law.first);
  std::copy(from, from + kept.n, weights + (kept.first - window.first));
  double total = 0.0;
  for (std::ptrdiff_t i = 0; i < window.width; ++i) total += weights[i] * window.values[i];
  const std::ptrdiff_t n_minor_padded = padded(n_minor_);
  take_out_weighted(window.values, weights, kept.last() - window.first + 1, sorted_ratio_,
                    n_minor_padded, rest_);
  for (std::ptrdiff_t i = 0; i < n_minor_; ++i) joint[order_[i]] = rest_[i];
  if (n_major_ == 0) return total;
  double* reversed = window_[2] + kLanes;
  std::reverse_copy(window.values, window.values + window.width, reversed);
  std::reverse(weights, weights + window.width);
  take_out_weighted(reversed, weights, window.first + window.width - kept.first,
                    sorted_ratio_ + n_minor_padded, padded(n_major_), rest_);
  for (std::ptrdiff_t i = 0; i < n_major_; ++i) joint[order_[n_minor_ + i]] = total - rest_[i];
  return total;
}

// --- sum over nodes -------------------------------------------------------------------------

double CountWorkspace::join_by_nodes(std::ptrdiff_t n, const Law& law, double* joint) {
  const double reach = half_width(sum_.variance);
  const Law kept = clipped(law, static_cast<std::ptrdiff_t>(std::max(sum_.mean - reach, 0.0)),
                           static_cast<std::ptrdiff_t>(sum_.mean + reach) + 1);
  if (kept.n == 0) return 0.0;
  place_nodes(kept.first, kept.last());
  characteristic_function(rows_, padded(n), nodes_);
  const double one = 1.0;
  const double* weights = law.n == 1 ? &one : weight_memory_.data() + (kept.first - law.first);
  const NodeTotal total = weigh_nodes(kept.first, weights, kept.n);
  node_posterior(rows_, padded(n), nodes_, total.base, rest_);
  std::copy(rest_, rest_ + n, joint);
  return total.value;
}

// As many nodes as it takes for the sum of P over counts one period apart to have one term.
void CountWorkspace::place_nodes(std::ptrdiff_t lowest, std::ptrdiff_t highest) {
  const double farthest = std::max(std::fabs(static_cast<double>(lowest) - sum_.mean),
                                   std::fabs(static_cast<double>(highest) - sum_.mean));
  period_ = static_cast<std::ptrdiff_t>(half_width(sum_.variance) + farthest) + 2;
  const double angle = kTwoPi / static_cast<double>(period_);
  const double end = std::acos(std::max(1.0 - kNodeTail / sum_.variance, -1.0));
  n_nodes_ = std::min(static_cast<std::ptrdiff_t>(end / angle), (period_ - 1) / 2);
  nodes_.n = padded(n_nodes_);
  reserve_nodes();
  for (std::ptrdiff_t k = 0; k < nodes_.n; ++k) {
    const double turn = k < n_nodes_ ? angle * static_cast<double>(k + 1) : 0.0;
    const double c = std::cos(turn), s = std::sin(turn), half = std::sin(0.5 * turn);
    nodes_.gap[k] = 4.0 * half * half;
    nodes_.cosine[0][k] = c;
    nodes_.sine[0][k] = s;
    for (std::ptrdiff_t power = 1; power < kGroup; ++power) {
      nodes_.cosine[power][k] = nodes_.cosine[power - 1][k] * c - nodes_.sine[power - 1][k] * s;
      nodes_.sine[power][k] = nodes_.cosine[power - 1][k] * s + nodes_.sine[power - 1][k] * c;
    }
  }
}

void CountWorkspace::reserve_nodes() {
  constexpr std::size_t kArrays = 2 * kGroup + 7;
  const auto n = static_cast<std::size_t>(nodes_.n);
  if (node_memory_.size() < kArrays * n) node_memory_.resize(kArrays * n);
  double* memory = node_memory_.data();
  const auto next = [&memory, n] {
    double* array = memory;
    memory += n;
    return array;
  };
  for (std::ptrdiff_t power = 0; power < kGroup; ++power) {
    nodes_.cosine[power] = next();
    nodes_.sine[power] = next();
  }
  for (double** array : {&nodes_.real, &nodes_.imaginary, &nodes_.gap, &nodes_.certain_weight,
                         &nodes_.mixed_weight, &sum_real_, &sum_imaginary_}) {
    *array = next();
  }
}

// Sum of P_theta(first + i) weights[i], and the weights with which the nodes enter the posterior.
CountWorkspace::NodeTotal CountWorkspace::weigh_nodes(std::ptrdiff_t first, const double* weights,
                                                      std::ptrdiff_t n) {
  fourier_sums(weights, n, nodes_, sum_real_, sum_imaginary_);
  double mass = 0.0;
  for (std::ptrdiff_t i = 0; i < n; ++i) mass += weights[i];
  const double share = 1.0 / static_cast<double>(period_);
  NodeTotal total{mass * share, mass * share};
  for (std::ptrdiff_t k = 0; k < nodes_.n; ++k) {
    nodes_.certain_weight[k] = nodes_.mixed_weight[k] = 0.0;
    if (k >= n_nodes_) continue;
    const double turn = kTwoPi * share * static_cast<double>((k + 1) * first % period_);
    const double c = std::cos(turn), s = -std::sin(turn);
    const double x = sum_real_[k] * c - sum_imaginary_[k] * s;
    const double y = sum_real_[k] * s + sum_imaginary_[k] * c;
    const double real = 2.0 * share * (nodes_.real[k] * x - nodes_.imaginary[k] * y);
    const double imaginary = 2.0 * share * (nodes_.real[k] * y + nodes_.imaginary[k] * x);
    nodes_.certain_weight[k] = real;
    nodes_.mixed_weight[k] = real * nodes_.cosine[0][k] - imaginary * nodes_.sine[0][k];
    total.value += real;
  }
  return total;
}

// --- all counts -----------------------------------------------------------------------------

std::ptrdiff_t CountWorkspace::log_probabilities(const double* scores, std::ptrdiff_t n,
                                                 std::ptrdiff_t count, double* out) {
  reserve_rows(n);
  const double certain = 0.0;
  find_tilt(scores, n, {count, &certain, 1});
  const double slope = theta_, log_factor = log_factor_;
  const double spread = std::sqrt(sum_.variance);
  const auto stop = std::clamp<std::ptrdiff_t>(
      static_cast<std::ptrdiff_t>(std::max(sum_.mean + 2.0 * spread, 0.0)), count, n - 1);
  const auto record = [&](std::ptrdiff_t c, double chance) {
    const double log_tilt = log_factor - slope * static_cast<double>(c - count);
    out[c - count] = std::min(log_tilt + std::log(chance), 0.0);
  };
  if (sum_.variance < kLeastNodeVariance) {
    const Window window = sum_distribution(rows_, padded(n), stop, window_[0], window_[1]);
    for (std::ptrdiff_t c = count; c <= stop; ++c) record(c, window.values[c - window.first]);
  } else {
    place_nodes(count, stop);
    characteristic_function(rows_, padded(n), nodes_);
    const double one = 1.0;
    for (std::ptrdiff_t c = count; c <= stop; ++c) record(c, weigh_nodes(c, &one, 1).value);
  }
  return stop - count + 1;
}

}  // namespace bagshift
