// What the tool keeps in memory does not grow with samples x classes, and --memory-limit holds or refuses.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/synth.hpp"

namespace parsnets::test {

namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

/// Runs the tool from a small process, so that the peak is its own.
CliResult run_measured(const std::vector<std::string>& arguments, std::uint64_t& peak) {
  TempDir dir;
  const std::string script = (dir / "peak.py").string(), file = (dir / "peak").string();
  write_text_file(script,
                  "import resource, subprocess, sys\n"
                  "code = subprocess.call(sys.argv[2:])\n"
                  "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
                  "sys.exit(code)\n");
  const auto result = run_cli(arguments, "/usr/bin/python3 " + script + " " + file);
  peak = std::stoull(read_text_file(file)) * 1024;
  return result;
}

/// 20,000 classes, of which 100 have samples, some of them test samples of seen and of unseen classes.
void write_many_classes(const std::string& folder) {
  SynthOptions options;
  options.classes = 100;
  options.samples = 8000;
  options.dimensions = 32;
  options.attributes = 16;
  options.hidden = 16;
  Dataset data = synthesize(options);
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

}  // namespace

TEST(CliMemory, ManyClassesStayWithinTheLimit) {
  TempDir dir;
  const std::string data = (dir / "data").string(), model = (dir / "m.safetensors").string();
  write_many_classes(data);  // a float per test sample and class would be 200 MB, one per pair of classes 1.6 GB
  const std::vector<std::vector<std::string>> commands{
      {"train", "--data", data, "--out", model, "--method", "ridge", "--folds", "1"},
      {"eval", "--data", data, "--model", model},
      {"predict", "--model", model, "--input", data + "/features.npy", "--top", "1"}};
  for (auto command : commands) {
    command.insert(command.end(), {"--memory-limit", "300MB", "--quiet"});
    std::uint64_t peak = 0;
    const auto result = run_measured(command, peak);
    EXPECT_EQ(result.exit_code, 0) << command[0] << result.err;
    EXPECT_LT(peak, 300 * kMegabyte) << command[0];
  }
}

TEST(CliMemory, ALimitThatCannotHoldIsRefusedWithWhatIsNeeded) {
  TempDir dir;
  const std::string demo = std::string(PARSNETS_SOURCE_DIR) + "/data/demo", model = (dir / "m.safetensors").string();
  ASSERT_EQ(run_cli({"train", "--data", demo, "--out", model, "--method", "ridge", "--quiet"}).exit_code, 0);
  const std::string other = (dir / "other").string();
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"train", "--data", demo, "--out", other, "--method", "ridge"},
                                             {"train", "--data", demo, "--out", other, "--method", "sae"},
                                             {"eval", "--data", demo, "--model", model},
                                             {"predict", "--model", model, "--input", demo + "/features.npy"},
                                             {"export", "--model", model, "--data", demo, "--out", other}}) {
    auto limited = command;
    limited.insert(limited.end(), {"--memory-limit", "10MB", "--quiet"});
    const auto result = run_cli(limited);
    EXPECT_EQ(result.exit_code, 2) << command[0];
    EXPECT_NE(result.err.find("--memory-limit: expected at least "), std::string::npos) << command[0] << result.err;
    EXPECT_FALSE(std::filesystem::exists(other));
  }
}

}  // namespace parsnets::test
