// predict and explain from photographs: the classes of extracted features, names, unreadable images, other networks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backbones/onnx_bytes.hpp"
#include "cli/run_cli.hpp"
#include "images/bmp_photos.hpp"
#include "pooling_network.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

constexpr std::size_t kSide = 32, kSquare = 8, kPerClass = 8;
const std::vector<std::string> kClasses{"amber", "blue", "cyan", "green", "grey", "pink", "red", "violet"};

/// Squares in the colours of a class, with noise.
std::string photo(unsigned of_class, unsigned seed) {
  std::mt19937 colours(of_class), noise(seed);
  std::string file = bmp_photo(kSide, kSide, 0);
  std::vector<int> squares((kSide / kSquare) * (kSide / kSquare) * 3);
  for (int& value : squares) value = 30 + static_cast<int>(colours() % 196);
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        file[54 + 3 * (y * kSide + x) + c] = static_cast<char>(
            squares[3 * (y / kSquare * (kSide / kSquare) + x / kSquare) + c] + static_cast<int>(noise() % 60) - 30);
  return file;
}

/// Photographs of some classes, what was extracted from them, and a model of it.
struct Studio {
  TempDir dir;
  std::string photos = path("photos"), network = path("net.onnx"), data = path("data"), model = path("m.safetensors"),
              problem;

  std::string path(const std::string& name) const { return dir.file(name); }

  Studio() {
    write_pooling_network(network, kSide, kSquare);
    std::string attributes = "class,a,b,c,d,e\n";
    for (unsigned c = 0; c < kClasses.size(); ++c) {
      fs::create_directories(photos + "/" + kClasses[c]);
      for (unsigned i = 0; i < kPerClass; ++i)
        write_text_file(fmt::format("{}/{}/{}.bmp", photos, kClasses[c], i), photo(c, 100 * c + i + 1));
      std::mt19937 draw(c + 50);
      attributes += kClasses[c];
      for (int a = 0; a < 5; ++a) attributes += "," + std::to_string(draw() % 100);
      attributes += "\n";
    }
    write_text_file(path("attributes.csv"), attributes);
    const auto extracted = run_cli({"extract", "--images", photos, "--backbone", network, "--attributes",
                                    path("attributes.csv"), "--out", data, "--quiet"});
    if (extracted.err.find("need the module") != std::string::npos) {
      problem = "NOT TESTED: this build reads no photographs: " + extracted.err;
      return;
    }
    expect_ok(extracted);
    run_ok({"data", "split", data});
    run_ok({"train", "--data", data, "--out", model, "--quiet"});
  }
};

const Studio& studio() {
  static const Studio made;
  return made;
}

class PhotoRows : public FolderTest {
 protected:
  void SetUp() override {
    if (!s.problem.empty()) GTEST_SKIP() << s.problem;
  }
  CliResult predict(const Words& options) const { return run("predict", options); }
  CliResult run(const std::string& command, const Words& options) const {
    return run_cli(Words{command, "--model", s.model, "--backbone", s.network} + options);
  }

  const Studio& s = studio();
};

TEST_F(PhotoRows, PhotographsHaveTheClassesOfTheirExtractedFeatures) {
  const auto expected = run_json({"predict", "--model", s.model, "--input", s.data + "/features.npy"});
  for (const Words& options : {Words{}, Words{"--batch", "1"}, Words{"--threads", "2"}}) {
    const auto found = expect_ok(predict(options + Words{"--input", s.photos, "--json"})).json();
    ASSERT_EQ(found["predictions"].size(), kClasses.size() * kPerClass);
    for (std::size_t i = 0; i < found["predictions"].size(); ++i) {
      EXPECT_EQ(found["predictions"][i]["image"], fmt::format("{}/{}.bmp", kClasses[i / kPerClass], i % kPerClass));
      EXPECT_EQ(found["predictions"][i]["top"], expected["predictions"][i]["top"]) << "the same bits";
    }
    EXPECT_EQ(found["unreadable"].size(), 0u);
  }
}

TEST_F(PhotoRows, AFileAFolderOrSeveral) {
  const std::string one = s.photos + "/red/0.bmp", comma = s.path("a, b.bmp");
  fs::copy_file(one, comma, fs::copy_options::overwrite_existing);
  const auto images = [&](const std::string& input) {
    std::vector<std::string> names;
    const auto found = expect_ok(predict({"--input", input, "--json"})).json();
    for (const auto& item : found["predictions"]) names.push_back(item["image"]);
    return names;
  };
  EXPECT_EQ(images(one), std::vector{one});
  EXPECT_EQ(images(comma), std::vector{comma});
  EXPECT_EQ(images(one + "," + s.photos + "/blue").size(), 1 + kPerClass);
  EXPECT_EQ(images(one + ",\"" + comma + "\"").size(), 2u);
  EXPECT_EQ(predict({"--input", s.path("none.bmp")}).exit_code, 3);
}

TEST_F(PhotoRows, UnreadableImagesAreSkippedToldAndCounted) {
  const std::string folder = dir.file("mixed"), out = dir.file("p.csv");
  fs::create_directories(folder + "/below");
  fs::copy_file(s.photos + "/red/1.bmp", folder + "/a.bmp");
  fs::copy_file(s.photos + "/blue/1.bmp", folder + "/below/b.bmp");
  write_text_file(folder + "/cut.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\b\2\0\0\0", 29));
  write_text_file(folder + "/text.jpg", "no photograph");
  write_text_file(folder + "/other.heic", "another format");
  const auto csv = expect_ok(predict({"--input", folder, "--top", "1"}));
  EXPECT_EQ(csv.out.rfind("sample,image,rank,class,confidence\n0,a.bmp,1,", 0), 0u) << csv.out;
  EXPECT_TRUE(has(csv.out, "\n1,below/b.bmp,1,"));
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 3);
  EXPECT_TRUE(has_all(
      csv.err, {"cut.png: cannot be read, skipped", "text.jpg: cannot be read, skipped", "endings: 1 file (1 .heic)"}));
#ifndef PARSNETS_SANITIZED  // whose reports come from readers, too: there libpng has a standard error to write to
  EXPECT_EQ(predict({"--input", folder, "--top", "1", "--quiet"}).err, "warning: 2 images could not be read\n");
  EXPECT_EQ(predict({"--input", folder, "--quiet", "--json"}).err, "") << "the count is in the output";
  EXPECT_EQ(predict({"--input", folder, "--quiet", "--table"}).err, "");
#endif
  const auto json = predict({"--input", folder, "--json"}).json();
  ASSERT_EQ(json["unreadable"].size(), 2u);
  EXPECT_EQ(json["unreadable"][0]["image"], "cut.png");
  EXPECT_NE(json["unreadable"][1]["problem"], "");
  EXPECT_TRUE(
      has(predict({"--input", folder, "--table"}).out, "\n2 photographs, 5 of 8 classes each\n2 images could not"));
  const auto written = predict({"--input", folder, "--top", "1", "--out", out, "--json"});
  EXPECT_TRUE(has_members(written.json(), {{"unreadable", 2}, {"samples", 2}}));
  EXPECT_TRUE(same_bytes(read_text_file(out), csv.out));

  fs::remove(out);
  expect_error(predict({"--input", folder + "/cut.png," + folder + "/text.jpg", "--out", out}), 3,
               "expected at least one readable image, found none of 2");
  EXPECT_FALSE(fs::exists(out));
  const auto alone =
      expect_error(predict({"--input", folder + "/text.jpg"}), 3,
                   "expected a JPEG, PNG, WebP or BMP image, found another kind of file; convert it to JPEG");
  EXPECT_EQ(alone.out, "");
}

TEST_F(PhotoRows, SamplesHaveTheNumbersThatExplainTakes) {
  const std::string folder = dir.path().string();
  for (const char* name : {"0.png", "2.jpg", "4.png"}) write_text_file(dir / name, "no photograph");
  fs::copy_file(s.photos + "/red/1.bmp", dir / "1.bmp");
  fs::copy_file(s.photos + "/blue/1.bmp", dir / "3.bmp");
  const auto found = predict({"--input", folder, "--json", "--batch", "2"}).json();
  ASSERT_EQ(found["predictions"].size(), 2u);
  EXPECT_EQ(found["unreadable"][1]["sample"], 2);
  EXPECT_EQ(found["unreadable"][2]["sample"], 4);
  EXPECT_TRUE(has(predict({"--input", folder}).out, "\n3,3.bmp,1,"));
  const auto explain = [&](const std::string& row) {
    return run("explain", {"--input", folder, "--row", row, "--json"});
  };
  for (const auto& one : found["predictions"]) {
    EXPECT_TRUE(has_members(explain(one["sample"].dump()).json(),
                            {{"sample", one["sample"]}, {"image", one["image"]}, {"winner", one["top"][0]["class"]}}));
  }
  expect_error(explain("2"), 3, "2.jpg: expected a JPEG, ");
  EXPECT_TRUE(has(explain("5").err, "from 0 to 4"));
}

TEST_F(PhotoRows, FeaturesThatAreNotFiniteAreSkippedAndNamed) {
  fs::copy(studio().data, dir / "data");
  fs::remove(dir / "data/extraction.json");
  const std::string model = dir.file("m.safetensors"), network = dir.file("log.onnx");
  run_ok({"train", "--data", dir.file("data"), "--out", model, "--method", "eszsl", "--quiet"});
  write_text_file(network, onnx_file({{onnx_node("Log", {"image"}, "y"), onnx_node("Flatten", {"y"}, "z")},
                                      {},
                                      {onnx_value("image", {0, 3, 4, 4})},
                                      {onnx_value("z", {})}}));
  write_text_file(dir / "log.json", R"({"preset": "tf", "fit": "whole", "width": 4, "height": 4})");
  fs::create_directories(dir / "photos");
  const std::string white = bmp_photo(8, 8, 0).substr(0, 54) + std::string(3 * 64, '\xff');
  write_text_file(dir / "photos/a.bmp", white);
  write_photo(dir / "photos/b.bmp", 1);
  write_text_file(dir / "photos/c.bmp", white);
  const auto predict_in = [&](const std::string& input) {
    return run_cli(
        {"predict", "--model", model, "--backbone", network, "--force", "--input", dir.file(input), "--json"});
  };
  const auto result = expect_ok(predict_in("photos"));
  EXPECT_EQ(result.json()["predictions"].size(), 2u);
  ASSERT_EQ(result.json()["unreadable"].size(), 1u);
  EXPECT_EQ(result.json()["unreadable"][0]["image"], "b.bmp");
  EXPECT_TRUE(has(result.err, "b.bmp: cannot be read, skipped: the network's output has values that are not finite"));
  expect_error(predict_in("photos/b.bmp"), 3, "b.bmp");
}

TEST_F(PhotoRows, WhereNoneCanBeReadTheFirstIsNamedByItsPathWithAdvice) {
  write_text_file(dir / "a.jpg", "");
  write_text_file(dir / "b.jpg", "no image");
  expect_error(predict({"--input", dir.path().string()}), 3,
               "parsnets: " + dir.file("a.jpg") +
                   ": expected at least one readable image, found none of 2; the first: an empty file; "
                   "write or download it again");
  const auto one = run("explain", {"--input", dir.path().string(), "--row", "1"});
  EXPECT_TRUE(has(one.err, "parsnets: " + dir.file("b.jpg") + ": expected a JPEG"));
}

TEST_F(PhotoRows, NamesFitTheirColumnsAndTheTerminal) {
  const std::string model = dir.file("m.safetensors"), table = dir.file("new.csv");
  fs::copy_file(s.model, model);
  write_text_file(table, "class,a,b,c,d,e\na日本語トラック größer,1,2,3,4,5\n");
  run_ok({"classes", "add", "--model", model, "--attributes", table});
  std::string names;
  for (const auto& name : kClasses) names += (names.empty() ? "" : ",") + name;
  run_ok({"classes", "remove", "--model", model, "--classes", names.substr(0, names.rfind(','))});
  EXPECT_TRUE(
      has(run_ok({"explain", "--model", model, "--input", s.data + "/features.npy"}).out, " a日本語トラック g…"));
  fs::create_directories(dir / "p");
  write_text_file(dir / "p/new\nline\033[31m.bmp", photo(1, 1));
  EXPECT_TRUE(has(predict({"--input", dir.file("p"), "--table"}).out, "new\\x0aline\\x1b[31m.bmp  "));
}

TEST_F(PhotoRows, LargePhotographsAndLowMemoryLimitsAreRefused) {
  const std::string input = s.photos + "/red/0.bmp";
  for (const char* command : {"predict", "explain"}) {
    const auto with = [&](const Words& more) { return run(command, Words{"--input", input} + more); };
    expect_error(with({"--max-pixels", "1023"}), 3,
                 "found 32 x 32 pixels, too many; make the photograph smaller, or raise --max-pixels");
    expect_error(with({"--memory-limit", "700MB", "--threads", "1"}), 2, "lower --max-pixels");
    EXPECT_EQ(with({"--memory-limit", "700MB", "--threads", "1", "--max-pixels", "10000000"}).exit_code, 0);
  }
}

TEST_F(PhotoRows, OnlyTheBackboneOfTrainingIsUsedUnlessItIsTrusted) {
  const std::string other = dir.file("other.onnx"), small = dir.file("small.onnx"), unknown = dir.file("unknown"),
                    model = dir.file("unknown.safetensors"), device = dir.file("m.pnrt"),
                    unknown_device = dir.file("unknown.pnrt"), input = s.photos + "/red";
  write_pooling_network(other, kSide, kSquare / 2);
  write_pooling_network(small, kSide, kSquare * 2);
  fs::copy(s.data, unknown, kRecursive);
  fs::remove(unknown + "/extraction.json");
  run_ok({"train", "--data", unknown, "--out", model, "--quiet"});
  for (const auto& [from, to] : {std::pair(s.model, device), std::pair(model, unknown_device)})
    run_ok({"export", "--model", from, "--out", to, "--precision", "float32"});
  const auto refused = [&](const std::string& by, const std::string& network, bool trust, const char* part) {
    for (const char* command : {"predict", "explain"}) {
      if (by.ends_with(".pnrt") && command[0] == 'e') continue;
      const Words words{command, "--model", by, "--input", input, "--backbone", network};
      EXPECT_EQ(run_error(words + (trust ? Words{"--force"} : Words{}), 3, part).out, "");
    }
  };
  for (const auto& by : {s.model, device})
    for (const bool trust : {false, true}) refused(by, other, trust, "the model's backbone net.onnx");
  for (const auto& by : {model, unknown_device}) refused(by, s.network, false, "--force");
  refused(model, small, true, "expected 48 per sample, as in training, found 12");
  const auto expected = predict({"--input", input, "--json"}).json()["predictions"];
  for (const auto& by : {model, unknown_device, device}) {
    const Words words{"predict", "--model", by, "--input", input, "--backbone", s.network};
    const auto found = run_json(words + (by != device ? Words{"--force"} : Words{}))["predictions"];
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i]["top"][0]["class"], expected[i]["top"][0]["class"]);
      EXPECT_NEAR(found[i]["top"][0]["confidence"].get<double>(), expected[i]["top"][0]["confidence"].get<double>(),
                  2e-3);
    }
  }
}

TEST_F(PhotoRows, AnExplanationOfAPhotographIsThatOfItsFeatures) {
  for (const std::size_t row : {0, 13}) {
    auto expected =
        run_json({"explain", "--model", s.model, "--input", s.data + "/features.npy", "--row", std::to_string(row)});
    const std::string name = fmt::format("{}/{}.bmp", kClasses[row / kPerClass], row % kPerClass);
    auto found = expect_ok(run("explain", {"--input", s.photos, "--row", std::to_string(row), "--json"})).json();
    EXPECT_EQ(found["image"], name);
    found.erase("image");
    EXPECT_EQ(found, expected);
    const std::string file = s.photos + "/" + name;
    EXPECT_TRUE(run("explain", {"--input", file}).out.starts_with(file + ": "));
  }
}

}  // namespace

TEST(PhotoInput, WhatDoesNotGoTogetherIsAUsageError) {
  TempDir dir;
  const std::string image = dir.file("a.bmp");
  write_photo(image, 1);
  for (const char* command : {"predict", "explain"})
    for (const auto& [options, part] : std::vector<std::pair<Words, std::string>>{
             {{"--input", "x.npy", "y.npy"}, "--input: expected one file of features, found 2"},
             {{"--input", "-", "--backbone", "x.onnx"}, "found standard input"},
             {{"--input", "x.npy", "--backbone", "x.onnx"},
              "--backbone is for photographs, but 'x.npy' holds features"},
             {{"--input", "x.npy", "--force"}, "--force requires --backbone"}})
      run_error(Words{command, "--model", "m.safetensors"} + options, 2, part);
}

}  // namespace parsnets::test
