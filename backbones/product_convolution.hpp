#pragma once
// Convolutions of OpenCV's networks by the engine's own matrix products, which use the widest instructions that the
// processor has: OpenCV 4.6 reaches a third of its peak, these more than half.

namespace parsnets {

/// While one lives, networks that OpenCV makes have such convolutions, where they are dense and two-dimensional. Others
/// stay as they are.
class ProductConvolutions {
 public:
  ProductConvolutions();
  ~ProductConvolutions();
  ProductConvolutions(const ProductConvolutions&) = delete;
  ProductConvolutions& operator=(const ProductConvolutions&) = delete;
};

}  // namespace parsnets
