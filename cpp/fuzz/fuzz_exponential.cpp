// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel values of tiles of every shape, with numbers of every kind among products and norms.
#include <algorithm>
#include <limits>
#include <vector>

#include "exponential.hpp"
#include "fuzz.hpp"

namespace fuzz {
namespace {

double read_number(Bytes& bytes, bool is_norm) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSpecial[] = {0.0,     -0.0,  5e-324, 1e-300,    708.4,
                                 745.125, 745.2, 1e300,  kInfinity, kNotANumber};
  const double sign = !is_norm && bytes.one_in(2) ? -1.0 : 1.0;
  switch (bytes.below(4)) {
    case 0:
      return sign * kSpecial[bytes.below(10)];
    case 1:
      return sign * bytes.unit() * bytes.power_of_ten(-3, 5);
    default:
      return sign * 4.0 * bytes.unit();
  }
}

template <class Real>
void check_value(Real value, double exponent) {
  if (std::isnan(exponent)) {
    PROMISE(std::isnan(value));
    return;
  }
  AT_MOST(Real{}, value);
  AT_MOST(value, Real{1});
  const auto expected = static_cast<Real>(std::exp(std::min(exponent, 0.0)));
  const Real spacing = expected * std::numeric_limits<Real>::epsilon();
  AT_MOST(std::fabs(value - expected), 2 * spacing + std::numeric_limits<Real>::denorm_min());
}

template <class Real>
void fuzz_tile(Bytes& bytes) {
  const bool same_rows = bytes.one_in(3);
  const auto n_columns = static_cast<std::size_t>(bytes.below(40));
  const auto n_rows = same_rows ? n_columns : static_cast<std::size_t>(bytes.below(4));
  const double gamma = bytes.one_in(8) ? 0.0 : bytes.unit() * bytes.power_of_ten(-6, 6);
  std::vector<double> row_norms(n_rows), column_norms(n_columns);
  for (double& norm : row_norms) norm = read_number(bytes, true);
  for (double& norm : column_norms) norm = read_number(bytes, true);
  if (same_rows) column_norms = row_norms;
  std::vector<Real> products(n_rows * n_columns);
  for (Real& product : products) {
    const double number = read_number(bytes, false);
    product = std::fabs(number) < 1e38 || std::isnan(number) ? static_cast<Real>(number) : Real{};
  }
  std::vector<Real> values = products;
  const bagshift::Products<Real> tile{values.data(), static_cast<std::ptrdiff_t>(n_rows),
                                      static_cast<std::ptrdiff_t>(n_columns), row_norms.data(),
                                      column_norms.data()};
  if (same_rows) {
    bagshift::symmetric_rbf_values(tile, gamma);
  } else {
    bagshift::rbf_values(tile, gamma);
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::size_t i = k / n_columns, j = k % n_columns;
    if (same_rows && i == j) {
      PROMISE(values[k] == Real{1});
      continue;
    }
    const Real product = products[same_rows && i < j ? j * n_columns + i : k];
    const double norms = row_norms[i] + column_norms[j];
    check_value(values[k], -gamma * (norms - 2.0 * static_cast<double>(product)));
  }
}

}  // namespace

void fuzz_exponential(Bytes& bytes) {
  if (bytes.one_in(2)) {
    fuzz_tile<double>(bytes);
  } else {
    fuzz_tile<float>(bytes);
  }
}

}  // namespace fuzz
