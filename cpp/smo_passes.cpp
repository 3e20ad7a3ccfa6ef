// SPDX-License-Identifier: BSD-3-Clause
//
// Without fused multiply-adds, as all of the core, so that every instruction set of a platform
// gives the same bits. Which of two equal units is chosen depends on their lanes.
#include "smo_passes.hpp"

#include "lanes.hpp"

namespace bagshift {
namespace {

// Entries of a row that is read for the first time, fetched so far before they are needed: what
// processors fetch by themselves ends with a page.
constexpr std::ptrdiff_t kAhead = 256;

template <class T>
struct Scan {
  Largest<T> lowest{-kBlocked};   // its negative
  T highest = T{} - kBlocked;
};

template <class Real>
struct StepAndScan {
  const Units& units;
  const Real* up_row;
  const Real* down_row;
  double up_weight;
  double down_weight;

  template <class T>
  BAGSHIFT_INLINE void operator()(Scan<T>& scan, std::ptrdiff_t k) const {
    T value, up, down;
    load(units.gradient + k, value);
    load(up_row + k, up);
    load(down_row + k, down);
    BAGSHIFT_PREFETCH(down_row + k + kAhead);
    value += up_weight * up - down_weight * down;
    store(value, units.gradient + k);
    load(units.up_offset + k, up);
    load(units.down_offset + k, down);
    up = -(up + value);
    down += value;
    scan.lowest.add(up, typename NumbersBeside<T>::Type{} + k);
    scan.highest = down > scan.highest ? down : scan.highest;
  }
};

template <class Real>
BAGSHIFT_INLINE Extremes step_and_scan_impl(const Units& given, const GradientStep<Real>& step) {
  // A copy, which nothing that is written can be part of.
  const Units units = given;
  const std::ptrdiff_t n = units.n_source;
  Scan<Lanes> lanes;
  Scan<double> rest;
  if (n > 0) {
    visit_all(0, n, lanes, rest,
              StepAndScan<Real>{units, step.up_row, step.down_row, step.up_weight.source,
                                step.down_weight.source});
    lanes.lowest.value -= units.source_shift;
    lanes.highest += units.source_shift;
    rest.lowest.value -= units.source_shift;
    rest.highest += units.source_shift;
  }
  visit_all(n, units.n_units, lanes, rest,
            StepAndScan<Real>{units, step.up_row, step.down_row, step.up_weight.target,
                              step.down_weight.target});
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) {
    rest.lowest.add(lane_of(lanes.lowest.value, lane), lane_of(lanes.lowest.where, lane) + lane);
    const double highest = lane_of(lanes.highest, lane);
    rest.highest = highest > rest.highest ? highest : rest.highest;
  }
  return {-rest.lowest.value, static_cast<std::ptrdiff_t>(rest.lowest.where), rest.highest};
}

template <class Real>
struct Search {
  const Units& units;
  const Real* row;
  double level;
  double least_slope;
  double curvature;
  double row_weight;

  template <class T>
  BAGSHIFT_INLINE void operator()(Largest<T>& best, std::ptrdiff_t k) const {
    T slope, offset, bend, entry;
    load(units.gradient + k, slope);
    load(units.down_offset + k, offset);
    load(units.diagonal + k, bend);
    load(row + k, entry);
    BAGSHIFT_PREFETCH(row + k + kAhead);
    slope += offset - level;
    slope = slope > least_slope ? slope : T{};
    bend += curvature - row_weight * entry;
    bend = bend > kLeastCurvature ? bend : T{} + kLeastCurvature;
    best.add(slope * slope / bend, typename NumbersBeside<T>::Type{} + k);
  }
};

template <class Real>
BAGSHIFT_INLINE std::ptrdiff_t best_partner_impl(const Units& given,
                                                 const PartnerQuery<Real>& query) {
  const Units units = given;
  const std::ptrdiff_t n = units.n_source;
  Largest<Lanes> lanes(0.0);
  Largest<double> rest(0.0);
  if (n > 0) {
    visit_all(0, n, lanes, rest,
              Search<Real>{units, query.row, query.level - units.source_shift, query.least_slope,
                           query.curvature.source, query.row_weight.source});
  }
  visit_all(n, units.n_units, lanes, rest,
            Search<Real>{units, query.row, query.level, query.least_slope,
                         query.curvature.target, query.row_weight.target});
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) {
    rest.add(lane_of(lanes.value, lane), lane_of(lanes.where, lane) + lane);
  }
  return rest.value > 0.0 ? static_cast<std::ptrdiff_t>(rest.where) : -1;
}

}  // namespace

BAGSHIFT_MULTIVERSION
Extremes step_and_scan(const Units& units, const GradientStep<double>& step) {
  return step_and_scan_impl(units, step);
}

BAGSHIFT_MULTIVERSION
Extremes step_and_scan(const Units& units, const GradientStep<float>& step) {
  return step_and_scan_impl(units, step);
}

BAGSHIFT_MULTIVERSION
std::ptrdiff_t best_partner(const Units& units, const PartnerQuery<double>& query) {
  return best_partner_impl(units, query);
}

BAGSHIFT_MULTIVERSION
std::ptrdiff_t best_partner(const Units& units, const PartnerQuery<float>& query) {
  return best_partner_impl(units, query);
}

}  // namespace bagshift
