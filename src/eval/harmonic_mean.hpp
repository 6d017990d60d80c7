#pragma once

namespace parsnets {

/// 2us / (u + s), or 0 if both are 0.
inline double harmonic_mean(double u, double s) { return u + s > 0 ? 2 * u * s / (u + s) : 0; }

}  // namespace parsnets
