// What the tool keeps in memory does not grow with samples x classes, and --memory-limit holds or refuses.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "cli/run_cli.hpp"
#include "data/synth.hpp"
#include "formats/array_files.hpp"
#include "largest_difference.hpp"
#include "parsnets/model.hpp"

namespace parsnets::test {

namespace {

using namespace std::string_literals;

constexpr std::uint64_t kMegabyte = 1'000'000;

struct MeasuredResult : CliResult {
  std::uint64_t peak = 0;  ///< of its memory, in bytes
};

/// Runs the tool, which must succeed, from a small process, so that the peak is its own.
MeasuredResult run_measured(const Words& arguments) {
  TempDir dir;
  const std::string script = dir.file("peak.py"), file = dir.file("peak");
  write_text_file(script,
                  "import resource, subprocess, sys\n"
                  "code = subprocess.call(sys.argv[2:])\n"
                  "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
                  "sys.exit(code)\n");
  const auto result = run_ok(arguments, "/usr/bin/python3 " + script + " " + file);
  return {result, std::stoull(read_text_file(file)) * 1024};
}

/// 20,000 classes, of which 100 have samples, some of them test samples of seen and of unseen classes.
void write_many_classes(const std::string& folder) {
  Dataset data = synthesize({.classes = 100, .attributes = 16, .samples = 8000, .dimensions = 32, .hidden = 16});
  constexpr std::size_t kClasses = 20'000;
  Matrix<float> semantics(kClasses, data.semantics.values.cols());
  std::ranges::copy(data.semantics.values.values(), semantics.data());
  for (std::size_t c = data.classes(); c < kClasses; ++c) {
    data.class_names.push_back("without samples " + std::to_string(c));
    for (std::size_t a = 0; a < semantics.cols(); ++a)
      semantics(c, a) = static_cast<float>((c * 31 + a * 17) % 101) / 101;
  }
  data.semantics.values = std::move(semantics);
  save_dataset(data, folder, DataFormat::npy);
}

/// A data set whose features are larger than the limit, and a model of it.
struct LargeSet {
  static constexpr std::uint64_t kLimit = 64 * kMegabyte;
  TempDir dir;
  std::string data = dir.file("data"), model = dir.file("m.safetensors");
  std::string features = data + "/features.npy";

  LargeSet() {
    synthesize_to(data, DataFormat::npy,  // 74 MB
                  {.classes = 40, .attributes = 16, .samples = 36'000, .dimensions = 512, .hidden = 16});
    const std::string sums = dir.file("sums.safetensors");
    run_ok({"stats", "--data", data, "--out", sums});
    run_ok({"train", "--stats", sums, "--data", data, "--out", model});
  }
};

/// Made once for the tests of a process.
const LargeSet& large_set() {
  static const LargeSet set;
  return set;
}

bool stays_within_limit(std::uint64_t peak) {
  return static_cast<double>(peak) < 1.1 * static_cast<double>(LargeSet::kLimit);
}

/// Everything below a folder, or one file; "" where there is nothing.
std::string contents(const std::string& path) {
  if (!fs::is_directory(path)) return fs::exists(path) ? read_text_file(path, 1u << 30) : "";
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  std::string all;
  for (const auto& file : files) all += file.filename().string() + "\n" + read_text_file(file, 1u << 30);
  return all;
}

/// Runs a command with and without the limit. OUT in its arguments stands for a path to write.
void expect_within(const LargeSet& set, const Words& command) {
  const std::string out = set.dir.file("out");
  std::array<std::string, 2> said, written;
  for (const bool limited : {false, true}) {
    auto arguments = command;
    for (auto& word : arguments)
      if (const auto at = word.find("OUT"); at != std::string::npos) word.replace(at, 3, out);
    if (limited) arguments.insert(arguments.end(), {"--memory-limit", std::to_string(LargeSet::kLimit)});
    const auto result = run_measured(arguments + Words{"--quiet"});
    said[limited] = result.out;
    for (const char* ending : {"", ".safetensors", ".csv", ".json", ".pnrt"}) {
      written[limited] += contents(out + ending);
      fs::remove_all(out + ending);
    }
    EXPECT_TRUE(!limited || stays_within_limit(result.peak)) << result.peak;
  }
  EXPECT_EQ(said[0], said[1]);
  // Predicting in blocks rounds differently: what it moves is the same in every digit that is told.
  EXPECT_TRUE(written[0] == written[1] || command[0] == "adapt");
}

}  // namespace

class CliMemory : public FolderTest {
#ifdef PARSNETS_SANITIZED
  void SetUp() override { GTEST_SKIP() << "sanitizers use memory of their own"; }
#endif
};

TEST_F(CliMemory, ManyClassesStayWithinTheLimit) {
  const std::string data = dir.file("data"), model = dir.file("m.safetensors");
  write_many_classes(data);  // a float per test sample and class would be 200 MB, one per pair of classes 1.6 GB
  const std::vector<Words> commands{{"train", "--data", data, "--out", model, "--method", "ridge", "--folds", "1"},
                                    {"eval", "--data", data, "--model", model},
                                    {"predict", "--model", model, "--input", data + "/features.npy", "--top", "1"}};
  for (const auto& command : commands)
    EXPECT_LT(run_measured(command + Words{"--memory-limit", "300MB", "--quiet"}).peak, 300 * kMegabyte) << command[0];
}

TEST_F(CliMemory, EveryCommandStaysWithinALimitBelowTheFeatures) {
  const LargeSet& set = large_set();
  const std::string& data = set.data;
  for (const auto& command : std::vector<Words>{
           {"eval", "--data", data, "--model", set.model},
           {"eval", "--data", data, "--model", set.model, "--transductive", "unseen"},
           {"eval", "--data", data, "--model", set.model, "--few-shot", "1"},
           {"predict", "--model", set.model, "--input", set.features, "--top", "1", "--out", "OUT.csv"},
           {"adapt", "--model", set.model, "--input", set.features, "--out", "OUT.safetensors"},
           {"classes", "teach", "class001", "--model", set.model, "--input", set.features, "--out", "OUT.safetensors"},
           {"classes", "add", "--classes", "new", "--model", set.model, "--input", set.features, "--out",
            "OUT.safetensors"},
           {"explain", "--model", set.model, "--input", set.features, "--row", "35999"},
           {"export", "--model", set.model, "--out", "OUT.pnrt"},
           {"info", set.features},
           {"data", "inspect", data},
           {"data", "split", data, "--out", "OUT.json"},
           {"data", "convert", data, "OUT"}}) {
    SCOPED_TRACE(command[0] + " " + command[1]);
    expect_within(set, command);
  }
}

TEST_F(CliMemory, StatisticsDoNotHoldTheFeatures) {
  const LargeSet& set = large_set();
  const std::string out = set.dir.file("again.safetensors");
  const auto result =
      run_measured({"stats", "--data", set.data, "--out", out, "--threads", "2", "--memory-limit", "120MB", "--quiet"});
  EXPECT_LT(result.peak, 74 * kMegabyte);
  EXPECT_TRUE(contents(out) == contents(set.dir.file("sums.safetensors")));
}

TEST_F(CliMemory, AReportShowsTheSamplesThatFit) {
  const LargeSet& set = large_set();
  const std::string run = set.dir.file("run"), out = set.dir.file("report.html");
  run_ok({"train", "--data", set.data, "--run", run, "--method", "ridge", "--folds", "1"});
  const auto result = run_measured(
      {"report", "--run", run, "--out", out, "--points", "50", "--memory-limit", std::to_string(LargeSet::kLimit)});
  EXPECT_TRUE(has(result.err, "test samples, as many as the memory limit allows"));
  EXPECT_TRUE(stays_within_limit(result.peak)) << result.peak;
  EXPECT_TRUE(fs::exists(out));
  // A model that knows its training samples looks at some of them, all over the file.
  expect_within(set, {"eval", "--data", set.data, "--model", run + "/model.safetensors"});
}

TEST_F(CliMemory, WhatTheWorkItselfNeedsIsRefusedToo) {
  const LargeSet& set = large_set();
  const std::string out = set.dir.file("out");
  for (const auto& [limit, command] : std::vector<std::pair<const char*, Words>>{
           {"80MB", {"stats", "--data", set.data, "--out", out}},
           {"48MB", {"adapt", "--model", set.model, "--input", set.features, "--out", out}},
           {"46MB", {"classes", "teach", "class001", "--model", set.model, "--input", set.features, "--out", out}},
           {"55MB", {"data", "synth", out, "--samples", "1000000"}}}) {
    run_error(command + Words{"--memory-limit", limit, "--quiet"}, 2, "--memory-limit: expected at least ");
    EXPECT_FALSE(fs::exists(out));
  }
}

TEST_F(CliMemory, EveryFormatIsReadWithinALimitBelowTheFeatures) {
  const std::string set = dir.file("set"), other = dir.file("other"), back = dir.file("back");
  Dataset data = synthesize({.samples = 36'000, .dimensions = 8, .hidden = 8});
  const Matrix<float> few = std::move(data.features);
  data.features = Matrix<float>(data.samples(), 512);  // 74 MB that are compressed quickly
  for (std::size_t i = 0; i < data.features.size(); ++i) data.features.data()[i] = few.data()[i % 512 + i / 4096 % 8];
  save_dataset(data, set, DataFormat::npy);
  for (const std::string format : {"npz", "csv", "mat5", "mat5-uncompressed", "mat73"}) {
    SCOPED_TRACE(format);
    save_as(data, other, format);
    for (const auto& [from, to, kind] : {std::tuple(set, other, "csv"s), std::tuple(other, back, "npy"s)}) {
      if (from == set && format != "csv") continue;
      const auto result = run_measured({"data", "convert", from, to, "--format", kind, "--quiet", "--memory-limit",
                                        std::to_string(LargeSet::kLimit)});
      EXPECT_TRUE(stays_within_limit(result.peak)) << kind << ": " << result.peak;
    }
    EXPECT_TRUE(contents(set + "/features.npy") == contents(back + "/features.npy"));
    fs::remove_all(other);
    fs::remove_all(back);
  }
}

TEST_F(CliMemory, TrainingReadsFeaturesLargerThanItsLimitInBlocks) {
  const std::string data = dir.file("data"), model = dir.file("m.safetensors"), streamed = dir.file("s.safetensors");
  run_ok({"data", "synth", data, "--samples", "50000", "--dimensions", "512", "--classes", "20", "--quiet"});  // 102 MB
  const Words options{"--networks", "10", "--active", "2",       "--encoding", "16",
                      "--folds",    "1",  "--json",   "--quiet", "--data",     data};
  const auto expected = run_ok(Words{"train", "--out", model} + options);
  const auto found = run_measured(Words{"train", "--out", streamed, "--memory-limit", "90MB"} + options);
  EXPECT_FALSE(expected.json()["streamed"].get<bool>());
  EXPECT_TRUE(found.json()["streamed"].get<bool>());
  EXPECT_LT(found.peak, 99 * kMegabyte);
  EXPECT_LT(largest_difference(load_model(model).shared, load_model(streamed).shared), 1e-3);
}

TEST_F(CliMemory, ALimitThatCannotHoldIsRefusedWithWhatIsNeeded) {
  const std::string &demo = kDemo, &model = model_of_demo(kRidge);
  const std::string other = dir.file("other"), features = demo + "/features.npy", before = contents(model);
  for (const auto& command :
       std::vector<Words>{{"train", "--data", demo, "--out", other, "--method", "ridge"},
                          {"train", "--data", demo, "--out", other, "--method", "sae"},
                          {"stats", "--data", demo, "--out", other},
                          {"eval", "--data", demo, "--model", model, "--out", other},
                          {"predict", "--model", model, "--input", features},
                          {"explain", "--model", model, "--input", features},
                          {"adapt", "--model", model, "--input", features, "--out", other},
                          {"classes", "teach", "deer", "--model", model, "--input", features},
                          {"classes", "add", "--classes", "a", "--model", model, "--input", features},
                          {"export", "--model", model, "--data", demo, "--out", other},
                          {"bench", "--data", demo, "--methods", "ridge", "--out", other},
                          {"report", "--run", demo, "--out", other},
                          {"reproduce", "--root", demo, "--out", other},
                          {"info", model},
                          {"data", "inspect", demo},
                          {"data", "split", demo, "--out", other},
                          {"data", "convert", demo, other},
                          {"data", "synth", other}}) {
    run_error(command + Words{"--memory-limit", "10MB", "--quiet"}, 2, "--memory-limit: expected at least ");
    EXPECT_FALSE(fs::exists(other));
    EXPECT_TRUE(contents(model) == before);
  }
}

}  // namespace parsnets::test
