// Config files: what --print-config prints reads back to the same options and trains the same model.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cli/run_cli.hpp"
#include "formats/safetensors.hpp"

namespace parsnets::test {

namespace {

/// Prints the config of a command, reads it back and prints it again; returns the file with it.
std::string round_trip(const TempDir& dir, const Words& command, const Words& options) {
  const std::string file = dir.file("config");
  const std::string printed = run_ok(command + options + Words{"--print-config"}).out;
  write_text_file(file, printed);
  EXPECT_EQ(run_ok(command + Words{"--config", file, "--print-config"}).out, printed);
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

using CliConfig = FolderTest;

TEST_F(CliConfig, EveryCommandReadsWhatItPrints) {
  for (const char* command : {"train", "eval", "predict", "explain", "bench", "export", "report", "classes list",
                              "classes add", "classes remove", "data inspect unused", "data convert unused unused",
                              "data split unused", "data synth unused", "info", "doctor"}) {
    SCOPED_TRACE(command);
    round_trip(dir, words_in(command), {});
  }
  EXPECT_TRUE(
      has(read_text_file(round_trip(dir, words_in("data synth unused"), {"--classes", "7"})), "\nclasses = 7\n"));
}

TEST_F(CliConfig, SeveralPathsReadBackAsTheyWere) {
  const std::string file = round_trip(dir, {"extract"}, {"--images", "a, b.jpg", "c.jpg"});
  EXPECT_TRUE(has(read_text_file(file), "images = \"a, b.jpg\",c.jpg\n"));
  write_text_file(file, "images = \"a, b.jpg\",c.jpg\nbackbone = x.onnx\nout = " + dir.file("out") + "\n");
  run_error({"extract", "--config", file}, 3, "parsnets: a, b.jpg: expected a folder of photographs");
}

TEST_F(CliConfig, APrintedConfigTrainsTheSameModelForEveryMethodAndSearch) {
  const std::string data = dir.file("data");
  run_ok({"data", "synth", data, "--classes", "10", "--samples", "300", "--dimensions", "24", "--attributes", "12",
          "--quiet"});
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
    const std::string model = dir.file("model.safetensors"), again = dir.file("again.safetensors");
    const Words options = variant + Words{"--data", data, "--quiet", "--seed", "3"};
    run_ok(Words{"train", "--out", model} + options);
    const std::string config = round_trip(dir, {"train"}, options);
    run_ok({"train", "--out", again, "--config", "-"}, "cat " + config + " | ");
    // A printed config asks for what the first command left to training; all the rest is the same.
    const SafetensorsFile first(model), second(again);
    EXPECT_TRUE(std::ranges::equal(first.payload(), second.payload()));
    EXPECT_EQ(without_request(first), without_request(second));
  }
}

}  // namespace parsnets::test
