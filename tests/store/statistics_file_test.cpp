#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <numeric>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "expect.hpp"
#include "features/statistics.hpp"
#include "formats/safetensors.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

Statistics small_statistics(std::size_t kept = 3) {
  Statistics made({FeatureScaling::l2, 2, kept}, {"cat", "dog", "owl"}, 4);
  Rng rng(5);
  Matrix<float> x(30, 4);
  std::vector<std::int32_t> labels, rows(30);
  for (float& v : x.values()) v = static_cast<float>(rng.normal());
  for (std::size_t l = 0; l < 30; ++l) labels.push_back(static_cast<std::int32_t>(l % 2));
  std::iota(rows.begin(), rows.end(), 0);
  ThreadPool pool(1);
  made.add(x.view(), labels, rows, pool);
  return made;
}

std::string error_of(const std::filesystem::path& file) {
  return test::message_or_none([&] { load_statistics(file); });
}

TEST(StatisticsFile, RoundTripKeepsEverything) {
  const test::TempDir dir;
  for (const std::size_t kept : {0, 3}) {
    Statistics made = small_statistics(kept);
    if (kept > 0) made.set_source(FeatureSource{"net.onnx", std::string(64, 'a'), "features", {}, 4});
    save_statistics(made, dir / "a");
    const Statistics loaded = load_statistics(dir / "a");
    EXPECT_EQ(loaded.source(), made.source());
    EXPECT_EQ(loaded.options(), made.options());
    EXPECT_EQ(loaded.samples(), 30u);
    EXPECT_EQ(loaded.class_names(), made.class_names());
    EXPECT_EQ(loaded.class_weights(), made.class_weights());
    EXPECT_TRUE(std::ranges::equal(loaded.class_sums().values(), made.class_sums().values()));
    for (std::size_t g = 0; g < 2; ++g)
      EXPECT_TRUE(std::ranges::equal(loaded.group_products()[g].values(), made.group_products()[g].values()));
    EXPECT_EQ(loaded.kept_rows(), made.kept_rows());
    save_statistics(loaded, dir / "b");
    EXPECT_EQ(read_text_file(dir / "a"), read_text_file(dir / "b"));
    EXPECT_TRUE(is_statistics_file(dir / "a"));
  }
}

/// A file as it is written, whose parts a test may spoil.
struct Spoiled {
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::vector<std::byte>> values;
  std::vector<TensorView> tensors;
};

std::string error_of_spoiled(const std::function<void(Spoiled&)>& spoil) {
  const test::TempDir dir;
  save_statistics(small_statistics(), dir / "a");
  const SafetensorsFile file(dir / "a");
  Spoiled parts{file.metadata(), {}, file.tensors()};
  for (auto& t : parts.tensors) {
    auto& values = parts.values[t.name];
    values.assign(t.data, t.data + t.bytes);
    t.data = values.data();
  }
  spoil(parts);
  if (parts.metadata["payload_crc32"] != "wrong") parts.metadata["payload_crc32"] = payload_checksum(parts.tensors);
  write_safetensors(dir / "b", parts.metadata, parts.tensors);
  return error_of(dir / "b");
}

template <class T>
void set(Spoiled& parts, const std::string& tensor, std::size_t place, T value) {
  reinterpret_cast<T*>(parts.values.at(tensor).data())[place] = value;
}

TEST(StatisticsFile, EveryFaultIsRefusedByName) {
  const auto fact = [](const char* from, const char* to) {
    return [=](Spoiled& parts) {
      std::string& text = parts.metadata["statistics"];
      ASSERT_NE(text.find(from), std::string::npos) << text;
      text.replace(text.find(from), std::string(from).size(), to);
    };
  };
  const std::vector<std::pair<std::function<void(Spoiled&)>, std::string>> faults{
      {[](Spoiled& p) { p.metadata["format"] = "parsnets-model"; }, "format: expected 'parsnets-statistics'"},
      {[](Spoiled& p) { p.metadata["format_version"] = "9"; }, "format_version: expected 1"},
      {[](Spoiled& p) { p.metadata.erase("classes"); }, "__metadata__.classes"},
      {[](Spoiled& p) { p.metadata["payload_crc32"] = "wrong"; }, "payload_crc32"},
      {[](Spoiled& p) { p.metadata["statistics"] = "[]"; }, "statistics: expected a JSON object"},
      {[](Spoiled& p) { p.metadata["statistics"] = "{"; }, "statistics"},
      {[](Spoiled& p) { p.metadata["classes"] = "[]"; }, "classes: expected a list of names"},
      {[](Spoiled& p) { p.metadata["classes"] = "[1,2,3]"; }, "names as strings"},
      {[](Spoiled& p) { p.metadata["classes"] = R"(["cat","cat","owl"])"; }, "each class only once"},
      {[](Spoiled& p) { p.metadata["classes"] = R"(["cat","dog"])"; }, "tensor 'class_weights'"},
      {fact("\"l2\"", "\"standardize\""), "statistics.feature_scaling"},
      {fact("\"features\":4", "\"features\":5"), "tensor 'class_sums'"},
      {fact("\"features\":4", "\"features\":0"), "statistics.features"},
      {fact("\"groups\":2", "\"groups\":3"), "tensor 'products'"},
      {fact("\"groups\":2", "\"groups\":-1"), "statistics.groups"},
      {fact("\"kept_rows\":3", "\"kept_rows\":2"), "kept"},
      {fact("\"kept\":6", "\"kept\":0"), "an unknown one"},
      {fact("\"samples\":30", "\"samples\":\"x\""), "statistics.samples"},
      {[](Spoiled& p) { p.tensors.pop_back(); }, "expected I32"},
      {[](Spoiled& p) { set<double>(p, "class_weights", 0, -1.0); }, "class_weights"},
      {[](Spoiled& p) { set<double>(p, "class_sums", 0, std::nan("")); }, "class_sums"},
      {[](Spoiled& p) { set<double>(p, "products", 3, std::numeric_limits<double>::infinity()); }, "products"},
      {[](Spoiled& p) { set<std::int32_t>(p, "kept_classes", 0, 7); }, "kept_classes"},
      {[](Spoiled& p) { set<double>(p, "kept_weights", 0, 0.0); }, "positive weights"},
      {[](Spoiled& p) { set<double>(p, "kept_weights", 0, 99.0); }, "that of the class"},
      {[](Spoiled& p) { set<float>(p, "kept_rows", 1, std::nanf("")); }, "finite numbers each"},
      {[](Spoiled& p) {
         for (std::size_t j = 0; j < 4; ++j)
           set<float>(p, "kept_rows", 4 + j, reinterpret_cast<float*>(p.values["kept_rows"].data())[j]);
       },
       "in the order of their hashes"},
  };
  for (const auto& [spoil, expected] : faults) EXPECT_MENTIONS(error_of_spoiled(spoil), expected);
  EXPECT_EQ(error_of_spoiled([](Spoiled&) {}), "");
}

TEST(StatisticsFile, EveryTruncationIsRefused) {
  const test::TempDir dir;
  save_statistics(small_statistics(), dir / "a");
  const std::string whole = read_text_file(dir / "a");
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    write_text_file(dir / "b", whole.substr(0, size));
    EXPECT_NE(error_of(dir / "b"), "") << size;
  }
}

}  // namespace
}  // namespace parsnets
