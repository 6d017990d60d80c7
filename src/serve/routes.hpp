#pragma once
// The paths of the server (docs/openapi.json).

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <vector>

#include "images/backbone.hpp"
#include "images/image_header.hpp"
#include "parsnets/matrix.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/service.hpp"

namespace parsnets {

// Lets some in at a time, the others in the order in which they came: with many more threads than cores at work, some
// requests would take many times as long as others.

/// Thread-safe.
class Turnstile {
 public:
  /// `what` waits, for messages.
  explicit Turnstile(std::size_t places, const char* what = "requests") : free_(places), what_(what) {}

  /// A place inside, until it is destroyed.
  class Turn {
   public:
    explicit Turn(Turnstile& turnstile) : turnstile_(turnstile) {}
    ~Turn() { turnstile_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turnstile& turnstile_;
  };
  /// Waits for its turn. Throws HttpError 503 when it has not come by the deadline.
  Turn enter(Clock::time_point deadline);

 private:
  struct Waiter {
    std::binary_semaphore called{0};
    bool has_turn = false;
  };
  void leave();

  std::mutex mutex_;
  std::size_t free_;
  const char* const what_;
  std::deque<Waiter*> waiting_;  ///< the first to come first
};

// From a photograph in a request to its features.

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
  mutable Turnstile turns_;
};

/// All must outlive the routes. `photographs`: null where the server takes none. `turnstile`: through which requests
/// go that compute.
std::vector<Route> routes_of(const Service& service, const Photographs* photographs, Turnstile& turnstile,
                             Metrics& metrics);

}  // namespace parsnets
