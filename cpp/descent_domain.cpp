// SPDX-License-Identifier: BSD-3-Clause
#include "descent_domain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanes.hpp"

namespace bagshift {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Units leave the passes when they are on their side by so many times the largest violation, and
// by so many times what the level has moved.
constexpr double kFar = 0.1, kFarOfDrift = 2.0;

constexpr int kBisections = 20;
constexpr double kBalanced = 1e-9;   // of the summed widths of boxes

// Units are fetched so far before their turn.
constexpr std::size_t kAhead = 16;

// --- rows -----------------------------------------------------------------------------------

template <class Real>
BAGSHIFT_INLINE double inner(const DenseRows<Real>& rows, std::ptrdiff_t n, std::ptrdiff_t i,
                             const double* w) {
  const Real* x = rows.values + i * rows.stride;
  Lanes first{}, second{}, a, b;
  std::ptrdiff_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    load(x + j, a);
    load(w + j, b);
    first += a * b;
    load(x + j + kLanes, a);
    load(w + j + kLanes, b);
    second += a * b;
  }
  first += second;
  double total = 0.0;
  for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) total += lane_of(first, lane);
  for (; j < n; ++j) total += static_cast<double>(x[j]) * w[j];
  return total;
}

template <class Real>
BAGSHIFT_INLINE void add(const DenseRows<Real>& rows, std::ptrdiff_t n, std::ptrdiff_t i,
                         double factor, double* w) {
  const Real* x = rows.values + i * rows.stride;
  for (std::ptrdiff_t j = 0; j < n; ++j) w[j] += factor * static_cast<double>(x[j]);
}

template <class Real, class Index>
BAGSHIFT_INLINE double inner(const SparseRows<Real, Index>& rows, std::ptrdiff_t, std::ptrdiff_t i,
                             const double* w) {
  const Real* x = rows.values;
  const Index* c = rows.columns;
  const auto end = static_cast<std::ptrdiff_t>(rows.starts[i + 1]);
  auto k = static_cast<std::ptrdiff_t>(rows.starts[i]);
  // Four sums do not wait for each other.
  double t0 = 0.0, t1 = 0.0, t2 = 0.0, t3 = 0.0;
  for (; k + 4 <= end; k += 4) {
    t0 += static_cast<double>(x[k]) * w[c[k]];
    t1 += static_cast<double>(x[k + 1]) * w[c[k + 1]];
    t2 += static_cast<double>(x[k + 2]) * w[c[k + 2]];
    t3 += static_cast<double>(x[k + 3]) * w[c[k + 3]];
  }
  for (; k < end; ++k) t0 += static_cast<double>(x[k]) * w[c[k]];
  return (t0 + t1) + (t2 + t3);
}

template <class Real, class Index>
BAGSHIFT_INLINE void add(const SparseRows<Real, Index>& rows, std::ptrdiff_t, std::ptrdiff_t i,
                         double factor, double* w) {
  const auto end = static_cast<std::ptrdiff_t>(rows.starts[i + 1]);
  for (auto k = static_cast<std::ptrdiff_t>(rows.starts[i]); k < end; ++k) {
    w[rows.columns[k]] += factor * static_cast<double>(rows.values[k]);
  }
}

template <class Real>
bool is_sound(const DenseRows<Real>&, std::ptrdiff_t, std::ptrdiff_t) {
  return true;
}

template <class Real, class Index>
bool is_sound(const SparseRows<Real, Index>& rows, std::ptrdiff_t n_rows, std::ptrdiff_t n) {
  if (rows.starts[0] < 0 || rows.starts[n_rows] > rows.n_values) return false;
  for (std::ptrdiff_t i = 0; i < n_rows; ++i) {
    if (rows.starts[i] > rows.starts[i + 1]) return false;
  }
  for (auto k = rows.starts[0]; k < rows.starts[n_rows]; ++k) {
    if (rows.columns[k] < 0 || rows.columns[k] >= n) return false;
  }
  return true;
}

template <class Real>
double centred_length(const DenseRows<Real>& rows, std::ptrdiff_t n, std::ptrdiff_t i,
                      const double* mean, double, double, double*) {
  const Real* x = rows.values + i * rows.stride;
  double total = 0.0;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const double difference = static_cast<double>(x[j]) - mean[j];
    total += difference * difference;
  }
  return total;
}

template <class Real, class Index>
BAGSHIFT_INLINE double square(const SparseRows<Real, Index>& rows, std::ptrdiff_t i) {
  const auto end = static_cast<std::ptrdiff_t>(rows.starts[i + 1]);
  auto k = static_cast<std::ptrdiff_t>(rows.starts[i]);
  double t[4] = {0.0, 0.0, 0.0, 0.0};
  for (; k + 4 <= end; k += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const double value = rows.values[k + lane];
      t[lane] += value * value;
    }
  }
  for (; k < end; ++k) t[0] += static_cast<double>(rows.values[k]) * rows.values[k];
  return (t[0] + t[1]) + (t[2] + t[3]);
}

// Whether no column comes twice. `marks` tell the last row, plus one, that had a column.
template <class Real, class Index>
bool has_distinct_columns(const SparseRows<Real, Index>& rows, std::ptrdiff_t i, double* marks) {
  const double mark = static_cast<double>(i + 1);
  bool is_distinct = true;
  for (auto k = rows.starts[i]; k < rows.starts[i + 1]; ++k) {
    is_distinct &= marks[rows.columns[k]] != mark;
    marks[rows.columns[k]] = mark;
  }
  return is_distinct;
}

// A column that comes twice has the sum of its entries, which `scratch` is for. It is of zeros at
// the first row.
template <class Real, class Index>
double centred_length(const SparseRows<Real, Index>& rows, std::ptrdiff_t n, std::ptrdiff_t i,
                      const double*, double mean_square, double along, double* scratch) {
  double length;
  if (has_distinct_columns(rows, i, scratch)) {
    length = square(rows, i);
  } else {
    for (auto k = rows.starts[i]; k < rows.starts[i + 1]; ++k) scratch[rows.columns[k]] = 0.0;
    add(rows, n, i, 1.0, scratch);
    length = inner(rows, n, i, scratch);
    for (auto k = rows.starts[i]; k < rows.starts[i + 1]; ++k) scratch[rows.columns[k]] = 0.0;
  }
  return length - 2.0 * along - mean_square;
}

// --- passes over rows -----------------------------------------------------------------------

double loss_of(const DescentUnit& unit, double residual) {
  return std::max({0.0, unit.upper * (residual - unit.half_width),
                   unit.lower * (residual + unit.half_width)});
}

double reached_by(const DescentUnit& unit, double residual) {
  return unit.dual * residual - unit.half_width * std::abs(unit.dual);
}

// The best dual variable, given the residual at the present one.
double best_dual(const DescentUnit& unit, double residual) {
  const double pulled = unit.dual * unit.curvature + residual;
  const double beyond = std::max(std::abs(pulled) - unit.half_width, 0.0);
  const double best = std::copysign(beyond, pulled) / unit.curvature;
  return std::min(std::max(best, unit.lower), unit.upper);
}

template <class Rows>
class DomainOfRows final : public DescentDomain {
 public:
  DomainOfRows(const Rows& rows, const DescentUnits& units, std::ptrdiff_t n_features)
      : DescentDomain(units, n_features), rows_(rows) {}

  bool is_sound() const override { return bagshift::is_sound(rows_, n_units(), n_features_); }

  void pass(double* weights, double within, const AlongForm& form, const AlongTerms& others,
            Draws& draws) override {
    const std::ptrdiff_t n = n_features_;
    double dual_sum = dual_sum_, along_sum = along_sum_, gap = 0.0, largest = 0.0;
    std::size_t n_left = order_.size();
    for (std::size_t k = n_left; k > 1; --k) {
      std::swap(order_[k - 1], order_[draws.below(static_cast<std::uint32_t>(k))]);
    }
    for (std::size_t k = 0; k < n_left;) {
      if (k + kAhead < n_left) BAGSHIFT_PREFETCH(&units_[order_[k + kAhead]]);
      const std::ptrdiff_t i = order_[k];
      DescentUnit& unit = units_[i];
      const double a = unit.along;
      const double residual =
          unit.target - inner(rows_, n, i, weights) -
          a * (form.along_along * along_sum + form.along_one * dual_sum + others.along) -
          (form.one_along * along_sum + form.one_one * dual_sum + others.level);
      gap += loss_of(unit, residual) - reached_by(unit, residual);
      const double best = best_dual(unit, residual);
      const double change = best - unit.dual;
      if (change != 0.0) {
        const double side = unit.dual != 0.0 ? unit.dual : change;
        largest = std::max(largest, std::abs(residual - std::copysign(unit.half_width, side)));
        unit.dual = best;
        dual_sum += change;
        along_sum += change * a;
        add(rows_, n, i, within * change, weights);
      } else if (const double distance = distance_on_side(unit, residual); distance > far_) {
        nearest_ = std::min(nearest_, distance);
        order_[k] = order_[--n_left];
        continue;
      }
      ++k;
    }
    order_.resize(n_left);
    dual_sum_ = dual_sum;
    along_sum_ = along_sum;
    estimated_gap_ = gap;
    largest_ = largest;
  }

  double product(std::ptrdiff_t i, const double* weights) const override {
    return inner(rows_, n_features_, i, weights);
  }

  void write_products(const double* weights, double* products) const override {
    for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
      products[i] = inner(rows_, n_features_, i, weights);
    }
  }

  void add_up(std::initializer_list<DescentSum> sums) const override {
    for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
      for (const DescentSum& sum : sums) {
        const double factor = units_[i].*sum.factor;
        if (factor != 0.0) add(rows_, n_features_, i, factor, sum.total);
      }
    }
  }

 private:
  double centred_length(std::ptrdiff_t i, const double* mean, double mean_square, double along,
                        double* scratch) const override {
    return bagshift::centred_length(rows_, n_features_, i, mean, mean_square, along, scratch);
  }

  Rows rows_;
};

}  // namespace

template <class Rows>
std::unique_ptr<DescentDomain> make_domain(const Rows& rows, const DescentUnits& units,
                                           std::ptrdiff_t n_features) {
  return std::make_unique<DomainOfRows<Rows>>(rows, units, n_features);
}

#define BAGSHIFT_MAKE_DOMAIN(...)                                                            \
  template std::unique_ptr<DescentDomain> make_domain(const __VA_ARGS__&, const DescentUnits&, \
                                                      std::ptrdiff_t)
BAGSHIFT_MAKE_DOMAIN(DenseRows<double>);
BAGSHIFT_MAKE_DOMAIN(DenseRows<float>);
BAGSHIFT_MAKE_DOMAIN(SparseRows<double, std::int32_t>);
BAGSHIFT_MAKE_DOMAIN(SparseRows<double, std::int64_t>);
BAGSHIFT_MAKE_DOMAIN(SparseRows<float, std::int32_t>);
BAGSHIFT_MAKE_DOMAIN(SparseRows<float, std::int64_t>);
#undef BAGSHIFT_MAKE_DOMAIN

std::uint32_t Draws::below(std::uint32_t n) {
  state_ += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<std::uint32_t>((((z ^ (z >> 31)) >> 32) * n) >> 32);
}

// --- one domain -----------------------------------------------------------------------------

DescentDomain::DescentDomain(const DescentUnits& units, std::ptrdiff_t n_features)
    : units_(static_cast<std::size_t>(units.n_units)),
      products_(units_.size()),
      n_features_(n_features),
      nearest_(kInfinity),
      far_(kInfinity) {
  order_.reserve(units_.size());
  for (std::ptrdiff_t i = 0; i < units.n_units; ++i) {
    units_[i] = {0.0, units.targets[i], units.half_widths[i], units.lower[i], units.upper[i],
                 0.0, 0.0, 1.0};
  }
}

void DescentDomain::find_corners() {
  for (Corner* corner : {&lower_, &upper_}) {
    *corner = Corner{};
    corner->sum.assign(static_cast<std::size_t>(n_features_), 0.0);
  }
  add_up({{&DescentUnit::lower, lower_.sum.data()}, {&DescentUnit::upper, upper_.sum.data()}});
  for (Corner* corner : {&lower_, &upper_}) {
    const auto bound = corner == &lower_ ? &DescentUnit::lower : &DescentUnit::upper;
    for (const DescentUnit& unit : units_) {
      corner->dual_sum += unit.*bound;
      corner->reached += unit.target * (unit.*bound) - unit.half_width * std::abs(unit.*bound);
    }
  }
}

bool DescentDomain::measure(const std::vector<double>& mean, double mean_square) {
  std::vector<double> scratch(mean.size(), 0.0);
  double total = 0.0;
  for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
    DescentUnit& unit = units_[i];
    unit.along = product(i, mean.data()) - mean_square;
    const double length =
        centred_length(i, mean.data(), mean_square, unit.along, scratch.data());
    // No shorter than its part along the mean, which rounding could make it.
    const double part = mean_square > 0.0 ? unit.along * unit.along / mean_square : 0.0;
    total += length * length;
    unit.length = std::max(length, part);
  }
  return std::isfinite(total);
}

double DescentDomain::mean_length() const {
  double total = 0.0;
  for (const DescentUnit& unit : units_) total += (unit.upper - unit.lower) * unit.length;
  return total / size();
}

void DescentDomain::set_curvatures(double within, const AlongForm& form) {
  for (DescentUnit& unit : units_) {
    const double a = unit.along;
    unit.curvature = within * unit.length + form.along_along * a * a +
                     (form.along_one + form.one_along) * a + form.one_one;
  }
}

void DescentDomain::set_dual(const double* dual) {
  dual_sum_ = along_sum_ = 0.0;
  for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
    DescentUnit& unit = units_[i];
    unit.dual = dual ? std::min(std::max(dual[i], unit.lower), unit.upper) : 0.0;
    dual_sum_ += unit.dual;
    along_sum_ += unit.dual * unit.along;
  }
}

void DescentDomain::write_dual(double* dual) const {
  for (const DescentUnit& unit : units_) *dual++ = unit.dual;
}

void DescentDomain::find_products(const double* weights) {
  // Without weights, as at the start, rows need not be read.
  if (std::any_of(weights, weights + n_features_, [](double w) { return w != 0.0; })) {
    write_products(weights, products_.data());
  } else {
    std::fill(products_.begin(), products_.end(), 0.0);
  }
}

double DescentDomain::balanced_level(const double* weights) {
  find_products(weights);
  double low = kInfinity, high = -kInfinity;
  for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
    const DescentUnit& unit = units_[i];
    low = std::min(low, unit.target - products_[i] - unit.half_width);
    high = std::max(high, unit.target - products_[i] + unit.half_width);
  }
  if (!(low < high)) return n_units() > 0 ? low : 0.0;
  for (int step = 0; step < kBisections; ++step) {
    const double level = 0.5 * (low + high);
    double slope = 0.0;
    for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
      const DescentUnit& unit = units_[i];
      const double residual = unit.target - products_[i] - level;
      // Choices, not branches, of which half would be foreseen wrongly.
      const double above = residual > unit.half_width ? unit.upper : 0.0;
      slope += residual < -unit.half_width ? unit.lower : above;
    }
    if (std::abs(slope) <= kBalanced * size()) return level;
    (slope > 0.0 ? low : high) = level;
  }
  return 0.5 * (low + high);
}

double DescentDomain::distance_on_side(const DescentUnit& unit, double residual) const {
  const double above = residual - unit.half_width, below = -residual - unit.half_width;
  double distance = -kInfinity;
  if (unit.dual == unit.upper) distance = above;
  if (unit.dual == unit.lower) distance = std::max(distance, below);
  if (unit.dual == 0.0) distance = std::max(distance, std::min(-above, -below));
  return distance;
}

void DescentDomain::note_drift(double drift) {
  far_ = std::max(kFar * largest_, kFarOfDrift * std::abs(drift));
}

double DescentDomain::look(const double* weights, double intercept) {
  find_products(weights);
  order_.clear();
  dual_sum_ = along_sum_ = 0.0;
  nearest_ = kInfinity;
  double loss = 0.0;
  for (std::ptrdiff_t i = 0; i < n_units(); ++i) {
    const DescentUnit& unit = units_[i];
    const double residual = unit.target - products_[i] - intercept;
    loss += loss_of(unit, residual);
    dual_sum_ += unit.dual;
    along_sum_ += unit.dual * unit.along;
    if (!(unit.lower < unit.upper)) continue;
    const double distance = distance_on_side(unit, residual);
    if (distance > far_) {
      nearest_ = std::min(nearest_, distance);
    } else {
      order_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return loss;
}

double DescentDomain::reached() const {
  double total = 0.0;
  for (const DescentUnit& unit : units_) {
    total += unit.target * unit.dual - unit.half_width * std::abs(unit.dual);
  }
  return total;
}

}  // namespace bagshift
