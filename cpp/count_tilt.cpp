// SPDX-License-Identifier: BSD-3-Clause
//
// The tilt theta of a bag: the root of an increasing function, mean of the tilted sum minus mean
// of the tilted law, where the two best meet.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "count_bag.hpp"

namespace bagshift {
namespace {

// A tilt serves when its mean is this close to the count, in squared standard deviations: the
// digits lost are log10 of peak over value, less than one. A law needs its bulk inside the band.
constexpr double kCountSlack = 4.0;
constexpr double kLawSlack = 0.01;

constexpr int kMostTiltSteps = 300;

// Beyond these scores theta alone would lose digits of score + theta.
constexpr double kShiftBeyond = 1e3;

// Rows so far on either side of the tilt are certain, however many.
constexpr double kSafeGap = 60.0;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double log_odds(double part, double whole) { return std::log(part / (whole - part)); }

}  // namespace

double Law::highest(double theta) const {
  double level = -kInfinity;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    level = std::max(level, log_weights[i] - theta * static_cast<double>(i));
  }
  return level;
}

void CountWorkspace::find_tilt(const double* scores, std::ptrdiff_t n, const Law& law) {
  theta_ = 0.0;
  log_factor_ = 0.0;
  sum_ = tilt_rows(scores, n, 0.0, rows_);
  if (!tilt_fits(law)) {
    const double untilted = log_excess(rows_.ratio, padded(n));
    move_tilt(scores, n, law);
    log_factor_ = (hinge_difference(scores, n, theta_) - theta_ * static_cast<double>(law.first)) +
                  (log_excess(rows_.ratio, padded(n)) - untilted);
  }
  log_factor_ += level_;
}

// Moments of the law under the present tilt, and whether the mean of the sum is close enough.
bool CountWorkspace::tilt_fits(const Law& law) {
  if (law.n == 1) {
    level_ = law.log_weights[0];
    target_ = {static_cast<double>(law.first), 0.0};
    const double distance = target_.mean - sum_.mean;
    return distance * distance <= kCountSlack * sum_.variance;
  }
  if (weight_memory_.size() < static_cast<std::size_t>(law.n)) {
    weight_memory_.resize(static_cast<std::size_t>(law.n));
  }
  double* weights = weight_memory_.data();
  level_ = law.highest(theta_);
  tilt_weights(law.log_weights, law.n, theta_, level_, weights);
  double mass = 0.0, mean = 0.0, variance = 0.0;
  for (std::ptrdiff_t i = 0; i < law.n; ++i) {
    mass += weights[i];
    mean += weights[i] * static_cast<double>(i);
  }
  mean /= mass;
  for (std::ptrdiff_t i = 0; i < law.n; ++i) {
    const double distance = static_cast<double>(i) - mean;
    variance += weights[i] * (distance * distance);
  }
  target_ = {static_cast<double>(law.first) + mean, variance / mass};
  const double distance = target_.mean - sum_.mean;
  return distance * distance <= kLawSlack * (sum_.variance + target_.variance);
}

// Newton steps inside a bracket; for a count in the log-odds of the mean, where few are needed.
void CountWorkspace::move_tilt(const double* scores, std::ptrdiff_t n, const Law& law) {
  const Range range = score_range(scores, n);
  const double size = std::max(std::fabs(range.least), std::fabs(range.most));
  double origin = 0.0;
  if (size > kShiftBeyond) {
    origin = shift_scores(scores, n, law);
    scores = shifted_.data();
  }
  const double whole = static_cast<double>(n);
  const double odds = log_odds(target_.mean, whole);
  double low = -(4.0 * size + 50.0), high = -low;
  if (law.n == 1) {
    low = odds - (range.most - origin) - 1.0;
    high = odds - (range.least - origin) + 1.0;
  } else {
    const double steepest = 2.0 * std::fabs(law.highest(0.0) - law.lowest());
    low -= steepest;
    high += steepest;
  }
  double longest = kSafeGap;
  bool is_fresh = origin != 0.0;
  double tilt = 0.0;
  for (int step = 0; step < kMostTiltSteps; ++step) {
    if (is_fresh) {
      theta_ = tilt - origin;
      sum_ = tilt_rows(scores, n, tilt, rows_);
      if (tilt_fits(law)) return;
    }
    is_fresh = true;
    const double distance = target_.mean - sum_.mean;
    (distance > 0.0 ? low : high) = tilt;
    double move = distance / (sum_.variance + target_.variance);
    if (law.n == 1) {
      const double slope = whole * sum_.variance / (sum_.mean * (whole - sum_.mean));
      move = (odds - log_odds(sum_.mean, whole)) / slope;
    }
    if (!(std::fabs(move) <= longest)) {  // also where a flat stretch makes it NaN
      move = std::copysign(longest, distance);
      longest *= 2.0;
    }
    const double next = tilt + move;
    const double kept = next > low && next < high ? next : low + 0.5 * (high - low);
    if (kept == tilt) return;
    tilt = kept;
  }
}

// Move the scores so that the tilt is near 0: into the gap between the rows that would be cut
// apart if every label were certain, and there as close to 0 as is safe. Returns what was
// subtracted.
double CountWorkspace::shift_scores(const double* scores, std::ptrdiff_t n, const Law& law) {
  shifted_.assign(scores, scores + n);
  std::sort(shifted_.begin(), shifted_.end(), std::greater<double>());
  // Log-probability, but for rounding, of the likeliest labels with so many positives.
  double level = 0.0;
  for (const double score : shifted_) level -= std::max(score, 0.0);
  double best_level = -kInfinity;
  std::ptrdiff_t best = law.first;
  for (std::ptrdiff_t count = 0; count <= law.last(); ++count) {
    if (count > 0) level += shifted_[static_cast<std::size_t>(count - 1)];
    if (count < law.first || level + law.log_weights[count - law.first] <= best_level) continue;
    best_level = level + law.log_weights[count - law.first];
    best = count;
  }
  const double inner = best > 0 ? shifted_[static_cast<std::size_t>(best - 1)] : kInfinity;
  const double outer = best < n ? shifted_[static_cast<std::size_t>(best)] : -kInfinity;
  const double low = outer + kSafeGap, high = inner - kSafeGap;
  const double middle = inner == outer ? inner : 0.5 * inner + 0.5 * outer;
  const double origin = low < high ? std::clamp(0.0, low, high) : middle;
  for (std::ptrdiff_t j = 0; j < n; ++j) shifted_[static_cast<std::size_t>(j)] = scores[j] - origin;
  return origin;
}

}  // namespace bagshift
