#pragma once
// Models of every kind a device file can hold, trained on the small set, and the runtime opened on them.

#include <gtest/gtest.h>

#include <algorithm>

#include "data/sample_set.hpp"
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

/// A model that was trained, not made up. Kinds: "linear", "energy", "anchor" (with whitening and a shared network),
/// "relu", "euclidean", "dot", "binary", "classes" (class space, whitened), "classes linear" (of kernel, with fewer
/// attributes than seen classes, so that q < o), "classes tables" (of two tables of semantics).
inline Model small_model(const std::string& kind, ThreadPool& pool) {
  Dataset data = small_training_set();
  TrainOptions options = kind == "linear"   ? small_options("ridge")
                         : kind == "dot"    ? small_options("eszsl")
                         : kind == "binary" ? small_options("dap")
                         : kind == "energy" ? small_options("scln")
                         : kind == "anchor" ? small_options("paper", "fit=ridge;gates=anchor;semantic-whitening=0.25")
                         : kind == "relu"   ? small_options("paper", "fit=ridge;relu=true")
                         : kind == "euclidean"      ? small_options("scln", "similarity=euclidean")
                         : kind == "classes linear" ? small_options("parsnets", "prototype-width=0")
                         : kind == "classes tables" ? small_options("parsnets", "semantic-weights=0.3,0.7")
                                                    : small_options("parsnets");
  options.calibration.enabled = false;
  if (kind == "classes linear") keep_attributes(data, 7);
  if (kind == "classes tables") data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
  Model model = train(data, options, pool);
  model.gamma = 0.05;
  model.temperature = 0.1;
  return model;
}

inline const std::vector<std::string>& small_model_kinds() {
  static const std::vector<std::string> kinds{"linear", "energy", "anchor",  "relu",           "euclidean",
                                              "dot",    "binary", "classes", "classes linear", "classes tables"};
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
