// Features of another backbone than that of training are refused by every command that takes features.

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_cli.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"

namespace parsnets::test {

namespace {

std::string extraction(char digit) {
  return R"({"backbone": "net.onnx", "sha256": ")" + std::string(64, digit) +
         R"(", "layer": "features", "preset": "torchvision", "fit": "centre", "width": 96, "height": 96,
         "dimensions": 192})";
}

/// The demo set twice, as if of two backbones, and a model and a device file of the first.
struct Folders {
  TempDir dir;
  std::string a = dir.file("a"), b = dir.file("b"), model = dir.file("m.safetensors"), device = dir.file("m.pnrt");
  Folders() {
    for (const auto& [folder, digit] : {std::pair(a, 'a'), std::pair(b, 'b')}) {
      fs::copy(kDemo, folder, kRecursive);
      write_text_file(folder + "/extraction.json", extraction(digit));
    }
    run_ok({"train", "--data", a, "--out", model, "--quiet"});
    run_ok({"export", "--model", model, "--out", device});
    const Matrix<float> features = read_npy_float({a + "/features.npy", ""});
    for (const auto& folder : {a, b}) {
      fs::create_directory(folder + "/rows");
      fs::copy(folder + "/extraction.json", folder + "/rows/extraction.json");
      write_csv(folder + "/rows/some.csv", MatrixView<const float>(features.data(), 20, features.cols()));
    }
  }
};

const Folders& folders() {
  static const Folders made;
  return made;
}

/// Commands that read features for a model; the file or folder, which is to be added, ends with the second text.
std::vector<std::pair<Words, std::string>> commands_of(const std::string& model) {
  const auto& dir = folders().dir;
  const std::string changed = dir.file("changed.safetensors"), table = dir.file("p.csv");
  return {{{"predict", "--model", model, "--out", table, "--input"}, "/features.npy"},
          {{"predict", "--model", model, "--out", table, "--input"}, "/rows/some.csv"},
          {{"explain", "--model", model, "--input"}, "/features.npy"},
          {{"adapt", "--model", model, "--out", changed, "--input"}, ""},
          {{"classes", "teach", "deer", "--model", model, "--out", changed, "--input"}, "/rows/some.csv"},
          {{"classes", "add", "--classes", "new", "--model", model, "--out", changed, "--input"}, "/rows/some.csv"},
          {{"calibrate", "--model", model, "--out", changed, "--folds", "2", "--data"}, ""},
          {{"export", "--model", model, "--out", dir.file("again.pnrt"), "--data"}, ""},
          {{"eval", "--model", model, "--data"}, ""}};
}

}  // namespace

TEST(CliFeatureSource, FeaturesOfAnotherBackboneAreRefusedByEveryCommand) {
  const auto& f = folders();
  auto commands = commands_of(f.model);
  commands.insert(commands.end(), {{{"predict", "--model", f.device, "--top", "1", "--input"}, "/features.npy"},
                                   {{"predict", "--model", f.device, "--top", "1", "--input"}, "/rows/some.csv"},
                                   {{"eval", "--model", f.device, "--data"}, ""},
                                   {{"export", "--model", f.device, "--bench", "--input"}, "/features.npy"}});
  for (const auto& [words, file] : commands) {
    run_ok(words + Words{f.a + file});
    const auto bad = run_error(words + Words{f.b + file}, 3,
                               "expected features of the backbone of training, net.onnx (sha256 aaaaaaaaaaaa)");
    EXPECT_TRUE(has(bad.err, "found net.onnx (sha256 bbbbbbbbbbbb)"));
  }
}

TEST(CliFeatureSource, AWarningIsGivenWhereOnlyOneSideKnowsItsBackbone) {
  const auto& f = folders();
  const std::string plain = f.dir.file("plain"), unaware = f.dir.file("unaware.safetensors");
  fs::copy(f.a, plain, kRecursive);
  fs::remove(plain + "/extraction.json");
  fs::remove(plain + "/rows/extraction.json");
  run_ok({"train", "--data", plain, "--out", unaware, "--quiet"});
  const auto expect = [](const Words& words, const std::string& file, const std::string& doubt) {
    const auto result = run_ok(words + Words{file, "--json", "--quiet"});
    EXPECT_EQ(result.err.find("warning: " + file) == std::string::npos, doubt.empty()) << words[0] << result.err;
    EXPECT_TRUE(has(result.err, doubt)) << words[0] << ": ";
    const auto told = result.json().value("warnings", std::vector<std::string>{});
    EXPECT_EQ(std::ranges::count_if(told, [&](const auto& one) { return one.starts_with(file); }),
              doubt.empty() ? 0 : 1)
        << words[0];
  };
  const std::string no_file = "nothing says which network made these features (no extraction.json beside them)",
                    no_record = "these features are of net.onnx (sha256 aaaaaaaaaaaa)";
  for (const auto& [words, file] : commands_of(f.model)) {
    expect(words, plain + file, no_file);
    expect(words, f.a + file, "");
  }
  for (const auto& [words, file] : commands_of(unaware)) {
    expect(words, f.a + file, no_record);
    expect(words, plain + file, "");
  }
  expect({"eval", "--model", f.device, "--data"}, plain, no_file);
}

TEST(CliFeatureSource, StatisticsOfDifferentBackbonesDoNotAddUp) {
  const auto& f = folders();
  const auto file = [&f](const char* name) { return f.dir.file(name); };
  for (const auto& [folder, name] :
       {std::pair(f.a, "a.safetensors"), std::pair(f.a, "again.safetensors"), std::pair(f.b, "b.safetensors")})
    run_ok({"stats", "--data", folder, "--out", file(name)});
  const auto same = run_json(
      {"stats", "--stats", file("a.safetensors") + "," + file("again.safetensors"), "--out", file("sum.safetensors")});
  EXPECT_EQ(same["source"]["sha256"], std::string(64, 'a'));
  EXPECT_EQ(run_json({"info", file("sum.safetensors")})["source"]["layer"], "features");
  const auto mixed = run_error(
      {"stats", "--stats", file("a.safetensors") + "," + file("b.safetensors"), "--out", file("mixed.safetensors")}, 3,
      "b.safetensors");
  EXPECT_TRUE(has(mixed.err, "found net.onnx (sha256 bbbbbbbbbbbb)"));
  EXPECT_FALSE(fs::exists(file("mixed.safetensors")));
  const auto train = [&](const std::string& data) {
    return run_cli(
        {"train", "--stats", file("a.safetensors"), "--data", data, "--out", file("t.safetensors"), "--quiet"});
  };
  EXPECT_EQ(train(f.b).exit_code, 3);
  ASSERT_EQ(train(f.a).exit_code, 0);
  EXPECT_EQ(run_json({"info", file("t.safetensors")})["source"]["sha256"], std::string(64, 'a'));
}

TEST(CliFeatureSource, TheSourceIsShown) {
  const auto& f = folders();
  const std::string line = "features by net.onnx (sha256 aaaaaaaaaaaa), layer features, 96 x 96 torchvision centre\n";
  for (const Words& words : {Words{"info", f.model}, Words{"info", f.device}, Words{"data", "inspect", f.a}}) {
    EXPECT_TRUE(has(run_cli(words).out, line)) << words[0] << " " << words[1];
    EXPECT_EQ(run_json(words)["source"]["width"], 96) << words[0] << " " << words[1];
  }
}

}  // namespace parsnets::test
