#pragma once
// Models of every kind a device file can hold, trained on the small set, and the runtime opened on them.

#include <gtest/gtest.h>

#include <algorithm>

#include "data/rows.hpp"
#include "parsnets/device.hpp"
#include "parsnets_rt.h"
#include "small_training.hpp"

namespace parsnets::test {

/// The first `count` attributes alone.
inline void keep_attributes(Dataset& data, std::size_t count) {
  Matrix<float> kept(data.classes(), count);
  for (std::size_t c = 0; c < data.classes(); ++c)
    std::ranges::copy(data.semantics.values.row(c).first(count), kept.row(c).begin());
  data.semantics.values = std::move(kept);
  if (!data.semantics.attribute_names.empty()) data.semantics.attribute_names.resize(count);
}

/// A model that was trained, not made up. Kinds: "linear", "energy", "anchor" (with whitening, prototypes and a shared
/// network), "relu", "euclidean", "dot", "binary", "classes" (targets classes, whitened), "classes linear" (of kernel,
/// with fewer attributes than seen classes, so that q < o), "classes heads" (with a semantic head), "classes tables"
/// (of two tables of semantics).
inline Model small_model(const std::string& kind, ThreadPool& pool) {
  TrainOptions options = small_options(kind == "energy" ? Method::scln : Method::parsnets);
  options.calibration.enabled = false;
  if (kind == "linear" || kind == "dot" || kind == "euclidean" || kind == "binary") options.method = Method::ridge;
  if (kind == "dot") options.class_space.similarity = Similarity::dot;
  if (kind == "euclidean") options.class_space.similarity = Similarity::euclidean;
  if (kind == "binary") options.preprocessing.semantic_scaling = SemanticScaling::binary;
  if (kind == "relu") options.fit.relu = true;
  options.class_space.targets = kind.starts_with("classes") ? Targets::classes : Targets::semantics;
  if (kind == "classes heads") options.class_space.semantic_head = 0.6;
  Dataset data = small_training_set();
  if (kind == "classes linear") {
    options.class_space.prototype_width = 0;
    keep_attributes(data, 7);
  }
  if (kind == "classes tables") {
    data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
    options.preprocessing.semantic_weights = {0.3, 0.7};
  }
  Model model = train(data, options, pool);
  model.gamma = 0.05;
  model.temperature = 0.1;
  return model;
}

inline const std::vector<std::string>& small_model_kinds() {
  static const std::vector<std::string> kinds{"linear",         "energy",        "anchor",        "relu",
                                              "euclidean",      "dot",           "binary",        "classes",
                                              "classes linear", "classes heads", "classes tables"};
  return kinds;
}

/// What might have made the features of the small set.
inline FeatureSource small_source() {
  return {"net.onnx",
          "0123456789abcdef" + std::string(48, 'e'),
          "features",
          {PixelPreset::tf, ImageFit::whole, 96, 64},
          12};
}

/// A device file, its runtime model and working memory.
struct SmallDevice {
  std::vector<std::byte> file;
  pnrt_model model{};
  std::vector<float> work;

  explicit SmallDevice(std::vector<std::byte> bytes, std::size_t extra_classes = 0) : file(std::move(bytes)) {
    EXPECT_EQ(pnrt_open(&model, file.data(), file.size()), PNRT_OK);
    work.resize(pnrt_work_bytes(&model, nullptr) / 4 + 1 + extra_classes);
  }
  std::size_t work_bytes() const { return work.size() * 4; }
};

inline Matrix<float> small_samples(std::size_t count) {
  const Dataset data = small_training_set();
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int32_t>(i * 7 % data.samples()));
  return gather_rows(data.features.view(), rows);
}

}  // namespace parsnets::test
