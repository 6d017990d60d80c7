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

  explicit SmallDevice(std::vector<std::byte> bytes) : file(std::move(bytes)) {
    EXPECT_EQ(pnrt_open(&model, file.data(), file.size()), PNRT_OK);
    work.resize(pnrt_work_bytes(&model, nullptr) / 4 + 1);
  }
  std::size_t work_bytes() const { return work.size() * 4; }

  std::vector<float> scores(const float* x, const pnrt_bank* bank = nullptr) const {
    std::vector<float> room(pnrt_work_bytes(&model, bank) / 4 + 1), out(pnrt_class_slots(&model, bank));
    EXPECT_EQ(pnrt_scores(&model, bank, x, out.data(), room.data(), room.size() * 4), PNRT_OK);
    return out;
  }
};

/// The same with a bank, which has memory for learning where its model can learn.
struct SmallBank : SmallDevice {
  pnrt_bank bank{};
  std::vector<std::uint32_t> memory, learning;

  explicit SmallBank(std::vector<std::byte> bytes, std::uint32_t capacity = 2) : SmallDevice(std::move(bytes)) {
    memory.resize(pnrt_bank_bytes(&model, capacity) / 4 + 1);
    EXPECT_EQ(pnrt_bank_init(&bank, &model, capacity, memory.data(), memory.size() * 4), PNRT_OK);
    if (const std::size_t needed = pnrt_learning_bytes(&bank); needed > 0) {
      learning.resize(needed / 4 + 1);
      EXPECT_EQ(pnrt_bank_learn(&bank, learning.data(), needed), PNRT_OK);
    }
    work.resize(pnrt_work_bytes(&model, &bank) / 4 + 1);
  }
  SmallBank(const SmallBank&) = delete;

  pnrt_status add(const std::string& name, std::span<const float> attributes, std::uint32_t* index = nullptr) {
    return pnrt_add_class(&bank, name.c_str(), attributes.data(), index, work.data(), work_bytes());
  }
  pnrt_status remove(const std::string& name) { return pnrt_remove_class(&bank, name.c_str()); }
  const char* name(std::size_t c) const { return pnrt_class_name(&model, &bank, static_cast<std::uint32_t>(c)); }
  pnrt_status adapt(const float* x, std::size_t count, std::uint32_t* moved = nullptr) {
    return pnrt_adapt(&bank, x, static_cast<std::uint32_t>(count), moved, work.data(), work_bytes());
  }
  pnrt_status teach(const char* name, const float* x, std::size_t count) {
    return pnrt_teach(&bank, name, x, static_cast<std::uint32_t>(count), work.data(), work_bytes());
  }
  std::vector<float> scores(const float* x) const { return SmallDevice::scores(x, &bank); }
  std::vector<float> vector_of(std::size_t c) const {
    std::vector<float> out(model.outputs);
    EXPECT_EQ(pnrt_class_vector(&model, &bank, static_cast<std::uint32_t>(c), out.data()), PNRT_OK);
    return out;
  }
  /// Of all classes that are there.
  std::vector<std::vector<float>> vectors() const {
    std::vector<std::vector<float>> all;
    for (std::uint32_t c = 0; c < pnrt_class_slots(&model, &bank); ++c)
      if (name(c) != nullptr) all.push_back(vector_of(c));
    return all;
  }
  std::vector<std::byte> save() const {
    std::vector<std::byte> saved(pnrt_saved_bytes(&bank));
    EXPECT_EQ(pnrt_bank_save(&bank, saved.data(), saved.size()), PNRT_OK);
    return saved;
  }
  pnrt_status load(std::span<const std::byte> saved) { return pnrt_bank_load(&bank, saved.data(), saved.size()); }
};

inline Matrix<float> small_samples(std::size_t count) {
  const Dataset data = small_training_set();
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int32_t>(i * 7 % data.samples()));
  return gather_rows(data.features.view(), rows);
}

}  // namespace parsnets::test
