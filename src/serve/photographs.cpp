#include "serve/photographs.hpp"

#include <algorithm>

#include "images/features_of_image.hpp"

namespace parsnets {

namespace {

struct Release {
  std::counting_semaphore<>& semaphore;
  ~Release() { semaphore.release(); }
};

}  // namespace

Photographs::Photographs(std::unique_ptr<Backbone> backbone, FeatureSource source, ImageLimits limits, unsigned cores)
    : backbone_(std::move(backbone)), source_(std::move(source)), limits_(limits), free_(std::max(cores, 1u)) {}

Matrix<float> Photographs::features_of(std::span<const std::byte> image, Clock::time_point deadline) const {
  check_image(image, limits_, "the photograph");  // what is refused does not wait
  if (!free_.try_acquire_until(deadline)) throw HttpError(503, "too many photographs are waiting");
  const Release release{free_};
  const std::vector<float> features = features_of_image(*backbone_, source_.input, image, "the photograph", limits_);
  return Matrix<float>::copy_of({features.data(), 1, features.size()});
}

}  // namespace parsnets
