#include "formats/safetensors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "expect.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

void write_raw(const std::filesystem::path& path, std::string header, const std::string& payload,
               std::uint64_t length = ~0ull) {
  if (length == ~0ull) length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  write_text_file(path, bytes + header + payload);
}

}  // namespace

TEST(Safetensors, WrittenTensorsReadBack) {
  test::TempDir dir;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> flags{1, 0, 1};
  write_safetensors(dir / "t", {{"a", "b \"c\""}},
                    {{"x", "F32", {2, 3}, reinterpret_cast<const std::byte*>(values.data()), 24},
                     {"f", "U8", {3}, reinterpret_cast<const std::byte*>(flags.data()), 3}});
  const SafetensorsFile file(dir / "t");
  EXPECT_EQ(file.metadata().at("a"), "b \"c\"");
  ASSERT_NE(file.find("x"), nullptr);
  EXPECT_EQ(file.find("x")->shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(file.find("x")->data, values.data(), 24), 0);
  EXPECT_EQ(std::memcmp(file.find("f")->data, flags.data(), 3), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.find("x")->data) % 64, 0u);
  EXPECT_EQ(file.find("y"), nullptr);
}

TEST(Safetensors, MalformedFilesAreRefused) {
  test::TempDir dir;
  const std::string good = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  write_raw(dir / "good", good, "1234");
  EXPECT_NO_THROW(SafetensorsFile(dir / "good"));
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "12345678"},              // size differs from shape
      {R"({"x":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "1234"},                  // unknown type
      {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234"},                  // beyond the file
      {R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678"},              // gap
      {good, "12345"},                                                                        // trailing bytes
      {R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", ""},  // overflow
      {R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"},                 // negative
      {R"({"x":{"dtype":"F32","shape":[1]}})", "1234"},                                       // no offsets
      {R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", "1234"},         // unknown key
      {R"({"__metadata__":{"a":1}})", ""},                                                    // not a string
      {R"({"__metadata__":{"a":"1","a":"2"}})", ""},                                          // a key twice
      {good.substr(0, good.size() - 1) + "," + good.substr(1), "1234"},                       // a tensor twice
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "1234"},  // overlap
      {"[]", ""},
      {"{", ""},
      {std::string(5000, '['), ""}};
  for (const auto& [header, payload] : cases) {
    write_raw(dir / "bad", header, payload);
    EXPECT_THROW(SafetensorsFile(dir / "bad"), Error) << header.substr(0, 80);
  }
  write_raw(dir / "bad", good, "1234", 1ull << 60);
  EXPECT_THROW(SafetensorsFile(dir / "bad"), Error);
  const std::vector<std::pair<std::string, std::string>> kinds{
      {std::string("\x08\x08\x12\x08parsnets", 12), "an ONNX file"},
      {std::string("\x93NUMPY\x01\x00v\x00", 10), "an .npy array"},
      {"\x89PNG\r\n\x1A\n0000", "a PNG image"},
      {"class,attribute\n", "another kind of file"}};
  for (const auto& [bytes, kind] : kinds) {
    write_text_file(dir / "bad", bytes);
    const Error error = test::error_of([&] { SafetensorsFile(dir / "bad"); });
    EXPECT_EQ(error.parts().found, kind);
    EXPECT_EQ(error.parts().advice, "this is not a ParsNets model");
  }
  write_text_file(dir / "bad", "1234567");
  EXPECT_THROW(SafetensorsFile(dir / "bad"), Error);
}

TEST(Safetensors, AHeaderOfManyEntriesIsReadInTimeThatGrowsWithItsLength) {
  test::TempDir dir;
  const auto cost = [&](int entries) {
    std::string header = "{";
    for (int i = 0; i < entries; ++i)
      header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    write_raw(dir / "many", header + "}", "");
    const std::clock_t start = std::clock();
    const SafetensorsFile file(dir / "many");
    for (int i = 0; i < entries; ++i) EXPECT_NE(file.find(std::to_string(i)), nullptr);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double few = std::min({cost(500), cost(500), cost(500)});
  EXPECT_LT(std::min(cost(8000), cost(8000)), (few + 1e-3) * 80);  // quadratic time would be 256 times as much
}

}  // namespace parsnets
