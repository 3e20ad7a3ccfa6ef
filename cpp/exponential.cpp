// SPDX-License-Identifier: BSD-3-Clause
//
// Without fused multiply-adds, as all of the core, so that every instruction set of a platform
// gives the same bits.
#include "exponential.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "lanes.hpp"

namespace bagshift {
namespace {

// Rounded to whole numbers, doubles of up to 2^51 have them in their low bits after this is added.
constexpr double kShifter = 6755399441055744.0;  // 1.5 * 2^52

constexpr double kLog2OfE = 1.4426950408889634;

// log(2) in two parts; the last bits of the first are zero, so that its product with a whole number
// up to 2^11 is exact.
constexpr double kLog2High = 6.93147180369123816490e-01;
constexpr double kLog2Low = 1.90821492927058770002e-10;

// Its exponential is below half the smallest number.
constexpr double kLowest = -746.0;

constexpr double kTwoToMinus64 = 5.421010862427522e-20;

// exp(x) for x <= 0: x = k log(2) + r with |r| <= log(2) / 2 in two parts (W. J. Cody, W. Waite,
// Software Manual for the Elementary Functions, 1980, chapter 6), and the Taylor polynomial of r
// to degree 13, whose remainder is below 2^-57; for single precision to degree 9, below 2^-36. The
// leading terms are added last and the low part of r goes to the small ones (J.-M. Muller,
// Elementary Functions, 3rd edition, 2016, section 11.2), which keeps the error below one unit in
// the last place.
template <class Real, class T>
BAGSHIFT_INLINE void exponential(const T& given, T& value) {
  const T x = given < kLowest ? T{} + kLowest : given;
  const T shifted = x * kLog2OfE + kShifter;
  const T k = shifted - kShifter;
  const T high = x - k * kLog2High;
  const T low = k * kLog2Low;
  const T r = high - low;
  const T r2 = r * r;
  const T r4 = r2 * r2;
  T polynomial = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
  if constexpr (std::is_same_v<Real, double>) {
    polynomial += r4 * ((1.0 / 3628800 + r * (1.0 / 39916800)) +
                        r2 * (1.0 / 479001600 + r * (1.0 / 6227020800)));
  }
  polynomial = r4 * polynomial +
               ((1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120)));
  const T mantissa = 1.0 + (high + (r2 * polynomial - low));
  // 2^k may be too small for a number of full precision; 2^(k + 64) is not.
  typename NumbersBeside<T>::Bits bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + (1023 + 64)) << 52;
  T power;
  std::memcpy(&power, &bits, sizeof(power));
  value = (mantissa * power) * kTwoToMinus64;
}

template <class Real>
struct ToValues {
  Real* values;
  const double* column_norms;
  double row_norm;
  double gamma;

  template <class T>
  BAGSHIFT_INLINE void operator()(T&, std::ptrdiff_t j) const {
    T product, column_norm, value;
    load(values + j, product);
    load(column_norms + j, column_norm);
    const T exponent = -gamma * ((row_norm + column_norm) - 2.0 * product);
    exponential<Real>(T(exponent > 0.0 ? T{} : exponent), value);
    store(value, values + j);
  }
};

// The first columns of a row.
template <class Real>
BAGSHIFT_INLINE void row_of_values(const Products<Real>& products, double gamma, std::ptrdiff_t i,
                                   std::ptrdiff_t n_columns) {
  Lanes nothing{};
  double nothing_more = 0.0;
  visit_all(0, n_columns, nothing, nothing_more,
            ToValues<Real>{products.values + i * products.n_columns, products.column_norms,
                           products.row_norms[i], gamma});
}

template <class Real>
BAGSHIFT_INLINE void rbf_values_impl(const Products<Real>& products, double gamma) {
  for (std::ptrdiff_t i = 0; i < products.n_rows; ++i) {
    row_of_values(products, gamma, i, products.n_columns);
  }
}

// By blocks, since a block and its mirror image are both in the nearest cache.
template <class Real>
BAGSHIFT_INLINE void mirror_lower_half(Real* values, std::ptrdiff_t n) {
  constexpr std::ptrdiff_t kBlock = 32;
  for (std::ptrdiff_t first = 0; first < n; first += kBlock) {
    const std::ptrdiff_t last = std::min(first + kBlock, n);
    for (std::ptrdiff_t column = 0; column < last; column += kBlock) {
      for (std::ptrdiff_t i = first; i < last; ++i) {
        const std::ptrdiff_t end = std::min(column + kBlock, i);
        for (std::ptrdiff_t j = column; j < end; ++j) values[j * n + i] = values[i * n + j];
      }
    }
  }
}

template <class Real>
BAGSHIFT_INLINE void symmetric_rbf_values_impl(const Products<Real>& products, double gamma) {
  const std::ptrdiff_t n = products.n_rows;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    row_of_values(products, gamma, i, i);
    products.values[i * n + i] = Real{1};
  }
  mirror_lower_half(products.values, n);
}

}  // namespace

BAGSHIFT_MULTIVERSION
void rbf_values(const Products<double>& products, double gamma) {
  rbf_values_impl(products, gamma);
}

BAGSHIFT_MULTIVERSION
void rbf_values(const Products<float>& products, double gamma) {
  rbf_values_impl(products, gamma);
}

BAGSHIFT_MULTIVERSION
void symmetric_rbf_values(const Products<double>& products, double gamma) {
  symmetric_rbf_values_impl(products, gamma);
}

BAGSHIFT_MULTIVERSION
void symmetric_rbf_values(const Products<float>& products, double gamma) {
  symmetric_rbf_values_impl(products, gamma);
}

}  // namespace bagshift
