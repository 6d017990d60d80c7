#pragma once
// Handles of the C ABI that free themselves, and a small data set behind one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parsnets/model.hpp"
#include "parsnets/parsnets.h"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

template <class T, void (*Free)(T*)>
struct Freer {
  void operator()(T* handle) const { Free(handle); }
};
using DatasetHandle = std::unique_ptr<parsnets_dataset, Freer<parsnets_dataset, parsnets_dataset_free>>;
using OptionsHandle = std::unique_ptr<parsnets_options, Freer<parsnets_options, parsnets_options_free>>;
using ModelHandle = std::unique_ptr<parsnets_model, Freer<parsnets_model, parsnets_model_free>>;
using DeviceHandle = std::unique_ptr<parsnets_device, Freer<parsnets_device, parsnets_device_free>>;

#define EXPECT_OK(call) EXPECT_EQ((call), PARSNETS_OK) << parsnets_last_error()
#define ASSERT_OK(call) ASSERT_EQ((call), PARSNETS_OK) << parsnets_last_error()

/// Arrays in memory, and the struct that describes them. Not copied or moved: the struct points into it.
struct SmallArrays {
  explicit SmallArrays(std::uint64_t seed = 3) : SmallArrays(small_training_set(seed)) {}
  explicit SmallArrays(Dataset set) : data(std::move(set)) {
    for (const auto& name : data.class_names) class_names.push_back(name.c_str());
    for (std::size_t a = 0; a < data.semantics.values.cols(); ++a)
      attributes.push_back("attribute " + std::to_string(a));
    for (const auto& name : attributes) attribute_names.push_back(name.c_str());
    test.assign(data.samples(), 0);
    for (const auto s : data.split.test_seen) test[static_cast<std::size_t>(s)] = 1;
    for (const auto s : data.split.test_unseen) test[static_cast<std::size_t>(s)] = 1;
    arrays.samples = data.samples();
    arrays.dimensions = data.features.cols();
    arrays.classes = data.classes();
    arrays.attributes = data.semantics.values.cols();
    arrays.features = data.features.data();
    arrays.labels = data.labels.data();
    arrays.semantics = data.semantics.values.data();
    arrays.class_names = class_names.data();
    arrays.attribute_names = attribute_names.data();
    arrays.test = test.data();
  }
  SmallArrays(const SmallArrays&) = delete;
  SmallArrays& operator=(const SmallArrays&) = delete;

  DatasetHandle handle() const {
    parsnets_dataset* made = nullptr;
    EXPECT_OK(parsnets_dataset_from_arrays(&arrays, &made));
    return DatasetHandle(made);
  }

  Dataset data;
  std::vector<std::string> attributes;
  std::vector<const char*> class_names, attribute_names;
  std::vector<std::uint8_t> test;
  parsnets_arrays arrays = PARSNETS_ARRAYS_INIT;
};

/// Options of training by name.
using Options = std::vector<std::pair<std::string, std::string>>;

inline OptionsHandle handle_with(const Options& values) {
  parsnets_options* made = nullptr;
  EXPECT_OK(parsnets_options_create(&made));
  for (const auto& [name, value] : values) EXPECT_OK(parsnets_options_set(made, name.c_str(), value.c_str()));
  return OptionsHandle(made);
}

inline ModelHandle trained(const parsnets_dataset* data, const Options& options = {{"method", "ridge"}},
                           std::uint32_t threads = 1) {
  parsnets_model* model = nullptr;
  EXPECT_OK(parsnets_train(data, handle_with(options).get(), threads, nullptr, nullptr, &model));
  return ModelHandle(model);
}

/// A small data set and a model of it.
struct SmallModel {
  explicit SmallModel(const Options& options = {{"method", "ridge"}}) : model(trained(data.get(), options)) {}

  SmallArrays small;
  DatasetHandle data = small.handle();
  ModelHandle model;
};

inline parsnets_status add_class(parsnets_model* model, const char* name, const float* semantics, std::size_t m) {
  return parsnets_model_add_classes(model, &name, semantics, 1, m);
}

inline ModelHandle loaded(const std::string& file) {
  parsnets_model* model = nullptr;
  EXPECT_OK(parsnets_model_load(file.c_str(), &model));
  return ModelHandle(model);
}

/// The same model in C++.
inline Model in_cpp(const parsnets_model* model) {
  const TempDir dir;
  const std::string file = (dir / "m.safetensors").string();
  EXPECT_OK(parsnets_model_save(model, file.c_str()));
  return load_model(file);
}

inline ModelHandle clone_of(const parsnets_model* model) {
  parsnets_model* copy = nullptr;
  EXPECT_OK(parsnets_model_clone(model, &copy));
  return ModelHandle(copy);
}

inline DeviceHandle exported_from(const parsnets_model* model) {
  parsnets_device* device = nullptr;
  EXPECT_OK(parsnets_export(model, nullptr, nullptr, 1, nullptr, nullptr, &device, nullptr));
  return DeviceHandle(device);
}

/// A struct of this version, all zero.
template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

inline parsnets_model_info info_of(const parsnets_model* model) {
  auto info = sized<parsnets_model_info>();
  EXPECT_OK(parsnets_model_get_info(model, &info));
  return info;
}

inline parsnets_dataset_info info_of(const parsnets_dataset* data) {
  auto info = sized<parsnets_dataset_info>();
  EXPECT_OK(parsnets_dataset_get_info(data, &info));
  return info;
}

inline std::vector<std::int32_t> list_of(const parsnets_dataset* data, std::int32_t list) {
  const std::int32_t* samples = nullptr;
  std::size_t count = 0;
  EXPECT_OK(parsnets_dataset_split(data, list, &samples, &count));
  return {samples, samples + count};
}

inline bool last_error_has(const std::string& text) {
  return std::string(parsnets_last_error()).find(text) != std::string::npos;
}

/// Whether a call failed as expected, with a message that has this text.
inline testing::AssertionResult fails(parsnets_status found, parsnets_status expected, const std::string& text) {
  if (found == expected && last_error_has(text)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "status " << found << ", " << parsnets_last_error();
}

}  // namespace parsnets::test
