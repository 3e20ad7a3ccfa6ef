// SPDX-License-Identifier: BSD-3-Clause
//
// A few doubles side by side, on which arithmetic, comparisons and `condition ? a : b` work number
// by number. GCC and Clang have such types for every machine; with other compilers, it is one
// number. How many there are depends on the platform alone, and so do the last bits of a result,
// whatever registers the machine at hand has.
//
// For inlined functions only: how such values are passed to others depends on the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "multiversion.hpp"

namespace bagshift {

#if defined(__GNUC__)
#if defined(__x86_64__)
constexpr std::ptrdiff_t kLanes = 4;
#else
constexpr std::ptrdiff_t kLanes = 2;
#endif
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using NumberLanes = std::int64_t __attribute__((vector_size(kLanes * sizeof(std::int64_t))));
using BitLanes = std::uint64_t __attribute__((vector_size(kLanes * sizeof(std::uint64_t))));
using FloatLanes = float __attribute__((vector_size(kLanes * sizeof(float))));

BAGSHIFT_INLINE void load(const double* from, Lanes& to) { std::memcpy(&to, from, sizeof(to)); }

BAGSHIFT_INLINE void load(const float* from, Lanes& to) {
  FloatLanes narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  to = __builtin_convertvector(narrow, Lanes);
}

BAGSHIFT_INLINE void store(const Lanes& from, double* to) { std::memcpy(to, &from, sizeof(from)); }

BAGSHIFT_INLINE void store(const Lanes& from, float* to) {
  const FloatLanes narrow = __builtin_convertvector(from, FloatLanes);
  std::memcpy(to, &narrow, sizeof(narrow));
}

BAGSHIFT_INLINE double lane_of(const Lanes& lanes, std::ptrdiff_t lane) { return lanes[lane]; }

BAGSHIFT_INLINE std::int64_t lane_of(const NumberLanes& lanes, std::ptrdiff_t lane) {
  return lanes[lane];
}
#else
constexpr std::ptrdiff_t kLanes = 1;
using Lanes = double;
using NumberLanes = std::int64_t;
using BitLanes = std::uint64_t;

BAGSHIFT_INLINE double lane_of(double lanes, std::ptrdiff_t) { return lanes; }
BAGSHIFT_INLINE std::int64_t lane_of(std::int64_t lanes, std::ptrdiff_t) { return lanes; }
#endif

// The same for what is left after the last full lanes.
BAGSHIFT_INLINE void load(const double* from, double& to) { to = *from; }
BAGSHIFT_INLINE void load(const float* from, double& to) { to = static_cast<double>(*from); }
BAGSHIFT_INLINE void store(double from, double* to) { *to = from; }
BAGSHIFT_INLINE void store(double from, float* to) { *to = static_cast<float>(from); }

// Whole numbers to go with values of type T, and the bits of such values.
template <class T>
struct NumbersBeside {
  using Type = NumberLanes;
  using Bits = BitLanes;
};
template <>
struct NumbersBeside<double> {
  using Type = std::int64_t;
  using Bits = std::uint64_t;
};

// The largest (or smallest) values, and where they were.
template <class T>
struct Largest {
  T value;
  typename NumbersBeside<T>::Type where;

  BAGSHIFT_INLINE explicit Largest(double start) : value(T{} + start), where{} {}

  BAGSHIFT_INLINE void add(const T& other, const typename NumbersBeside<T>::Type& there) {
    where = other > value ? there : where;
    value = other > value ? other : value;
  }
};

// Visit [begin, end): `visit(lanes, k)` for the units k, k + 1, ... that make full lanes, then
// `visit(rest, k)` for one unit at a time.
template <class OfLanes, class OfRest, class Visit>
BAGSHIFT_INLINE void visit_all(std::ptrdiff_t begin, std::ptrdiff_t end, OfLanes& lanes,
                               OfRest& rest, const Visit& visit) {
  std::ptrdiff_t k = begin;
  if (kLanes > 1) {
    for (; k + kLanes <= end; k += kLanes) visit(lanes, k);
  }
  for (; k < end; ++k) visit(rest, k);
}

}  // namespace bagshift
