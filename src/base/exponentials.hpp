#pragma once
// Exponentials of many values at once, several times as fast as one std::exp after the other. Within 1.5 units in the
// last place of the exponential of the rounded argument. AVX2 and AVX-512 give the same bits.

#include <span>

#include "base/simd.hpp"

namespace parsnets {

/// Each value v becomes exp(scale·v − shift), and their sum is returned. Arguments below -87 give 0, those above 88
/// what 88 gives; none may be nan. In one order, whatever the processor.
double exponentials(double scale, double shift, std::span<float> values, Simd simd = best_simd());

/// out_i = exp(scale·z_i); as many of both, which may be the same memory. Arguments below -708 give 0, those above 709
/// what 709 gives; none may be nan.
void exponentials(double scale, std::span<const double> z, std::span<double> out, Simd simd = best_simd());

}  // namespace parsnets
