// What every function of the C ABI promises: NULL and wrong sizes are errors, nothing is thrown, messages are per
// thread.

#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>
#include <type_traits>
#include <utility>

#include "capi/small_handles.hpp"
#include "parsnets/version.hpp"

namespace parsnets::test {

namespace {

struct Everything : SmallModel {
  OptionsHandle options = handle_with({{"method", "ridge"}});
  parsnets_model_info info = info_of(model.get());
  const float* x = small.arrays.features;
  std::size_t d = info.dimensions, c = info.classes, m = info.attributes;
  std::vector<float> out = std::vector<float>(std::max(c, m));
};

/// Each pointer that is given must be: the call is an error with NULL for one of them after the other.
template <class... Parameters>
void expect_no_null(const char* name, parsnets_status (*function)(Parameters...),
                    std::type_identity_t<Parameters>... given) {
  const auto leave_out = [&](auto& one) {
    if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(one)>>) {
      if (one == nullptr) return;
      const auto kept = std::exchange(one, nullptr);
      EXPECT_EQ(function(given...), PARSNETS_USAGE) << name;
      one = kept;
    }
  };
  (leave_out(given), ...);
}
#define EXPECT_NO_NULL(function, ...) expect_no_null(#function, function, __VA_ARGS__)

}  // namespace

TEST(CApiStatus, NullIsAnErrorEverywhere) {
  Everything e;
  parsnets_dataset* data = nullptr;
  parsnets_options* options = nullptr;
  parsnets_model* model = nullptr;
  auto why = sized<parsnets_explanation>();
  auto figures = sized<parsnets_evaluation>();
  auto data_info = sized<parsnets_dataset_info>();
  auto device_info = sized<parsnets_device_info>();
  const char* text = nullptr;
  const std::int32_t* list = nullptr;
  std::size_t count = 0;
  std::int32_t best = 0;
  float* out = e.out.data();
  parsnets_dataset* const d = e.data.get();
  parsnets_options* const o = e.options.get();
  parsnets_model* const m = e.model.get();
  parsnets_device* device = nullptr;
  const auto exported = exported_from(m);
  const parsnets_device* const v = exported.get();
  const parsnets_report_run nameless{sizeof nameless, nullptr, m, nullptr, nullptr, 0};
  const parsnets_report_run *const run = &nameless, *const no_run = nullptr;
  EXPECT_NO_NULL(parsnets_dataset_load, "folder", nullptr, nullptr, nullptr, &data);
  EXPECT_NO_NULL(parsnets_dataset_from_arrays, &e.small.arrays, &data);
  EXPECT_NO_NULL(parsnets_dataset_get_info, d, &data_info);
  EXPECT_NO_NULL(parsnets_dataset_class_name, d, 0, &text);
  EXPECT_NO_NULL(parsnets_dataset_attribute_name, d, 0, &text);
  EXPECT_NO_NULL(parsnets_dataset_split, d, 0, &list, &count);
  EXPECT_NO_NULL(parsnets_options_create, &options);
  EXPECT_NO_NULL(parsnets_options_set, o, "method", "ridge");
  EXPECT_NO_NULL(parsnets_options_json, o, &text);
  EXPECT_NO_NULL(parsnets_options_describe, o, &text);
  EXPECT_NO_NULL(parsnets_train, d, o, 1, nullptr, nullptr, &model);
  EXPECT_NO_NULL(parsnets_model_load, "file", &model);
  EXPECT_NO_NULL(parsnets_model_save, m, "file");
  EXPECT_NO_NULL(parsnets_model_clone, m, &model);
  EXPECT_NO_NULL(parsnets_model_get_info, m, &e.info);
  EXPECT_NO_NULL(parsnets_model_class_name, m, 0, &text);
  EXPECT_NO_NULL(parsnets_model_attribute_name, m, 0, &text);
  EXPECT_NO_NULL(parsnets_model_feature_name, m, 0, &text);
  EXPECT_NO_NULL(parsnets_model_add_classes, m, &text, out, 1, e.m);
  EXPECT_NO_NULL(parsnets_model_remove_class, m, "a");
  EXPECT_NO_NULL(parsnets_model_calibrate, m, 0, 1);
  EXPECT_NO_NULL(parsnets_model_calibrate_on, m, e.x, &best, 1, e.d, 1);
  EXPECT_NO_NULL(parsnets_export, m, nullptr, nullptr, 1, nullptr, nullptr, &device, nullptr);
  EXPECT_NO_NULL(parsnets_device_load, "file", &device);
  EXPECT_NO_NULL(parsnets_device_save, v, "file");
  EXPECT_NO_NULL(parsnets_device_save_header, v, "file", "name");
  EXPECT_NO_NULL(parsnets_device_get_info, v, &device_info);
  EXPECT_NO_NULL(parsnets_device_class_name, v, 0, &text);
  EXPECT_NO_NULL(parsnets_device_scores, v, e.x, 1, e.d, 1, out, e.c);
  EXPECT_NO_NULL(parsnets_device_evaluate, v, d, 1, nullptr, nullptr, &figures);
  EXPECT_NO_NULL(parsnets_report, &run, 1, d, nullptr, 1, nullptr, nullptr, "file");
  EXPECT_NO_NULL(parsnets_predict_scores, m, e.x, 1, e.d, 1, out, e.c);
  EXPECT_NO_NULL(parsnets_predict_confidences, m, e.x, 1, e.d, 1, out, e.c);
  EXPECT_NO_NULL(parsnets_predict_top, m, e.x, 1, e.d, PARSNETS_ALL, 1, 1, &best, nullptr);
  EXPECT_NO_NULL(parsnets_predict_semantics, m, e.x, 1, e.d, 1, out, e.m);
  EXPECT_NO_NULL(parsnets_explain, m, e.x, e.d, &why, nullptr, nullptr, 0, nullptr, 0);
  EXPECT_EQ(parsnets_model_set_feature_names(nullptr, &text, 1), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_report(&run, 1, d, nullptr, 1, nullptr, nullptr, "file"), PARSNETS_USAGE) << "no name";
  EXPECT_EQ(parsnets_report(&no_run, 1, d, nullptr, 1, nullptr, nullptr, "file"), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_report(&run, 0, d, nullptr, 1, nullptr, nullptr, "file"), PARSNETS_USAGE);
  EXPECT_NO_NULL(parsnets_evaluate, m, d, nullptr, 1, nullptr, nullptr, &figures);
  EXPECT_TRUE(last_error_has("NULL"));
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(options, nullptr);
  EXPECT_EQ(model, nullptr);
  parsnets_dataset_free(nullptr);
  parsnets_options_free(nullptr);
  parsnets_model_free(nullptr);
}

TEST(CApiStatus, StructsOfOlderAndNewerHeadersWork) {
  Everything e;
  // Older: only the fields it has are written.
  parsnets_model_info info;
  std::memset(&info, 0xab, sizeof info);
  info.size = offsetof(parsnets_model_info, outputs);
  ASSERT_OK(parsnets_model_get_info(e.model.get(), &info));
  EXPECT_EQ(info.dimensions, e.d);
  EXPECT_EQ(info.attributes, e.m);
  EXPECT_EQ(info.size, offsetof(parsnets_model_info, outputs));
  std::size_t untouched;
  std::memset(&untouched, 0xab, sizeof untouched);
  EXPECT_EQ(info.outputs, untouched);
  // Newer: what this version does not know is zero.
  struct Newer {
    parsnets_model_info known;
    std::size_t unknown[3];
  } newer;
  std::memset(&newer, 0xab, sizeof newer);
  newer.known.size = sizeof newer;
  ASSERT_OK(parsnets_model_get_info(e.model.get(), &newer.known));
  EXPECT_EQ(newer.known.classes, e.c);
  for (const auto value : newer.unknown) EXPECT_EQ(value, 0u);

  // Input: what an older struct lacks has its default, whatever lies behind it in memory.
  parsnets_arrays older = e.small.arrays;
  older.size = offsetof(parsnets_arrays, name);
  older.name = reinterpret_cast<const char*>(1);
  older.test = reinterpret_cast<const std::uint8_t*>(1);
  parsnets_dataset* data = nullptr;
  ASSERT_OK(parsnets_dataset_from_arrays(&older, &data));
  EXPECT_STREQ(info_of(data).name, "arrays");
  EXPECT_EQ(info_of(data).trainval, e.small.arrays.samples);
  parsnets_dataset_free(data);
  // Newer input: a field that this version does not know must not have been set.
  struct NewerArrays {
    parsnets_arrays known;
    std::size_t unknown;
  } more{e.small.arrays, 0};
  more.known.size = sizeof more;
  ASSERT_OK(parsnets_dataset_from_arrays(&more.known, &data));
  parsnets_dataset_free(data);
  more.unknown = 1;
  EXPECT_EQ(parsnets_dataset_from_arrays(&more.known, &data), PARSNETS_USAGE);
}

TEST(CApiStatus, ImpossibleStructSizesAreRefused) {
  Everything e;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, sizeof(std::size_t), sizeof(parsnets_model_info) + 3,
                                 std::size_t{1} << 20, ~std::size_t{0}}) {
    parsnets_model_info info{};
    parsnets_dataset_info data_info{};
    parsnets_explanation why{};
    parsnets_evaluation figures{};
    parsnets_arrays arrays = e.small.arrays;
    parsnets_load_options load = PARSNETS_LOAD_OPTIONS_INIT;
    info.size = data_info.size = why.size = figures.size = arrays.size = load.size = size;
    parsnets_dataset* data = nullptr;
    EXPECT_EQ(parsnets_model_get_info(e.model.get(), &info), PARSNETS_USAGE) << size;
    EXPECT_EQ(parsnets_dataset_get_info(e.data.get(), &data_info), PARSNETS_USAGE) << size;
    EXPECT_EQ(parsnets_explain(e.model.get(), e.x, e.d, &why, nullptr, nullptr, 0, nullptr, 0), PARSNETS_USAGE) << size;
    EXPECT_EQ(parsnets_evaluate(e.model.get(), e.data.get(), nullptr, 1, nullptr, nullptr, &figures), PARSNETS_USAGE)
        << size;
    EXPECT_EQ(parsnets_dataset_from_arrays(&arrays, &data), PARSNETS_USAGE) << size;
    EXPECT_EQ(parsnets_dataset_load("folder", &load, nullptr, nullptr, &data), PARSNETS_USAGE) << size;
    EXPECT_TRUE(last_error_has("parsnets_load_options"));
  }
}

TEST(CApiStatus, ExceptionsOfAProgressFunctionBecomeAStatus) {
  Everything e;
  parsnets_model* model = nullptr;
  const auto train_with = [&](parsnets_progress_function progress) {
    return parsnets_train(e.data.get(), e.options.get(), 1, progress, nullptr, &model);
  };
  EXPECT_EQ(train_with([](const parsnets_progress*, void*) -> int { throw std::bad_alloc(); }), PARSNETS_FAILURE);
  EXPECT_TRUE(last_error_has("memory"));
  EXPECT_EQ(train_with([](const parsnets_progress*, void*) -> int { throw 7; }), PARSNETS_FAILURE);
  EXPECT_TRUE(last_error_has("unknown"));
  EXPECT_EQ(train_with([](const parsnets_progress*, void*) -> int { throw std::runtime_error("broke"); }),
            PARSNETS_FAILURE);
  EXPECT_STREQ(parsnets_last_error(), "broke");
  EXPECT_EQ(model, nullptr);
}

TEST(CApiStatus, EachThreadHasItsOwnLastError) {
  EXPECT_EQ(parsnets_options_create(nullptr), PARSNETS_USAGE);
  const std::string mine = parsnets_last_error();
  std::thread([] {
    EXPECT_STREQ(parsnets_last_error(), "");
    EXPECT_EQ(parsnets_model_load("no such file", nullptr), PARSNETS_USAGE);
    EXPECT_STRNE(parsnets_last_error(), "");
  }).join();
  EXPECT_EQ(mine, parsnets_last_error());
}

TEST(CApiStatus, OptionsInAMessageAreNamedNeutrallyAndAsParts) {
  Everything e;
  EXPECT_EQ(parsnets_options_set(e.options.get(), "max-passes", "-1"), PARSNETS_USAGE);
  const std::string message = parsnets_last_error();
  EXPECT_TRUE(message.starts_with("'max-passes': expected an integer")) << message;
  const auto parts = nlohmann::json::parse(parsnets_last_error_parts());
  ASSERT_EQ(parts.size(), 2u) << parts;
  EXPECT_EQ(parts[0], nlohmann::json({{"option", "max-passes"}}));
  EXPECT_EQ("'max-passes'" + parts[1].get<std::string>(), message);
  std::thread([] { EXPECT_STREQ(parsnets_last_error_parts(), "[]"); }).join();
}

TEST(CApiStatus, VersionsAreThoseOfTheBuild) {
  EXPECT_STREQ(parsnets_version(), PARSNETS_VERSION);
  EXPECT_EQ(parsnets_abi_version(), static_cast<std::uint32_t>(PARSNETS_ABI_VERSION));
}

TEST(CApiStatus, AnAbsurdNumberOfThreadsIsRefused) {
  Everything e;
  EXPECT_EQ(parsnets_predict_scores(e.model.get(), e.x, 1, e.d, 1025, e.out.data(), e.c), PARSNETS_USAGE);
  parsnets_model* model = nullptr;
  EXPECT_EQ(parsnets_train(e.data.get(), e.options.get(), 0xffffffffu, nullptr, nullptr, &model), PARSNETS_USAGE);
}

}  // namespace parsnets::test
