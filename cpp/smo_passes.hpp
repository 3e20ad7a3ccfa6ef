// SPDX-License-Identifier: BSD-3-Clause
//
// The two vectorised passes of one iteration of sequential minimal optimisation (SMO).
#pragma once

#include <cstddef>

namespace bagshift {

// Stands for "this unit cannot move that way". Finite, so that sums with it are, and far beyond
// any gradient.
constexpr double kBlocked = 1e30;

// Curvatures below this (two equal units) count as this, so that the step is long but finite.
constexpr double kLeastCurvature = 1e-12;

// The arrays that the passes read, source units first; `gradient` is also written.
struct Units {
  double* gradient;
  const double* up_offset;    // added to the gradient: slope of a move up; kBlocked at the bound
  const double* down_offset;  // the same for a move down; -kBlocked at the bound
  const double* diagonal;
  std::ptrdiff_t n_source;
  std::ptrdiff_t n_units;
  double source_shift;        // added to all slopes of source units
};

// A number that differs between the units of the two domains.
struct PerDomain {
  double source;
  double target;
};

// The step taken last: gradient += up_weight * up_row - down_weight * down_row.
template <class Real>
struct GradientStep {
  const Real* up_row;
  const Real* down_row;
  PerDomain up_weight;
  PerDomain down_weight;
};

struct Extremes {
  double lowest_up;           // smallest slope of a move up
  std::ptrdiff_t lowest_unit;
  double highest_down;        // largest slope of a move down
};

// What makes a partner for the chosen unit: its Gram row and the slope and curvature it brings.
template <class Real>
struct PartnerQuery {
  const Real* row;
  double level;             // slope of the chosen unit
  double least_slope;       // of a partner's move, relative to the level
  PerDomain curvature;      // added to the diagonal
  PerDomain row_weight;     // curvature falls by row_weight * row[j]
};

Extremes step_and_scan(const Units& units, const GradientStep<double>& step);
Extremes step_and_scan(const Units& units, const GradientStep<float>& step);

// The unit whose move down, together with the chosen one's up, decreases the objective most when
// no bound is met; -1 when none does.
std::ptrdiff_t best_partner(const Units& units, const PartnerQuery<double>& query);
std::ptrdiff_t best_partner(const Units& units, const PartnerQuery<float>& query);

}  // namespace bagshift
