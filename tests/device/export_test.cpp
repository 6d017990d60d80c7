#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/file.hpp"
#include "expect.hpp"
#include "pool_test.hpp"
#include "small_device.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

using CHeader = test::PoolTest;

/// What a program prints that includes the header twice and ends well after these statements.
std::string output_with(const std::string& header, const std::string& statements) {
  const test::TempDir dir;
  write_text_file(dir / "model.h", header);
  write_text_file(dir / "main.c", "#include <stdio.h>\n#include \"model.h\"\n#include \"model.h\"\nint main(void) { " +
                                      statements + " }\n");
  const std::string command =
      "cd '" + dir.path().string() + "' && cc -std=c99 -Wall -Wextra -Werror -pedantic main.c -o main && ./main > out";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_text_file(dir / "out");
}

struct Export : test::PoolTest {
  Dataset data = test::small_training_set();
  Model model = train(data, test::small_options("parsnets"), pool);
};

TEST_F(Export, MeasuresTheCostOnValidationClasses) {
  const Exported exported = export_model(model, &data, {.precision = Precision::float32}, pool);
  ASSERT_TRUE(exported.validated);
  EXPECT_GT(exported.before.zsl, 30);
  EXPECT_NEAR(exported.before.zsl, exported.choice.accuracy.zsl, 1e-9);  // float32 loses nothing
  EXPECT_EQ(exported.file, device_file(model, Precision::float32, 0, pool));
}

TEST_F(Export, WarnsThatSemanticTargetsAreExportedWithoutRejection) {
  Model semantics = test::small_model("anchor", pool), classes = test::small_model("classes", pool);
  const auto plain = device_file(semantics, Precision::int8, 0, pool);
  EXPECT_TRUE(export_model(semantics, nullptr, {}, pool).warnings.empty());
  for (Model* one : {&semantics, &classes}) one->rejection.false_accept = 0.05;
  const Exported exported = export_model(semantics, nullptr, {}, pool);
  EXPECT_EQ(exported.file, plain);
  ASSERT_EQ(exported.warnings.size(), 1u);
  EXPECT_NE(exported.warnings[0].find("unknown samples"), std::string::npos) << exported.warnings[0];
  EXPECT_TRUE(export_model(classes, nullptr, {}, pool).warnings.empty());
}

TEST_F(Export, RefusesADropAboveTheLimit) {
  ExportOptions options{.precision = Precision::float32, .max_drop = 0};
  EXPECT_NO_THROW(export_model(model, &data, options, pool)) << "float32 costs nothing";
  options.max_drop = -0.01;  // so that costing nothing is too much
  test::expect_error([&] { export_model(model, &data, options, pool); }, "max-drop", ErrorCode::failure);
}

TEST_F(Export, ChoosesByValidationUnderABoundOnBytes) {
  const std::size_t most = device_file(model, Precision::float16, 4, pool).size();
  ExportOptions options{.max_bytes = most, .max_drop = 100};
  const Exported exported = export_model(model, &data, options, pool);
  EXPECT_LE(exported.file.size(), most);
  ASSERT_GT(exported.tried.size(), 3u);
  for (const auto& one : exported.tried) {
    EXPECT_LE(one.bytes, most);
    EXPECT_LE(one.accuracy.zsl + one.accuracy.h, exported.choice.accuracy.zsl + exported.choice.accuracy.h);
  }
  options.max_bytes = 100;
  EXPECT_THROW(export_model(model, &data, options, pool), Error);
}

TEST_F(Export, PrefersWhatKeepsWithinTheDrop) {
  const std::size_t most = device_file(model, Precision::float32, 0, pool).size();
  const ExportOptions options{.max_bytes = most, .max_drop = 0};
  const Exported exported = export_model(model, &data, options, pool);  // float32 is among them and costs nothing
  EXPECT_LE(exported.before.zsl - exported.choice.accuracy.zsl, 0);
  EXPECT_LE(exported.before.h - exported.choice.accuracy.h, 0);
}

TEST_F(Export, RefusesDataTheModelWasNotTrainedOn) {
  Dataset scaled = test::small_training_set();
  scaled.semantics.values(static_cast<std::size_t>(data.labels[static_cast<std::size_t>(data.split.trainval[0])]), 0) *=
      3;
  EXPECT_THROW(export_model(model, &scaled, {}, pool), Error) << "other attributes";
  Dataset other = test::small_training_set(4);
  other.split.trainval.pop_back();
  EXPECT_EQ(test::code_of([&] { export_model(model, &other, {}, pool); }), ErrorCode::bad_input);
  EXPECT_THROW(export_model(model, nullptr, {.max_bytes = 1000}, pool), Error);
}

TEST_F(CHeader, CompilesAndHoldsTheVeryBytes) {
  const auto file = device_file(test::small_model("anchor", pool), Precision::int8, 2, pool);
  const std::string written =
      output_with(c_header(file, "small_model"),
                  "return small_model_work_bytes < 100 || fwrite(small_model, 1, small_model_bytes, stdout) != sizeof "
                  "small_model;");
  ASSERT_EQ(written.size(), file.size());
  EXPECT_EQ(std::memcmp(written.data(), file.data(), file.size()), 0);
}

TEST_F(CHeader, NamesTheNetworkOfTheFeaturesByItsHashAlone) {
  Model model = test::small_model("linear", pool);
  EXPECT_EQ(c_header(device_file(model, Precision::int8, 0, pool), "m").find("sha256"), std::string::npos);
  model.record.data.source = test::small_source();
  model.record.data.source->layer = "*/ int layer; /*";
  model.record.data.source->backbone = "*/ int backbone; /*";
  const std::string text = c_header(device_file(model, Precision::int8, 0, pool), "m");
  EXPECT_NE(text.find("sha256 " + test::small_source().sha256 + ",\n * 96 x 64 tf whole:"), std::string::npos) << text;
  EXPECT_EQ(text.find("layer"), std::string::npos);
  EXPECT_EQ(text.find("int backbone"), std::string::npos);
  EXPECT_EQ(output_with(text, "puts(\"fine\"); return m[0] == 0 || m_bytes == 0;"), "fine\n");
}

TEST_F(CHeader, RefusesANameThatIsNoIdentifier) {
  for (const char* name : {"", "2fast", "a-b", "a b", "int", "size_t"}) EXPECT_THROW(c_header({}, name), Error) << name;
}

}  // namespace
}  // namespace parsnets
