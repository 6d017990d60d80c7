// The tool in several processes, started by mpirun as a user would. Skipped without an MPI.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/row_blocks.hpp"
#include "cli/run_cli.hpp"
#include "data/synth.hpp"
#include "features/statistics.hpp"
#include "largest_difference.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

// Open MPI refuses root unless told twice; a test machine may have fewer cores than processes, or no network. It does
// not give back all of its memory, which is not ours to mend.
const char* const kMpirun =
    "ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader "
    "OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n ";

CliResult run_processes(std::size_t count, const Words& arguments) {
  return run_cli(arguments, kMpirun + std::to_string(count));
}

/// The running processes of the tool that have this word on their command line.
std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  std::error_code ignored;
  const auto tool = fs::canonical(PARSNETS_BINARY);
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (fs::read_symlink(entry.path() / "exe", ignored) != tool) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (line.find(word) != std::string::npos) found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

std::size_t messages(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("parsnets: ", at)) != std::string::npos; ++at) ++count;
  return count;
}

const Words kGated{"--networks", "8", "--active", "2", "--encoding", "8"};

Words train_words(const std::string& data, const std::string& out, const Words& more) {
  return Words{"train", "--data", data, "--out", out, "--threads", "1", "--quiet", "--json"} + more;
}

}  // namespace

class CliProcessGroup : public FolderTest {
 protected:
  void SetUp() override {
    if (std::system("command -v mpirun > /dev/null") != 0 || run_json({"doctor"})["mpi"] == "")
      GTEST_SKIP() << "NO MPI: install openmpi-bin and libopenmpi-dev and build again";
  }
  /// Returns its folder.
  const std::string& write_data(int samples = 2000) const {
    save_dataset(synthesize({.classes = 20, .attributes = 16, .samples = samples, .dimensions = 64, .hidden = 32}),
                 data, DataFormat::npy);
    return data;
  }

  const std::string data = dir.file("data"), one = dir.file("one.safetensors"), many = dir.file("many.safetensors");
};

TEST_F(CliProcessGroup, ProcessesTrainTheModelOfOne) {
  write_data();
  const std::vector<std::pair<Words, double>> cases{{{"--networks", "0", "--refine-steps", "0"}, 1e-5},
                                                    {{"--method", "ridge"}, 1e-5},
                                                    {{"--method", "eszsl"}, 1e-5},
                                                    {kGated, 1e-3}};
  for (const auto& [options, tolerance] : cases) {
    run_ok(train_words(data, one, options));
    const Model expected = load_model(one);
    for (const std::size_t count : {1u, 2u, 4u}) {
      const auto result = expect_ok(run_processes(count, train_words(data, many, options)));
      EXPECT_EQ(result.json()["processes"], count);
      const Model model = load_model(many);
      EXPECT_LT(largest_difference(expected.networks, model.networks), tolerance) << options[1] << " " << count;
      EXPECT_LT(largest_difference(expected.shared, model.shared), tolerance) << options[1] << " " << count;
      EXPECT_NEAR(expected.gamma, model.gamma, 1e-3);
      EXPECT_FALSE(fs::exists(many + ".checkpoint.fold0.done"));
    }
  }
}

TEST_F(CliProcessGroup, EveryProcessSolvesTheSvrOfAllSamples) {
  write_data(800);
  const Words options{"--method", "scln", "--networks", "8",  "--active", "2",
                      "--folds",  "1",    "--encoding", "16", "--gates",  "anchor"};
  const CliResult expected = run_ok(train_words(data, one, options)),
                  found = expect_ok(run_processes(2, train_words(data, many, options)));
  EXPECT_EQ(found.json()["record"]["svr"], expected.json()["record"]["svr"]);
  EXPECT_EQ(largest_difference(load_model(one).networks, load_model(many).networks), 0);
}

TEST_F(CliProcessGroup, ClosedFormsSendTheirSumsAlone) {
  write_data();
  const auto result = expect_ok(run_processes(2, train_words(data, many, {"--networks", "0", "--refine-steps", "0"})));
  const Dataset loaded = load_dataset(data);
  const std::uint64_t d = loaded.features.cols(), c = loaded.classes(),
                      fits = result.json()["record"]["validation"]["folds"].get<std::uint64_t>() + 1;
  EXPECT_EQ(result.json()["bytes_sent"], fits * (8 * (d * d + c * d + c + 1) + 8 * (d + 1) + 4 * d) + 8 * 2)
      << "products, sums and counts; sums for the mean, around a first sample; a check of the output file";
}

TEST_F(CliProcessGroup, ProcessesPredictAndEvaluateAsOne) {
  const std::string& model = one;
  write_data();
  run_ok(train_words(data, model, {"--networks", "0"}));
  const Words predict{"predict", "--model", model,     "--input", data + "/features.npy",
                      "--top",   "3",       "--batch", "700",     "--quiet"},
      eval{"eval", "--model", model, "--data", data, "--json", "--quiet"};
  const CliResult predicted = run_ok(predict), evaluated = run_ok(eval);
  for (const std::size_t count : {2u, 3u}) {
    EXPECT_EQ(expect_ok(run_processes(count, predict)).out, predicted.out);
    const auto counted = expect_ok(run_processes(count, eval));
    EXPECT_EQ(counted.json()["zsl"], evaluated.json()["zsl"]);
    EXPECT_EQ(counted.json()["gzsl"], evaluated.json()["gzsl"]);
  }
  EXPECT_EQ(run_processes(2, {"predict", "--model", model, "--input", "-"}).exit_code, 2);
  run_ok({"calibrate", "--model", model, "--data", data, "--folds", "2", "--force", "--quiet"});
  const Words sets{"predict", "--model",  model,     "--input", data + "/features.npy", "--batch",
                   "700",     "--reject", "--quiet", "--json",  "--coverage",           "80%"};
  const CliResult measured = run_ok(eval), counted = run_processes(3, eval);
  EXPECT_EQ(expect_ok(run_processes(3, sets)).out, run_ok(sets).out);
  EXPECT_EQ(counted.json()["sets"], measured.json()["sets"]);
  EXPECT_EQ(counted.json()["sets"].size(), 3u);
  EXPECT_EQ(counted.json()["reliability"], measured.json()["reliability"]);
}

TEST_F(CliProcessGroup, AFolderForEachProcessGivesTheStatisticsOfAll) {
  const Dataset whole = load_dataset(write_data());
  for (std::size_t part = 0; part < 3; ++part) {  // every third sample
    Dataset shard;
    shard.class_names = whole.class_names;
    shard.semantics.values = Matrix<float>::copy_of(whole.semantics.values.view());
    std::vector<std::int32_t> place(whole.samples(), -1), rows;
    for (std::size_t r = part; r < whole.samples(); r += 3) {
      place[r] = static_cast<std::int32_t>(rows.size());
      rows.push_back(static_cast<std::int32_t>(r));
      shard.labels.push_back(whole.labels[r]);
    }
    shard.features = gather_rows(whole.features.view(), rows);
    for (const auto list : {&Split::trainval, &Split::test_seen, &Split::test_unseen, &Split::train, &Split::val})
      for (const auto r : whole.split.*list)
        if (place[static_cast<std::size_t>(r)] >= 0) (shard.split.*list).push_back(place[static_cast<std::size_t>(r)]);
    save_dataset(shard, dir / ("shard" + std::to_string(part)), DataFormat::npy);
  }
  run_ok({"stats", "--data", data, "--out", one, "--quiet"});
  expect_ok(run_processes(3, {"stats", "--data", dir.file("shard{rank}"), "--out", many, "--quiet"}));
  const Statistics expected = load_statistics(one), sum = load_statistics(many);
  EXPECT_EQ(sum.samples(), expected.samples());
  EXPECT_EQ(sum.class_weights(), expected.class_weights());
  EXPECT_EQ(sum.kept_rows(), expected.kept_rows());
  const Matrix<double> a = expected.products(), b = sum.products();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.data()[i], b.data()[i], 1e-5 * a(0, 0));
}

TEST_F(CliProcessGroup, AProcessThatDiesLosesNothing) {
  write_data(6000);
  const fs::path folder = dir / "job";
  fs::create_directory(folder);
  const std::string out = (folder / "m.safetensors").string();
  const Words options = kGated + Words{"--refine-steps", "12"};
  ASSERT_EQ(run_processes(2, train_words(data, one, options)).exit_code, 0);
  const int watch = ::inotify_init1(IN_CLOEXEC);
  ASSERT_GE(::inotify_add_watch(watch, folder.c_str(), IN_MOVED_TO), 0);
  std::string line = std::string(kMpirun) + "4 " + shell_quoted(PARSNETS_BINARY);
  for (const auto& word : train_words(data, out, options)) line += " " + shell_quoted(word);
  line += " > " + shell_quoted(dir / "out") + " 2> " + shell_quoted(dir / "err") + "; echo $? > " +
          shell_quoted(dir / "code");
  const pid_t job = ::fork();
  ASSERT_GE(job, 0);
  if (job == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  pollfd event{watch, POLLIN, 0};
  ASSERT_GT(::poll(&event, 1, -1), 0);  // the first checkpoint is there
  const std::vector<pid_t> trainers = processes_with(out);
  ASSERT_EQ(trainers.size(), 4u);
  ASSERT_EQ(::kill(trainers.back(), SIGKILL), 0);
  ASSERT_EQ(::waitpid(job, nullptr, 0), job);
  ::close(watch);
  EXPECT_NE(read_text_file(dir / "code"), "0\n");
  EXPECT_TRUE(has(read_text_file(dir / "err"), "rank"));
  EXPECT_FALSE(fs::exists(out));
  EXPECT_TRUE(fs::exists(out + ".checkpoint.fold0.steps") || fs::exists(out + ".checkpoint.fold0.done"));
  expect_ok(run_processes(2, train_words(data, out, options + Words{"--resume"})));
  const Model expected = load_model(one), model = load_model(out);
  EXPECT_LT(largest_difference(expected.shared, model.shared), 1e-3);
  EXPECT_NEAR(expected.gamma, model.gamma, 1e-3);
}

TEST_F(CliProcessGroup, FitsOnAllSamplesLeaveNoCheckpoint) {
  expect_ok(run_processes(3, train_words(write_data(), many, {"--method", "reverse-ridge"})));
  for (const auto& entry : fs::directory_iterator(dir.path())) EXPECT_FALSE(has(entry.path().string(), many + "."));
}

TEST_F(CliProcessGroup, WhatOneProcessCannotWriteEndsAll) {
  write_text_file(dir / "file", "no folder");
  const auto result = run_processes(2, train_words(write_data(), dir.file("file/m.safetensors"), {}));
  expect_error(result, 3, "expected a writable path");
}

TEST_F(CliProcessGroup, AProcessThatFailsAloneIsTheOnlyOneThatSpeaks) {
  write_data();
  const std::string samples = data + "/features.npy", table = dir.file("p.csv");
  run_ok(train_words(data, one, {"--method", "ridge"}));
  run_ok({"predict", "--model", one, "--input", samples, "--out", table, "--quiet"});
  for (const int failing : {0, 1}) {
    const fs::path folder = dir / ("without" + std::to_string(failing));  // of the data, for one of the processes
    for (const int rank : {0, 1}) fs::create_directories(folder / std::to_string(rank));
    fs::create_directory_symlink(data, folder / std::to_string(1 - failing) / "data");
    const std::string there =
        std::string(kMpirun) + "2 sh -c 'cd " + folder.string() + "/$OMPI_COMM_WORLD_RANK && exec \"$0\" \"$@\"'";
    for (const auto& [words, out] : std::vector<std::pair<Words, std::string>>{
             {train_words("data", one, {"--method", "ridge"}), one},
             {{"predict", "--model", one, "--input", "data/features.npy", "--out", table, "--quiet"}, table}}) {
      const std::string before = read_text_file(out);
      const auto result = run_error(words, 3, fmt::format("parsnets: process {} of 2: data", failing), there);
      EXPECT_EQ(messages(result.err), 1u) << result.err;
      EXPECT_TRUE(same_bytes(read_text_file(out), before));
    }
  }
}

TEST_F(CliProcessGroup, OneErrorIsSaidOnce) {
  const auto result =
      expect_error(run_processes(3, {"train", "--data", dir.file("none"), "--out", dir.file("m.safetensors")}), 3);
  EXPECT_EQ(messages(result.err), 1u) << result.err;
  expect_error(run_processes(2, {"info", dir.file("none")}), 2, "expected one process");
}

}  // namespace parsnets::test
