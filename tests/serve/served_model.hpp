#pragma once
// A small model with its routes, on a port of its own.

#include <memory>

#include "parsnets/open_set.hpp"
#include "rejecting_model.hpp"
#include "serve/http_server.hpp"
#include "serve/raw_client.hpp"
#include "serve/routes.hpp"
#include "small_training.hpp"

namespace parsnets::test {

/// Rejects, has prediction sets and ten samples.
inline Model model_to_serve() {
  ThreadPool pool(1);
  Model model = rejecting_model("classes closed", pool);
  for (int i = 1; i <= 40; ++i) model.sets.unseen.push_back(static_cast<float>(i) / 41);
  return model;
}

inline ServedSamples ten_samples() {
  ServedSamples samples;
  samples.features = small_samples(10);
  for (std::size_t i = 0; i < 10; ++i)
    samples.samples.push_back({"sample " + std::to_string(i), "a \"class\"", i % 2 == 0});
  samples.sheet = {"sheet", "image/jpeg"};
  samples.sheet_columns = 5;
  samples.sheet_size = 32;
  for (std::size_t i = 0; i < 10; ++i) {
    samples.sheet_places.push_back(i);
    samples.pictures.push_back({"picture " + std::to_string(i), "image/png"});
  }
  return samples;
}

/// Every photograph has the mean colours of its parts as features.
class MeanColours : public Backbone {
 public:
  explicit MeanColours(std::size_t dimensions) : dimensions_(dimensions) {}
  std::size_t dimensions() const override { return dimensions_; }
  std::string layer() const override { return "means"; }
  std::string engine() const override { return "means"; }
  std::string prepare(std::span<const std::byte> image, std::span<float> input) const override {
    if (image.size() < 100) return "a file that ends early";
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(image[i % image.size()]) / 255;
    return "";
  }
  std::string run(std::span<const float> inputs, std::size_t n, std::span<float> features) override {
    for (std::size_t i = 0; i < n * dimensions_; ++i) features[i] = inputs[i * inputs.size() / (n * dimensions_)];
    return "";
  }

 private:
  std::size_t dimensions_;
};

inline std::unique_ptr<Photographs> mean_colours(std::size_t dimensions) {
  FeatureSource source{"means.onnx", std::string(64, 'a'), "means", {}, dimensions};
  source.input.width = source.input.height = 16;
  ImageLimits limits;
  limits.max_pixels = 1000;
  return std::make_unique<Photographs>(std::make_unique<MeanColours>(dimensions), source, limits, 2);
}

/// A BMP file of w x h pixels, grey.
inline std::string bmp_file(std::uint32_t width, std::uint32_t height) {
  std::string file = "BM";
  const auto add = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i) & 255);
  };
  const std::uint32_t pixels = width * height <= 4096 ? (width * 3 + 3) / 4 * 4 * height : 0;
  add(54 + pixels, 4), add(0, 4), add(54, 4), add(40, 4), add(width, 4), add(height, 4), add(1, 2), add(24, 2);
  add(0, 4), add(pixels, 4), add(2835, 4), add(2835, 4), add(0, 4), add(0, 4);
  return file + std::string(pixels, '\x7f');
}

struct ServedModel {
  Metrics metrics;
  Turnstile turnstile{2};
  Service service;
  std::unique_ptr<Photographs> photographs;
  HttpServer server;

  explicit ServedModel(HttpServerOptions options = {})
      : service(model_to_serve(), ten_samples(), {.name = "small.safetensors", .batch = 100}),
        photographs(mean_colours(service.limits().dimensions)),
        server((options.port = 0, options), routes_of(service, photographs.get(), turnstile, metrics), metrics) {
    server.start();
  }
  int port() const { return server.port(); }
  RawResponse get(const std::string& target) const { return ask(port(), request_text(port(), "GET", target)); }
  RawResponse post(const std::string& target, const std::string& body,
                   const std::string& type = "application/json") const {
    return ask(port(), request_text(port(), "POST", target, type, body));
  }
};

}  // namespace parsnets::test
