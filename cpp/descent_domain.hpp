// SPDX-License-Identifier: BSD-3-Clause
//
// The units of one domain of the coupled problem and what dual coordinate descent does with their
// rows; see coordinate_descent.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace bagshift {

template <class Real>
struct DenseRows {
  const Real* values;
  std::ptrdiff_t stride;  // entries from one row to the next
};

// Compressed rows; columns may come in any order, and more than once.
template <class Real, class Index>
struct SparseRows {
  const Real* values;
  const Index* columns;
  const Index* starts;    // of rows, and the end of the last one
  std::ptrdiff_t n_values;
};

// Units of one domain, with 0 in every box.
struct DescentUnits {
  std::ptrdiff_t n_units;
  const double* targets;
  const double* half_widths;
  const double* lower;
  const double* upper;
};

// All that a step needs of a unit but its row, on one line of the cache.
struct alignas(64) DescentUnit {
  double dual;
  double target;
  double half_width;
  double lower;
  double upper;
  double along;      // a
  double length;     // |x - m|^2
  double curvature;  // of the dual in z
};

// A sum over units of a member times x, and where it goes.
struct DescentSum {
  double DescentUnit::*factor;
  double* total;
};

// A bilinear form in (a, 1) of a unit and (a', 1) of another one.
struct AlongForm {
  double along_along;
  double along_one;
  double one_along;
  double one_one;
};

// What the scores of a domain are, beside w.x: `along` a + `level`.
struct AlongTerms {
  double along;
  double level;
};

// Random numbers that are the same everywhere (splitmix64).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t n);

 private:
  std::uint64_t state_;
};

// All dual variables of a domain at one end of their boxes.
struct Corner {
  std::vector<double> sum;  // of z x
  double dual_sum = 0.0;
  double reached = 0.0;     // sum of t z - e |z|
};

// The units of a domain and what goes over them.
class DescentDomain {
 public:
  DescentDomain(const DescentUnits& units, std::ptrdiff_t n_features);
  virtual ~DescentDomain() = default;

  // Whether no column or start of a row leads out of memory.
  virtual bool is_sound() const = 0;

  // One pass: the best z of each unit in turn. `weights` are the domain's within u_p + across u_q,
  // and moved; `others` stands for all that other units and the centres c do to scores.
  virtual void pass(double* weights, double within, const AlongForm& form,
                    const AlongTerms& others, Draws& draws) = 0;

  // Write w.x of every unit.
  virtual void write_products(const double* weights, double* products) const = 0;

  // Add the sums of members of the units, such as z, times x, in one walk over the rows.
  virtual void add_up(std::initializer_list<DescentSum> sums) const = 0;

  std::ptrdiff_t n_units() const { return static_cast<std::ptrdiff_t>(units_.size()); }
  std::ptrdiff_t n_features() const { return n_features_; }
  double size() const { return upper_.dual_sum - lower_.dual_sum; }  // summed widths of boxes
  const Corner& lower() const { return lower_; }
  const Corner& upper() const { return upper_; }
  double dual_sum() const { return dual_sum_; }
  double along_sum() const { return along_sum_; }                    // of z a
  double estimated_gap() const { return estimated_gap_; }            // of losses, in the last pass
  // Whether units that have left the passes may be needed, after a move of the level.
  bool is_outdated(double drift) const { return std::abs(drift) > nearest_; }

  // Sum up the corners.
  void find_corners();
  // Set a and |x - m|^2 of all units; false: they are not finite.
  bool measure(const std::vector<double>& mean, double mean_square);
  // Mean of |x - m|^2 over the units, by the widths of their boxes.
  double mean_length() const;
  void set_curvatures(double within, const AlongForm& form);
  void set_dual(const double* dual);   // clipped; nullptr: zero
  void write_dual(double* dual) const;
  // The level at which the slopes of all losses add up to nothing, given the weights.
  double balanced_level(const double* weights);
  // Sum of losses. Sums of z are made anew, and units that left the passes come back, but for those
  // that are far on their side.
  double look(const double* weights, double intercept);
  // Sum of t z - e |z|.
  double reached() const;
  // Choose how far units are to be to leave the next pass, after one that moved the level.
  void note_drift(double drift);

 protected:
  // Set the products to w.x.
  void find_products(const double* weights);
  virtual double product(std::ptrdiff_t i, const double* weights) const = 0;
  virtual double centred_length(std::ptrdiff_t i, const double* mean, double mean_square,
                                double along, double* scratch) const = 0;
  // How far a unit is on the side of its dual variable; negative or minus infinity: not at all.
  double distance_on_side(const DescentUnit& unit, double residual) const;

  std::vector<DescentUnit> units_;
  std::vector<std::uint32_t> order_;   // of the units that passes go to
  std::vector<double> products_;
  std::ptrdiff_t n_features_;
  Corner lower_, upper_;
  double dual_sum_ = 0.0, along_sum_ = 0.0, estimated_gap_ = 0.0;
  double largest_ = 0.0;   // violation in the last pass
  double nearest_;         // distance of the units that have left the passes
  double far_;             // distance at which they leave
};

template <class Rows>
std::unique_ptr<DescentDomain> make_domain(const Rows& rows, const DescentUnits& units,
                                           std::ptrdiff_t n_features);

}  // namespace bagshift
