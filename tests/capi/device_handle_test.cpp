#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "capi/small_handles.hpp"
#include "parsnets/device.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

parsnets_device_info device_info_of(const parsnets_device* device) {
  auto info = sized<parsnets_device_info>();
  EXPECT_OK(parsnets_device_get_info(device, &info));
  return info;
}

struct Trained : SmallModel {
  Trained() : SmallModel({{"method", "parsnets"}, {"networks", "8"}, {"active", "3"}, {"refine-steps", "2"}}) {}
};

DeviceHandle device_from(const std::filesystem::path& file) {
  parsnets_device* read = nullptr;
  EXPECT_OK(parsnets_device_load(file.c_str(), &read));
  return DeviceHandle(read);
}

}  // namespace

TEST(CApiDevice, TheFileIsThatOfCpp) {
  Trained t;
  const TempDir dir;
  const Model cpp = in_cpp(t.model.get());
  ThreadPool pool(1);
  parsnets_export_options options = PARSNETS_EXPORT_OPTIONS_INIT;
  options.precision = PARSNETS_FLOAT16;
  options.rank = 4;
  parsnets_device* made = nullptr;
  auto result = sized<parsnets_export_result>();
  ASSERT_OK(parsnets_export(t.model.get(), nullptr, &options, 1, nullptr, nullptr, &made, &result));
  const DeviceHandle device(made);
  EXPECT_EQ(result.precision, PARSNETS_FLOAT16);
  EXPECT_EQ(result.rank, 4);
  EXPECT_EQ(result.has_validation, 0);
  const DeviceModel expected(device_file(cpp, Precision::float16, 4, pool), "expected");
  const auto info = device_info_of(device.get());
  ASSERT_EQ(info.bytes, expected.bytes().size());
  EXPECT_TRUE(std::equal(expected.bytes().begin(), expected.bytes().end(), static_cast<const std::byte*>(info.file)));
  EXPECT_EQ(info.dimensions, cpp.dimensions);
  EXPECT_EQ(info.attributes, cpp.attributes());
  EXPECT_EQ(info.outputs, cpp.outputs());
  EXPECT_EQ(info.work_bytes, expected.work_bytes());
  EXPECT_EQ(info.precision, PARSNETS_FLOAT16);
  EXPECT_EQ(info.rank, 4);
  EXPECT_EQ(info.source, nullptr);
  EXPECT_EQ(info.multiply_adds, expected.multiply_adds());
  EXPECT_EQ(info.seen_classes, t.small.data.seen_classes().size());
  EXPECT_TRUE(std::equal(info.seen, info.seen + info.classes, cpp.classes.seen.begin(), cpp.classes.seen.end()));
  const char* name = nullptr;
  ASSERT_OK(parsnets_device_class_name(device.get(), 2, &name));
  EXPECT_EQ(name, cpp.classes.names[2]);
  EXPECT_EQ(parsnets_device_class_name(device.get(), info.classes, &name), PARSNETS_USAGE);

  const std::size_t n = 100, c = info.classes;
  std::vector<float> scores(n * c);
  ASSERT_OK(parsnets_device_scores(device.get(), t.small.arrays.features, n, info.dimensions, 2, scores.data(), c));
  const Matrix<float> wanted = expected.scores({t.small.arrays.features, n, info.dimensions}, pool);
  EXPECT_TRUE(std::ranges::equal(wanted.values(), scores));
  EXPECT_EQ(parsnets_device_scores(device.get(), t.small.arrays.features, n, info.dimensions - 1, 1, scores.data(), c),
            PARSNETS_BAD_INPUT);

  const auto file = dir / "m.pnrt";
  ASSERT_OK(parsnets_device_save(device.get(), file.c_str()));
  EXPECT_EQ(device_info_of(device_from(file).get()).bytes, info.bytes);
  ASSERT_OK(parsnets_device_save_header(device.get(), (dir / "m.h").c_str(), "small"));
  EXPECT_TRUE(same_bytes(read_text_file(dir / "m.h"), c_header(expected.bytes(), "small")));
  EXPECT_EQ(parsnets_device_save_header(device.get(), (dir / "n.h").c_str(), "two words"), PARSNETS_USAGE);
}

TEST(CApiDevice, WithDataTheCostIsMeasured) {
  Trained t;
  parsnets_device* made = nullptr;
  auto result = sized<parsnets_export_result>();
  parsnets_export_options options = PARSNETS_EXPORT_OPTIONS_INIT;
  options.max_drop = 5;  // a single sample is almost a point here
  ASSERT_OK(parsnets_export(t.model.get(), t.data.get(), &options, 2, nullptr, nullptr, &made, &result));
  const DeviceHandle device(made);
  EXPECT_EQ(result.precision, PARSNETS_INT8);
  EXPECT_EQ(result.has_validation, 1);
  EXPECT_GT(result.zsl_before, 0);
  EXPECT_NEAR(result.zsl_after, result.zsl_before, 5);
  auto of_model = sized<parsnets_evaluation>(), of_device = sized<parsnets_evaluation>();
  ASSERT_OK(parsnets_evaluate(t.model.get(), t.data.get(), nullptr, 1, nullptr, nullptr, &of_model));
  ASSERT_OK(parsnets_device_evaluate(device.get(), t.data.get(), 1, nullptr, nullptr, &of_device));
  EXPECT_GT(of_device.h, 0);
  EXPECT_NEAR(of_device.zsl_top1_per_class, of_model.zsl_top1_per_class, 2);
}

TEST(CApiDevice, ImpossibleRequestsAreRefused) {
  Trained t;
  parsnets_device* made = nullptr;
  const auto status = [&](auto change, const parsnets_dataset* data = nullptr) {
    parsnets_export_options options = PARSNETS_EXPORT_OPTIONS_INIT;
    change(options);
    return parsnets_export(t.model.get(), data, &options, 1, nullptr, nullptr, &made, nullptr);
  };
  EXPECT_EQ(status([](auto& o) { o.precision = 4; }), PARSNETS_USAGE);
  EXPECT_EQ(status([](auto& o) { o.rank = -2; }), PARSNETS_USAGE);
  EXPECT_EQ(status([](auto& o) { o.rank = 9; }), PARSNETS_USAGE);
  EXPECT_EQ(status([](auto& o) { o.max_drop = std::nan(""); }), PARSNETS_USAGE);
  EXPECT_EQ(status([](auto& o) { o.max_bytes = 100; }), PARSNETS_USAGE) << "without data";
  EXPECT_EQ(status([](auto& o) { o.max_bytes = 100; }, t.data.get()), PARSNETS_FAILURE) << "nothing is that small";
  const auto reverse = trained(t.data.get(), {{"method", "reverse-ridge"}});
  EXPECT_EQ(parsnets_export(reverse.get(), nullptr, nullptr, 1, nullptr, nullptr, &made, nullptr), PARSNETS_USAGE);
  TempDir dir;
  EXPECT_EQ(parsnets_device_load((dir / "none").c_str(), &made), PARSNETS_BAD_INPUT);
  ASSERT_OK(parsnets_model_save(t.model.get(), (dir / "m").c_str()));
  EXPECT_EQ(parsnets_device_load((dir / "m").c_str(), &made), PARSNETS_BAD_INPUT) << "a model file";
  EXPECT_EQ(made, nullptr);
}

TEST(CApiDevice, TellsTheSourceOfFeatures) {
  Trained t;
  const TempDir dir;
  Model model = in_cpp(t.model.get());
  model.record.data.source = FeatureSource{"n\xff.onnx", std::string(64, 'b'), "out", {}, 7};
  ThreadPool pool(1);
  const auto bytes = device_file(model, Precision::int8, 0, pool);
  write_text_file(dir / "m.pnrt", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const DeviceHandle device = device_from(dir / "m.pnrt");
  const auto info = device_info_of(device.get());
  ASSERT_NE(info.source, nullptr);
  const auto source = nlohmann::json::parse(info.source);
  EXPECT_EQ(source["sha256"], std::string(64, 'b'));
  EXPECT_EQ(source["backbone"], "n\xef\xbf\xbd.onnx") << "a byte that is no UTF-8 is replaced";
  EXPECT_EQ(source["preset"], "torchvision");
  EXPECT_EQ(source["width"], 224);
  EXPECT_EQ(source["dimensions"], 7);
  parsnets_device_info older{};  // of a caller that does not know the field
  older.size = offsetof(parsnets_device_info, source);
  EXPECT_OK(parsnets_device_get_info(device.get(), &older));
  EXPECT_EQ(older.source, nullptr);
  EXPECT_EQ(older.rank, info.rank);
}

}  // namespace parsnets::test
