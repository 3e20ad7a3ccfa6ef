// SPDX-License-Identifier: BSD-3-Clause
//
// Without fused multiply-adds, as all of the core, so that every instruction set of a platform
// gives the same bits.
#include "state_passes.hpp"

#include "lanes.hpp"

namespace bagshift {
namespace {

// A variable this close to a bound, in widths of its box, stands at it.
constexpr double kAtBound = 1e-12;

template <class T>
struct CompensatedSum {
  T sum{};
  T lost{};

  BAGSHIFT_INLINE void add(const T& value) {
    const T next = sum + value;
    const T added = next - sum;
    lost += (sum - (next - added)) + (value - added);
    sum = next;
  }
};

BAGSHIFT_INLINE double sum_of(const Lanes& lanes) {
  double sum = 0.0;
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) sum += lane_of(lanes, lane);
  return sum;
}

struct AddExactly {
  const double* values;

  template <class T>
  BAGSHIFT_INLINE void operator()(CompensatedSum<T>& sum, std::ptrdiff_t k) const {
    T value;
    load(values + k, value);
    sum.add(value);
  }
};

struct FindSize {
  const double* values;

  template <class T>
  BAGSHIFT_INLINE void operator()(T& largest, std::ptrdiff_t k) const {
    T value;
    load(values + k, value);
    const T size = value < 0.0 ? -value : value;
    largest = size > largest ? size : largest;
  }
};

struct CountFree {
  const double* up_offset;
  const double* down_offset;

  template <class T>
  BAGSHIFT_INLINE void operator()(T& count, std::ptrdiff_t k) const {
    T up, down;
    load(up_offset + k, up);
    load(down_offset + k, down);
    count += up == down ? T{} + 1.0 : T{};
  }
};

template <class Real>
struct AddRows {
  const Real* const* rows;
  double weights[4];
  double* values;

  template <class T>
  BAGSHIFT_INLINE void operator()(T&, std::ptrdiff_t k) const {
    T value, row0, row1, row2, row3;
    load(values + k, value);
    load(rows[0] + k, row0);
    load(rows[1] + k, row1);
    load(rows[2] + k, row2);
    load(rows[3] + k, row3);
    value += (weights[0] * row0 + weights[1] * row1) + (weights[2] * row2 + weights[3] * row3);
    store(value, values + k);
  }
};

template <class Real>
BAGSHIFT_INLINE void add_rows_impl(const RowBlock<Real>& given, std::ptrdiff_t n_source,
                                   std::ptrdiff_t n_units, double* values) {
  const RowBlock<Real> block = given;
  const auto& w = block.weights;
  const AddRows<Real> on_source{
      block.rows, {w[0].source, w[1].source, w[2].source, w[3].source}, values};
  const AddRows<Real> on_target{
      block.rows, {w[0].target, w[1].target, w[2].target, w[3].target}, values};
  Lanes nothing{};
  double nothing_more = 0.0;
  visit_all(0, n_source, nothing, nothing_more, on_source);
  visit_all(n_source, n_units, nothing, nothing_more, on_target);
}

template <class T>
struct LimitSums {
  T low = T{} - kBlocked;
  T high = T{} + kBlocked;
  T free_sum{};
  T n_free{};
};

struct FindLimits {
  const Point& point;
  double shift;

  template <class T>
  BAGSHIFT_INLINE void operator()(LimitSums<T>& limits, std::ptrdiff_t k) const {
    T z, slope, up, down, lower, upper;
    load(point.dual + k, z);
    load(point.gradient + k, slope);
    load(point.up_offset + k, up);
    load(point.down_offset + k, down);
    load(point.lower + k, lower);
    load(point.upper + k, upper);
    slope += shift;
    // The last bits off a bound are rounding, and must not pin an intercept that is not unique.
    const T margin = kAtBound * (upper - lower);
    const auto can_rise = upper - z > margin;
    const auto can_fall = z - lower > margin;
    const auto is_free = can_rise & can_fall & (up == down);
    const T least = -(slope + up);
    const T most = -(slope + down);
    const T low = can_rise ? least : T{} - kBlocked;
    const T high = can_fall ? most : T{} + kBlocked;
    limits.low = low > limits.low ? low : limits.low;
    limits.high = high < limits.high ? high : limits.high;
    limits.free_sum += is_free ? least : T{};
    limits.n_free += is_free ? T{} + 1.0 : T{};
  }
};

template <class T>
struct PointSums {
  T quadratic{};
  T linear{};
  T loss{};
  T gap{};
};

struct AddPoint {
  const Point& point;
  double shift;               // of the intercept too

  template <class T>
  BAGSHIFT_INLINE void operator()(PointSums<T>& sums, std::ptrdiff_t k) const {
    T z, gradient, target, tube, lower, upper;
    load(point.dual + k, z);
    load(point.gradient + k, gradient);
    load(point.targets + k, target);
    load(point.half_widths + k, tube);
    load(point.lower + k, lower);
    load(point.upper + k, upper);
    const T residual = -(gradient + shift);
    const T above = upper * (residual - tube);
    const T below = lower * (residual + tube);
    T loss = above > below ? above : below;
    loss = loss > 0.0 ? loss : T{};
    const T width = tube * (z < 0.0 ? -z : z);
    sums.quadratic += z * (gradient + target);
    sums.linear += width - target * z;
    sums.loss += loss;
    sums.gap += (loss - z * residual) + width;
  }
};

}  // namespace

BAGSHIFT_MULTIVERSION
double exact_sum(const double* values, std::ptrdiff_t n) {
  CompensatedSum<Lanes> lanes;
  CompensatedSum<double> rest;
  visit_all(0, n, lanes, rest, AddExactly{values});
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) rest.add(lane_of(lanes.sum, lane));
  return rest.sum + (rest.lost + sum_of(lanes.lost));
}

BAGSHIFT_MULTIVERSION
double largest_size(const double* values, std::ptrdiff_t n) {
  Lanes lanes{};
  double rest = 0.0;
  visit_all(0, n, lanes, rest, FindSize{values});
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) {
    rest = lane_of(lanes, lane) > rest ? lane_of(lanes, lane) : rest;
  }
  return rest;
}

BAGSHIFT_MULTIVERSION
std::ptrdiff_t count_free(const double* up_offset, const double* down_offset, std::ptrdiff_t n) {
  Lanes lanes{};
  double rest = 0.0;
  visit_all(0, n, lanes, rest, CountFree{up_offset, down_offset});
  return static_cast<std::ptrdiff_t>(rest + sum_of(lanes));
}

BAGSHIFT_MULTIVERSION
void add_rows(const RowBlock<double>& block, std::ptrdiff_t n_source, std::ptrdiff_t n_units,
              double* values) {
  add_rows_impl(block, n_source, n_units, values);
}

BAGSHIFT_MULTIVERSION
void add_rows(const RowBlock<float>& block, std::ptrdiff_t n_source, std::ptrdiff_t n_units,
              double* values) {
  add_rows_impl(block, n_source, n_units, values);
}

BAGSHIFT_MULTIVERSION
Limits intercept_limits(const Point& point) {
  LimitSums<Lanes> lanes;
  LimitSums<double> rest;
  visit_all(0, point.n_source, lanes, rest, FindLimits{point, point.source_shift});
  visit_all(point.n_source, point.n_units, lanes, rest, FindLimits{point, 0.0});
  Limits limits{rest.low, rest.high, rest.free_sum + sum_of(lanes.free_sum),
                static_cast<std::ptrdiff_t>(rest.n_free + sum_of(lanes.n_free))};
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) {
    const double low = lane_of(lanes.low, lane);
    const double high = lane_of(lanes.high, lane);
    limits.low = low > limits.low ? low : limits.low;
    limits.high = high < limits.high ? high : limits.high;
  }
  return limits;
}

BAGSHIFT_MULTIVERSION
Sums objective_sums(const Point& point, double intercept) {
  PointSums<Lanes> lanes;
  PointSums<double> rest;
  visit_all(0, point.n_source, lanes, rest, AddPoint{point, intercept + point.source_shift});
  visit_all(point.n_source, point.n_units, lanes, rest, AddPoint{point, intercept});
  return {rest.quadratic + sum_of(lanes.quadratic), rest.linear + sum_of(lanes.linear),
          rest.loss + sum_of(lanes.loss), rest.gap + sum_of(lanes.gap)};
}

}  // namespace bagshift
