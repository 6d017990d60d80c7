#include "formats/mat.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "formats/mat_manifest.hpp"
#include "same_bytes.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

class Recorder : public ProgressObserver {
 public:
  explicit Recorder(std::size_t limit = 1u << 30) : limit_(limit) {}
  bool on_progress(const ProgressEvent& event) override {
    stage = event.stage;
    unit = event.unit;
    done.push_back(event.done);
    total = event.total;
    return done.size() < limit_;
  }
  std::string stage, unit;
  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;

 private:
  std::size_t limit_;
};

Matrix<float> ramp(std::size_t rows, std::size_t cols) {
  Matrix<float> m(rows, cols);
  for (std::size_t i = 0; i < m.size(); ++i) m.data()[i] = 0.25f * static_cast<float>(i % 4099) - 17;
  return m;
}

template <class F>
void expect_error(ErrorCode code, const std::string& word, F&& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected a message with '" << word << "'";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace

class MatVersions : public ::testing::TestWithParam<MatVersion> {
 protected:
  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "x.mat";
};
INSTANTIATE_TEST_SUITE_P(All, MatVersions,
                         ::testing::Values(MatVersion::v5, MatVersion::v5_uncompressed, MatVersion::v73),
                         [](const auto& param) {
                           return param.param == MatVersion::v5                ? "v5"
                                  : param.param == MatVersion::v5_uncompressed ? "v5Uncompressed"
                                                                               : "v73";
                         });

TEST_P(MatVersions, WhatIsWrittenIsReadBack) {
  const auto features = ramp(1000, 257);
  Matrix<double> table(3, 2);
  for (std::size_t i = 0; i < 6; ++i) table.data()[i] = 1.0 / (1.0 + static_cast<double>(i));
  const std::vector<std::string> names{"antelope", "", "Gänsegeier", "鳥", "🐦 bird", std::string(5000, 'z')};
  auto out = MatWriter::create(path_, GetParam());
  out->write_columns("features", features.view());
  out->write_columns("table", table.view());
  out->write_columns("nothing", Matrix<float>(0, 7).view());
  out->write_strings("names", names);
  out->commit();

  const auto in = MatFile::open(path_);
  ASSERT_EQ(in->variables().size(), 4u);
  EXPECT_EQ(in->find("features")->kind, "single");
  EXPECT_EQ(in->find("features")->rows, 257u);
  EXPECT_EQ(in->find("features")->cols, 1000u);
  EXPECT_EQ(in->find("table")->kind, "double");
  EXPECT_EQ(in->find("names")->kind, "cell");
  EXPECT_EQ(in->find("names")->rows, names.size());
  EXPECT_EQ(in->find("no such"), nullptr);
  EXPECT_TRUE(test::same_bytes(test::bytes_of(in->read_columns("features")), test::bytes_of(features)));
  const auto on_disk = in->read_columns("features", nullptr, {1, 0});
  EXPECT_TRUE(on_disk.is_mapped());
  EXPECT_TRUE(test::same_bytes(test::bytes_of(on_disk), test::bytes_of(features)));
  EXPECT_TRUE(test::same_bytes(test::bytes_of(in->read_columns_double("table")), test::bytes_of(table)));
  EXPECT_EQ(in->read_strings("names"), names);
  const auto nothing = in->read_columns("nothing");
  EXPECT_EQ(nothing.rows(), 0u);
  EXPECT_EQ(nothing.cols(), 7u);
}

TEST_P(MatVersions, SameValuesMakeTheSameBytes) {
  const auto values = ramp(300, 90);
  for (const char* name : {"a.mat", "b.mat"}) {
    auto out = MatWriter::create(dir_ / name, GetParam());
    out->write_columns("x", values.view());
    out->write_strings("names", {"one", "two"});
    out->commit();
  }
  const auto bytes = test::slurp(dir_ / "a.mat");
  EXPECT_FALSE(bytes.empty());
  EXPECT_TRUE(test::same_bytes(bytes, test::slurp(dir_ / "b.mat")));
}

TEST_P(MatVersions, ProgressIsToldInMegabytesAndCanCancelReading) {
  const auto values = ramp(5000, 1000);  // 20 MB
  auto out = MatWriter::create(path_, GetParam());
  Recorder writing;
  out->write_columns("features", values.view(), &writing);
  out->commit();
  EXPECT_EQ(writing.stage, "save features");
  EXPECT_EQ(writing.done.back(), 20u);

  const auto in = MatFile::open(path_);
  Recorder reading;
  in->read_columns("features", &reading);
  EXPECT_EQ(reading.stage, "load features");
  EXPECT_EQ(reading.unit, "MB");
  EXPECT_EQ(reading.total, 20u);
  EXPECT_EQ(reading.done.front(), 0u);
  EXPECT_EQ(reading.done.back(), 20u);
  EXPECT_GE(reading.done.size(), 5u);
  EXPECT_TRUE(std::is_sorted(reading.done.begin(), reading.done.end()));

  Recorder stopping(2);
  expect_error(ErrorCode::cancelled, "load features", [&] { in->read_columns("features", &stopping); });
  EXPECT_TRUE(test::same_bytes(test::bytes_of(in->read_columns("features")), test::bytes_of(values)));
}

TEST_P(MatVersions, NothingIsLeftBehindWithoutCommit) {
  std::ofstream(path_) << "precious";
  { MatWriter::create(path_, GetParam())->write_columns("x", ramp(10, 10).view()); }
  EXPECT_TRUE(test::same_bytes(test::slurp(path_), "precious"));
  EXPECT_EQ(files_in(dir_.path()), 1u);

  auto out = MatWriter::create(path_, GetParam());
  Recorder stopping(2);
  const auto values = ramp(4000, 1000);
  expect_error(ErrorCode::cancelled, "save x", [&] { out->write_columns("x", values.view(), &stopping); });
  expect_error(ErrorCode::usage, "create the file again", [&] { out->write_strings("y", {"a"}); });
  expect_error(ErrorCode::usage, "create the file again", [&] { out->commit(); });
  out.reset();
  EXPECT_TRUE(test::same_bytes(test::slurp(path_), "precious"));
  EXPECT_EQ(files_in(dir_.path()), 1u);
}

TEST_P(MatVersions, BadNamesAndTextAreRefusedAndTheFileStaysSound) {
  auto out = MatWriter::create(path_, GetParam());
  out->write_columns("x", ramp(2, 2).view());
  for (const char* name : {"", "1x", "a b", "naïve", "_x"})
    expect_error(ErrorCode::usage, "cannot name", [&] { out->write_columns(name, ramp(1, 1).view()); });
  expect_error(ErrorCode::usage, "cannot name", [&] { out->write_strings(std::string(64, 'a'), {}); });
  expect_error(ErrorCode::usage, "already", [&] { out->write_strings("x", {"a"}); });
  expect_error(ErrorCode::usage, "not UTF-8", [&] { out->write_strings("y", {"\xff"}); });
  out->write_strings("y", {"fine"});
  out->commit();
  EXPECT_EQ(MatFile::open(path_)->read_strings("y"), std::vector<std::string>{"fine"});
}

TEST_P(MatVersions, MessagesNameFileVariableAndRemedy) {
  auto out = MatWriter::create(path_, GetParam());
  out->write_columns("x", ramp(2, 2).view());
  out->write_strings("names", {"a", "b"});
  out->commit();
  const auto in = MatFile::open(path_);
  expect_error(ErrorCode::bad_input, path_.string() + ": names: expected a numeric array, found cell",
               [&] { in->read_columns("names"); });
  expect_error(ErrorCode::bad_input, path_.string() + ": x: expected a cell array of char vectors, found single",
               [&] { in->read_strings("x"); });
  expect_error(ErrorCode::bad_input, "absent: expected a variable of this name", [&] { in->read_columns("absent"); });
}

TEST(Mat, ArraysBeyondFourGigabytesAreSentToVersion73) {
  const test::TempDir dir;
  auto out = MatWriter::create(dir / "x.mat", MatVersion::v5);
  const MatrixView<const float> huge(nullptr, 1u << 16, 1u << 15);  // 8 GB, refused before it is looked at
  expect_error(ErrorCode::usage, "7.3", [&] { out->write_columns("x", huge); });
  out->write_columns("x", ramp(2, 2).view());
  out->commit();
  EXPECT_EQ(MatFile::open(dir / "x.mat")->variables().size(), 1u);
}

TEST(Mat, OtherFilesAreRefusedWithWhatTheyAre) {
  const test::TempDir dir;
  expect_error(ErrorCode::bad_input, "No such file", [&] { MatFile::open(dir / "none.mat"); });
  expect_error(ErrorCode::bad_input, "directory", [&] { MatFile::open(dir.path()); });
  std::ofstream(dir / "text.mat") << std::string(400, 'a');
  expect_error(ErrorCode::bad_input, "version 5 or 7.3", [&] { MatFile::open(dir / "text.mat"); });
  std::ofstream(dir / "tiny.mat") << "x";
  expect_error(ErrorCode::bad_input, "version 5 or 7.3", [&] { MatFile::open(dir / "tiny.mat"); });
  const std::int32_t v4[] = {0, 1, 1, 0, 2, 'x', 0, 0};
  test::spill(dir / "v4.mat", v4, sizeof v4);
  expect_error(ErrorCode::bad_input, "save -v7", [&] { MatFile::open(dir / "v4.mat"); });

  auto out = MatWriter::create(dir / "cut.mat", MatVersion::v73);
  out->write_columns("x", ramp(2, 2).view());
  out->commit();
  std::filesystem::resize_file(dir / "cut.mat", 300);
  expect_error(ErrorCode::bad_input, "HDF5 data after", [&] { MatFile::open(dir / "cut.mat"); });
}

// Peak memory is per process, so the reading happens in a child.
TEST(Mat, ReadingNeedsTheResultAndLittleMore) {
#ifdef PARSNETS_SANITIZED
  GTEST_SKIP() << "sanitizers use memory of their own";
#endif
  const test::TempDir dir;
  const auto peak_kb = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
    return 0l;
  };
  for (const auto version : {MatVersion::v5, MatVersion::v73}) {
    const std::string path = dir / (version == MatVersion::v5 ? "v5.mat" : "v73.mat");
    const long allowed_kb = version == MatVersion::v5 ? 2 << 10 : 6 << 10;
    {
      Matrix<double> values(2500, 2000);  // 40 MB, read as 20 MB of float
      for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<double>(i % 97);
      auto out = MatWriter::create(path, version);
      out->write_columns("x", values.view());
      out->commit();
    }
    EXPECT_EXIT(
        {
          const auto in = MatFile::open(path);
          std::ofstream("/proc/self/clear_refs") << "5";  // the peak counts from here
          const long before = peak_kb();
          const auto x = in->read_columns("x");
          const long used = peak_kb() - before - static_cast<long>(x.size() * sizeof(float) / 1024);
          std::fprintf(stderr, "beside the result: %ld kB\n", used);
          std::_Exit(used <= allowed_kb && x.rows() == 2500 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace parsnets
