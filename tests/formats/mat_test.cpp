#include "formats/mat.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/decoder.hpp"
#include "environment_variable.hpp"
#include "formats/array_files.hpp"
#include "formats/numpy_oracle.hpp"
#include "mat_reader.hpp"
#include "paths.hpp"
#include "same_bytes.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

// The tables that the MAT oracles (tests/oracles) and the tests exchange; mat_oracle.py describes them.

struct ManifestLine {
  std::string what, file, variable, kind, rows, cols, dump;
};

std::vector<ManifestLine> read_manifest(const std::filesystem::path& path) {
  std::vector<ManifestLine> out;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    std::istringstream cells(text);
    ManifestLine m;
    for (auto* cell : {&m.what, &m.file, &m.variable, &m.kind, &m.rows, &m.cols, &m.dump})
      std::getline(cells, *cell, '\t');
    out.push_back(m);
  }
  return out;
}

template <class T>
std::string bytes_of(const Matrix<T>& m) {
  return raw_bytes(m.values());
}

std::string joined(const std::vector<std::string>& strings) {
  std::string out;
  for (const auto& s : strings) out += s + '\0';
  return out;
}

/// Reads every variable the manifest names and compares it, bit by bit, with its dump.
void expect_manifest_holds(const std::filesystem::path& folder) {
  const auto lines = read_manifest(folder / "manifest.tsv");
  ASSERT_FALSE(lines.empty());
  std::unique_ptr<MatFile> file;
  for (const auto& line : lines) {
    SCOPED_TRACE(line.file + ": " + line.variable);
    if (file == nullptr || file->name() != (folder / line.file).string()) file = MatFile::open(folder / line.file);
    const MatVariable* found = file->find(line.variable);
    if (line.kind == "-") {
      EXPECT_EQ(found, nullptr);
    } else {
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->kind, line.kind);
    }
    if (line.what == "refuse") {
      EXPECT_MENTIONS(error_message([&] {
                        line.variable == "mixed" ? void(file->read_strings("mixed"))
                                                 : void(file->read_columns(line.variable));
                      }),
                      line.rows);
      continue;
    }
    EXPECT_EQ(std::to_string(found->rows), line.rows);
    EXPECT_EQ(std::to_string(found->cols), line.cols);
    if (line.what == "strings") {
      EXPECT_TRUE(same_bytes(joined(file->read_strings(line.variable)), read_bytes(folder / (line.dump + ".txt"))));
      continue;
    }
    const auto singles = file->read_columns(line.variable);
    EXPECT_EQ(singles.rows(), found->cols);
    EXPECT_EQ(singles.cols(), found->rows);
    EXPECT_TRUE(same_bytes(bytes_of(singles), read_bytes(folder / (line.dump + ".f32"))));
    EXPECT_TRUE(
        same_bytes(bytes_of(file->read_columns_double(line.variable)), read_bytes(folder / (line.dump + ".f64"))));
  }
}

using Names = std::vector<std::string>;

Matrix<float> ramp(std::size_t rows, std::size_t cols) {
  Matrix<float> m(rows, cols);
  for (std::size_t i = 0; i < m.size(); ++i) m.data()[i] = 0.25f * static_cast<float>(i % 4099) - 17;
  return m;
}

std::string write_small(const std::filesystem::path& path, MatVersion version) {
  ArrayFile file;
  file.add("features", ramp(6, 5).view()).add("labels", Matrix<double>(3, 3, 7.0).view());
  file.add("names", Names{"one", "", "three"});
  const Matrix<double> table(300, 300, 7.0);  // large enough for compressed chunks, which are small
  if (version == MatVersion::v73) file.add("table", table.view());
  file.write_mat(path, version);
  return read_bytes(path);
}

// Everything the file holds, as bytes by name.
std::map<std::string, std::string> read_all(const std::filesystem::path& path) {
  std::map<std::string, std::string> out;
  const auto file = MatFile::open(path);
  for (const auto& v : file->variables())
    out[v.name] = v.kind == "cell" || v.kind == "char"
                      ? joined(file->read_strings(v.name))
                      : bytes_of(file->read_columns(v.name)) + bytes_of(file->read_columns_double(v.name));
  return out;
}

/// The same without the sandbox, which takes a process for each file. For v5 alone: libhdf5 breaks what it runs in.
std::map<std::string, std::string> read_all_here(const std::filesystem::path& path) {
  std::map<std::string, std::string> out;
  decode::Input input(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  const auto file = mat::open(input);
  for (std::size_t i = 0; i < file->variables.size(); ++i) {
    std::string& bytes = out[file->variables[i].name];
    const auto add = [&]<class T>(T) {
      Matrix<T> values;
      mat::read_columns<T>(*file, i,
                           {[&](auto rows, auto cols) { values = Matrix<T>(rows, cols); },
                            [&](auto row, auto col, auto rows, auto cols, const T* part) {
                              for (std::uint64_t r = 0; r < rows; ++r)
                                std::copy_n(part + r * cols, cols, &values(row + r, col));
                            }});
      bytes += bytes_of(values);
    };
    const std::string& kind = file->variables[i].kind;
    if (kind == "cell" || kind == "char") {
      bytes = joined(mat::read_strings(*file, i));
    } else {
      add(float{});
      add(double{});
    }
  }
  return out;
}

std::map<std::string, std::string> read_all_of(MatVersion version, const std::filesystem::path& path) {
  return version == MatVersion::v73 ? read_all(path) : read_all_here(path);
}

void expect_truncations_refused(MatVersion version, std::size_t step) {
  const TempDir dir;
  const auto path = dir / "x.mat";
  const std::string whole = write_small(path, version);
  const auto expected = read_all(path);
  EXPECT_TRUE(read_all_here(path) == expected);
  ASSERT_EQ(expected.size(), version == MatVersion::v73 ? 4u : 3u);
  const AddressSpaceCap limit(1u << 30);
  std::size_t refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += step) {
    write_bytes(path, whole.substr(0, length));
    refused += is_refused([&] {
      for (const auto& [name, bytes] : read_all_of(version, path))
        EXPECT_TRUE(same_bytes(bytes, expected.at(name))) << "at " << length;
    });
  }
  EXPECT_GT(refused, whole.size() / step / 2);
}

void expect_flips_survived(MatVersion version, int flips) {
  const TempDir dir;
  const auto path = dir / "x.mat";
  const std::string whole = write_small(path, version);
  const AddressSpaceCap limit(1u << 30);
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < flips; ++i) {
    std::string damaged = whole;
    for (unsigned n = 0; n <= random() % 3; ++n)
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    write_bytes(path, damaged);
    refused += is_refused([&] { read_all_of(version, path); });
  }
  EXPECT_GT(refused, 0);
}

std::string words(std::initializer_list<std::uint32_t> list) {
  std::string out;
  for (const auto w : list) out.append(reinterpret_cast<const char*>(&w), sizeof w);
  return out;
}

// A v5 file of one miMATRIX "x" with the given class, dimensions and data element; sizes as told, not as they are.
std::string forged(std::uint32_t mx_class, std::uint32_t rows, std::uint32_t cols, const std::string& data,
                   bool compressed, std::uint32_t extra_size = 0) {
  std::string header(128, ' ');
  header.replace(116, 12, std::string("\0\0\0\0\0\0\0\0\0\1IM", 12));
  const std::string body = words({6, 8, mx_class, 0, 5, 8, rows, cols, 1 << 16 | 1, 'x'}) + data;
  std::string matrix = words({14, static_cast<std::uint32_t>(body.size()) + extra_size}) + body;
  if (!compressed) return header + matrix;
  std::string packed(compressBound(matrix.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(matrix.data()),
           matrix.size());
  return header + words({15, static_cast<std::uint32_t>(size)}) + packed.substr(0, size);
}

}  // namespace

class MatVersions : public testing::TestWithParam<MatVersion> {
 protected:
  TempDir dir_;
  std::filesystem::path path_ = dir_ / "x.mat";
};
INSTANTIATE_TEST_SUITE_P(All, MatVersions,
                         testing::Values(MatVersion::v5, MatVersion::v5_uncompressed, MatVersion::v73),
                         [](const auto& param) {
                           return param.param == MatVersion::v5                ? "v5"
                                  : param.param == MatVersion::v5_uncompressed ? "v5Uncompressed"
                                                                               : "v73";
                         });

TEST_P(MatVersions, WhatOthersWroteIsRead) {
  const auto features = ramp(1000, 257);
  Matrix<double> table(3, 2);
  for (std::size_t i = 0; i < 6; ++i) table.data()[i] = 1.0 / (1.0 + static_cast<double>(i));
  const Names names{"antelope", "", "Gänsegeier", "鳥", "🐦 bird", std::string(5000, 'z')};
  ArrayFile()
      .add("features", features.view())
      .add("table", table.view())
      .add("nothing", Matrix<float>(0, 7).view())
      .add("names", names)
      .write_mat(path_, GetParam());

  const auto in = MatFile::open(path_);
  ASSERT_EQ(in->variables().size(), 4u);
  EXPECT_EQ(in->find("features")->kind, "single");
  EXPECT_EQ(in->find("features")->rows, 257u);
  EXPECT_EQ(in->find("features")->cols, 1000u);
  EXPECT_EQ(in->find("table")->kind, "double");
  EXPECT_EQ(in->find("names")->kind, "cell");
  EXPECT_EQ(in->find("names")->rows, names.size());
  EXPECT_EQ(in->find("no such"), nullptr);
  EXPECT_TRUE(same_bytes(bytes_of(in->read_columns("features")), bytes_of(features)));
  const auto on_disk = in->read_columns("features", nullptr, {1, 0});
  EXPECT_TRUE(on_disk.is_mapped());
  EXPECT_TRUE(same_bytes(bytes_of(on_disk), bytes_of(features)));
  EXPECT_TRUE(same_bytes(bytes_of(in->read_columns_double("table")), bytes_of(table)));
  EXPECT_EQ(in->read_strings("names"), names);
  const auto nothing = in->read_columns("nothing");
  EXPECT_EQ(nothing.rows(), 0u);
  EXPECT_EQ(nothing.cols(), 7u);
}

TEST_P(MatVersions, ProgressIsToldInMegabytesAndCanCancelReading) {
  const auto values = ramp(5000, 1000);  // 20 MB
  ArrayFile().add("features", values.view()).write_mat(path_, GetParam());
  const auto in = MatFile::open(path_);
  ProgressRecorder reading;
  in->read_columns("features", &reading);
  reading.expect_load("features", 20);
  EXPECT_EQ(reading.done.size(), 4u) << "at 0, after 8 and 16, at the end";

  ProgressRecorder stopping(1);
  EXPECT_MENTIONS(error_message([&] { in->read_columns("features", &stopping); }, ErrorCode::cancelled),
                  "load features");
  EXPECT_TRUE(same_bytes(bytes_of(in->read_columns("features")), bytes_of(values)));
}

TEST_P(MatVersions, MessagesNameFileVariableAndRemedy) {
  ArrayFile().add("x", ramp(2, 2).view()).add("names", Names{"a", "b"}).write_mat(path_, GetParam());
  const auto in = MatFile::open(path_);
  EXPECT_MENTIONS(error_message([&] { in->read_columns("names"); }),
                  path_.string() + ": names: expected a numeric array, found cell");
  EXPECT_MENTIONS(error_message([&] { in->read_strings("x"); }),
                  path_.string() + ": x: expected a cell array of char vectors, found single");
  EXPECT_MENTIONS(error_message([&] { in->read_columns("absent"); }), "absent: expected a variable of this name");
}

TEST(Mat, OtherFilesAreRefusedWithWhatTheyAre) {
  const TempDir dir;
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir / "none.mat"); }), "No such file");
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir.path()); }), "directory");
  std::ofstream(dir / "text.mat") << std::string(400, 'a');
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir / "text.mat"); }), "version 5 or 7.3");
  std::ofstream(dir / "tiny.mat") << "x";
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir / "tiny.mat"); }), "version 5 or 7.3");
  const std::int32_t v4[] = {0, 1, 1, 0, 2, 'x', 0, 0};
  write_bytes(dir / "v4.mat", {reinterpret_cast<const char*>(v4), sizeof v4});
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir / "v4.mat"); }), "save -v7");

  ArrayFile().add("x", ramp(2, 2).view()).write_mat(dir / "cut.mat", MatVersion::v73);
  std::filesystem::resize_file(dir / "cut.mat", 300);
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir / "cut.mat"); }), "HDF5 data after");
}

// Peak memory is per process, so the reading happens in a child.
TEST(Mat, ReadingNeedsTheResultAndLittleMore) {
#ifdef PARSNETS_SANITIZED
  GTEST_SKIP() << "sanitizers use memory of their own";
#endif
  const TempDir dir;
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
      ArrayFile().add("x", values.view()).write_mat(path, version);
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
        testing::ExitedWithCode(0), "");
  }
}

// MAT files against other programs: scipy and h5py in every run, Octave when PARSNETS_PEERS=1 is set.

TEST(MatOracle, FilesOfScipyAndH5pyReadAsTheyReadThem) {
  const TempDir dir;
  const int code = oracle_code("mat_oracle.py", "make", dir.path());
  if (code == 77 || code == 127)
    GTEST_SKIP() << "NOT TESTED against scipy and h5py: install python3-numpy, python3-scipy and python3-h5py";
  ASSERT_EQ(code, 0);
  expect_manifest_holds(dir.path());
}

TEST(MatPeers, OctaveFilesReadAsOctaveReadsThem) {
  if (std::getenv("PARSNETS_PEERS") == nullptr) GTEST_SKIP() << "set PARSNETS_PEERS=1 to test against Octave";
  const TempDir dir;
  ASSERT_EQ(oracle_code("octave_mat.m", "make", dir.path(), "octave-cli -qf"), 0);
  expect_manifest_holds(dir.path());
}

// Damaged MAT files: every one must read exactly or be refused, without a crash, a hang or a huge allocation.

TEST(MatHostile, EveryTruncationOfAV5FileIsRefused) {
  expect_truncations_refused(MatVersion::v5, 1);
  expect_truncations_refused(MatVersion::v5_uncompressed, 1);
}
TEST(MatHostile, TruncationsOfAV73FileAreRefused) { expect_truncations_refused(MatVersion::v73, 97); }

TEST(MatHostile, FlippedBitsOfV5FilesDoNoHarm) {
  expect_flips_survived(MatVersion::v5, 2000);
  expect_flips_survived(MatVersion::v5_uncompressed, 2000);
}
TEST(MatHostile, FlippedBitsOfV73FilesDoNoHarm) { expect_flips_survived(MatVersion::v73, 200); }

TEST(MatHostile, ForgedV5SizesAreRefusedBeforeMemoryIsTaken) {
  const TempDir dir;
  const auto path = dir / "x.mat";
  const AddressSpaceCap limit(1u << 30);
  constexpr std::uint32_t kBig = 0x7fffffff, kFloats = 0xfffffff0;
  for (const bool compressed : {false, true}) {
    for (const auto& bytes : {
             forged(7, kBig, kBig, words({7, 8, 0, 0}), compressed),              // more values than bytes
             forged(7, 1 << 15, 1 << 15, words({7, kFloats, 0, 0}), compressed),  // more bytes than the element
             forged(7, 1 << 15, 1 << 15, words({7, kFloats, 0, 0}), compressed, 0xffffff00),
             forged(7, 2, 1, words({7, 4, 0, 0}), compressed),  // fewer bytes than values
             forged(7, 2, 1, words({7, 9, 0, 0, 0}), compressed),
             forged(7, 2, 1, words({8, 8, 0, 0}), compressed),           // no such type
             forged(7, 1, 1, words({7 | 5 << 16, 0}), compressed),       // small element of 5 bytes
             forged(7, 0x80000000, 1, words({7, 8, 0, 0}), compressed),  // negative dimension
             forged(1, kBig, 1, words({14, 0}), compressed),             // more cells than bytes
             forged(4, kBig, 1, words({16, 8, 0, 0}), compressed),
             forged(4, 1, 4, words({16, 4, 0xffffffff, 0}), compressed),  // not UTF-8
             forged(7, 2, 1, words({7, 8, 0, 0}), compressed, 64),        // longer than its stream
         }) {
      write_bytes(path, bytes);
      SCOPED_TRACE(bytes.size());
      error_message([&] {
        const auto file = MatFile::open(path);
        ASSERT_EQ(file->variables().size(), 1u);
        file->variables()[0].kind == "single" ? void(file->read_columns("x")) : void(file->read_strings("x"));
      });
    }
  }
  // The same forger makes a good file when it tells the truth, until its checksum is damaged.
  auto good = forged(7, 2, 1, words({7, 8, 0x3f800000, 0x40000000}), true);
  write_bytes(path, good);
  EXPECT_EQ(MatFile::open(path)->read_columns("x")(0, 1), 2.0f);
  good.back() ^= 1;
  write_bytes(path, good);
  EXPECT_THROW(MatFile::open(path)->read_columns("x"), Error);
}

TEST(MatHostile, RowsOfTextThatFillMemoryEndTheReaderAlone) {
  if (Decoder("MAT files", "mat", -1, {64u << 20, 1}).sandbox() == "time")
    GTEST_SKIP() << "this build limits no memory";
  const TempDir dir;
  const auto path = dir / "x.mat";
  constexpr std::uint32_t kRows = 1 << 24;  // one character each, all blanks, in 17 KB
  std::string text = words({16, kRows});
  text.append(kRows, ' ');
  write_bytes(path, forged(4, kRows, 1, text, true));
  EXPECT_LT(std::filesystem::file_size(path), 20000u);
  const auto file = MatFile::open(path);
  EXPECT_MENTIONS(error_message([&] { file->read_strings("x"); }),
                  "expected a file that is read with 4 s of processor time and 128 MB of memory, found one that takes "
                  "more memory");
  EXPECT_MENTIONS(error_message([&] { file->read_columns("x"); }), "expected a numeric array, found char");
}

// Its dataset declares more values than the chunk has that holds them: libhdf5 1.10 copies what lies behind it.
TEST(MatHostile, AFileThatBreaksLibhdf5IsRefused) {
#ifdef PARSNETS_SANITIZED
  GTEST_SKIP() << "sanitizers end the reader in their own way";
#endif
  const auto file = MatFile::open(PARSNETS_SOURCE_DIR "/fuzz/corpus/mat/v73_chunk_too_short.mat");
  EXPECT_MENTIONS(
      error_message([&] { file->read_columns("features"); }),
      "v73_chunk_too_short.mat: expected a file that is read with 4 s of processor time and 128 MB of memory, "
      "found one that breaks its reader (SEGV); the file is damaged or made to do harm");
  EXPECT_EQ(file->read_strings("text").size(), 1u);  // the next question has a reader of its own
}

TEST(MatHostile, AReaderThatAFileTookOverIsNotBelieved) {
  const TempDir dir;
  write_bytes(dir / "x.mat", "any");
  const EnvironmentVariable probe("PARSNETS_DECODE",
                                  (std::filesystem::path(PARSNETS_BINARY).parent_path() / "decoder_probe").string());
  EXPECT_MENTIONS(error_message([&] { MatFile::open(dir / "x.mat"); }), "x.mat: expected a file that is read with");
}

}  // namespace parsnets::test
