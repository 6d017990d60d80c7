// Config files: what --print-config prints reads back to the same options and trains the same model.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cli/run_cli.hpp"
#include "formats/safetensors.hpp"

namespace parsnets::test {

namespace {

using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Prints the config of a command, reads it back and prints it again; returns the file with it.
std::string round_trip(const TempDir& dir, const Words& command, const Words& options) {
  const std::string file = (dir / "config").string();
  const auto printed = run_cli(command + options + Words{"--print-config"});
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  write_text_file(file, printed.out);
  const auto again = run_cli(command + Words{"--config", file, "--print-config"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, printed.out);
  return file;
}

std::map<std::string, std::string> without_request(const SafetensorsFile& file) {
  auto metadata = file.metadata();
  auto record = nlohmann::ordered_json::parse(metadata.at("record"));
  EXPECT_EQ(record.erase("asked"), 1u);
  metadata["record"] = record.dump();
  return metadata;
}

}  // namespace

TEST(CliConfig, EveryCommandReadsWhatItPrints) {
  TempDir dir;
  const std::string unused = "unused";
  for (const Words& command :
       {Words{"train"}, Words{"eval"}, Words{"predict"}, Words{"explain"}, Words{"bench"}, Words{"export"},
        Words{"report"}, Words{"classes", "list"}, Words{"classes", "add"}, Words{"classes", "remove"},
        Words{"data", "inspect", unused}, Words{"data", "convert", unused, unused}, Words{"data", "split", unused},
        Words{"data", "synth", unused}, Words{"info"}, Words{"doctor"}}) {
    SCOPED_TRACE(command[0] + (command.size() > 1 ? " " + command[1] : ""));
    round_trip(dir, command, {});
  }
}

TEST(CliConfig, SeveralPathsReadBackAsTheyWere) {
  TempDir dir;
  const std::string file = round_trip(dir, {"extract"}, {"--images", "a, b.jpg", "c.jpg"});
  EXPECT_NE(read_text_file(file).find("images = \"a, b.jpg\",c.jpg\n"), std::string::npos) << read_text_file(file);
  write_text_file(file, "images = \"a, b.jpg\",c.jpg\nbackbone = x.onnx\nout = " + (dir / "out").string() + "\n");
  const auto read = run_cli({"extract", "--config", file});
  EXPECT_EQ(read.exit_code, 3);
  EXPECT_NE(read.err.find("parsnets: a, b.jpg: expected a folder of photographs"), std::string::npos) << read.err;
}

TEST(CliConfig, APrintedConfigTrainsTheSameModelForEveryMethodAndSearch) {
  TempDir dir;
  const std::string data = (dir / "data").string();
  ASSERT_EQ(run_cli({"data", "synth", data, "--classes", "10", "--samples", "300", "--dimensions", "24", "--attributes",
                     "12", "--quiet"})
                .exit_code,
            0);
  std::vector<Words> variants;
  for (const char* method : {"parsnets", "ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap"})
    variants.push_back({"--method", method});
  for (const char* method : {"paper", "scln", "mmg"}) variants.push_back({"--method", method, "--max-passes", "20"});
  variants.push_back({"--networks", "8"});
  variants.push_back({"--method", "ridge", "--search", "grid"});
  variants.push_back({"--search", "grid", "--grid", "shrinkage=1,3;refine-steps=0,4", "--networks", "8"});
  variants.push_back({"--search", "auto", "--time-budget", "0", "--folds", "1", "--networks", "0", "--feature-scaling",
                      "l2", "--refine-rate", "0.5", "--sharpness", "10", "--semantic-whitening", "0.25"});
  for (const auto& variant : variants) {
    SCOPED_TRACE(variant[1] + (variant.size() > 3 ? " " + variant[3] : ""));
    const std::string model = (dir / "model.safetensors").string(), again = (dir / "again.safetensors").string();
    const Words options = variant + Words{"--data", data, "--quiet", "--seed", "3"};
    const auto direct = run_cli(Words{"train", "--out", model} + options);
    ASSERT_EQ(direct.exit_code, 0) << direct.err;
    const std::string config = round_trip(dir, {"train"}, options);
    const auto read = run_cli({"train", "--out", again, "--config", "-"}, "cat " + config + " | ");
    ASSERT_EQ(read.exit_code, 0) << read.err;
    // A printed config asks for what the first command left to training; all the rest is the same.
    const SafetensorsFile first(model), second(again);
    EXPECT_TRUE(std::ranges::equal(first.payload(), second.payload()));
    EXPECT_EQ(without_request(first), without_request(second));
  }
}

}  // namespace parsnets::test
