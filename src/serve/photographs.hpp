#pragma once
// From a photograph in a request to its features.

#include <memory>
#include <semaphore>
#include <span>

#include "images/image_header.hpp"
#include "parsnets/backbone.hpp"
#include "parsnets/matrix.hpp"
#include "serve/http.hpp"

namespace parsnets {

/// Thread-safe. Decodes one photograph per core at a time; others wait.
class Photographs {
 public:
  Photographs(std::unique_ptr<Backbone> backbone, FeatureSource source, ImageLimits limits, unsigned cores);

  const FeatureSource& source() const { return source_; }
  /// 1 x d. Throws bad_input for bytes that are no image or beyond the limits, HttpError 503 when others are not done
  /// by the deadline.
  Matrix<float> features_of(std::span<const std::byte> image, Clock::time_point deadline) const;

 private:
  const std::unique_ptr<Backbone> backbone_;
  const FeatureSource source_;
  const ImageLimits limits_;
  mutable std::counting_semaphore<> free_;
};

}  // namespace parsnets
