// SPDX-License-Identifier: BSD-3-Clause
//
// What hot loops say to the compiler. One binary serves every x86-64 machine: the loader picks
// the widest version of a function that it can run.
#pragma once

#if defined(BAGSHIFT_TARGET_CLONES)
#define BAGSHIFT_MULTIVERSION \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define BAGSHIFT_MULTIVERSION
#endif

// Templates and helpers cannot be multiversioned, so they are inlined into functions that are.
#if defined(__GNUC__)
#define BAGSHIFT_INLINE inline __attribute__((always_inline))
#define BAGSHIFT_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define BAGSHIFT_INLINE __forceinline
#define BAGSHIFT_RESTRICT __restrict
#else
#define BAGSHIFT_INLINE inline
#define BAGSHIFT_RESTRICT
#endif

// Ask for memory that will be read soon. What is asked for need not exist.
#if defined(__GNUC__)
#define BAGSHIFT_PREFETCH(address) __builtin_prefetch(address)
#else
#define BAGSHIFT_PREFETCH(address) static_cast<void>(address)
#endif
