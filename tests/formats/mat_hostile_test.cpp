// Damaged MAT files: every one must read exactly or be refused, without a crash, a hang or a huge allocation.

#include <sys/resource.h>
#include <zlib.h>

#include <map>
#include <random>

#include "formats/mat_manifest.hpp"
#include "same_bytes.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

// While it lives, the process cannot grow by more than 1 GB: a huge allocation fails the test with bad_alloc.
class MemoryLimit {
 public:
  MemoryLimit() {
#ifndef PARSNETS_SANITIZED
    getrlimit(RLIMIT_AS, &before_);
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    statm >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * 4096 + (1u << 30);
    setrlimit(RLIMIT_AS, &limit);
#endif
  }
  ~MemoryLimit() {
#ifndef PARSNETS_SANITIZED
    setrlimit(RLIMIT_AS, &before_);
#endif
  }

 private:
  rlimit before_{};
};

std::string write_small(const std::filesystem::path& path, MatVersion version) {
  Matrix<float> values(6, 5);
  for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<float>(i) * 0.5f;
  Matrix<double> doubles(3, 3, 7.0);
  auto out = MatWriter::create(path, version);
  out->write_columns("features", values.view());
  out->write_columns("labels", doubles.view());
  out->write_strings("names", {"one", "", "three"});
  if (version == MatVersion::v73) {  // large enough for compressed chunks, which are small
    const Matrix<double> table(300, 300, 7.0);
    out->write_columns("table", table.view());
  }
  out->commit();
  return test::slurp(path);
}

// Everything the file holds, as bytes by name.
std::map<std::string, std::string> read_all(const std::filesystem::path& path) {
  std::map<std::string, std::string> out;
  const auto file = MatFile::open(path);
  for (const auto& v : file->variables())
    out[v.name] = v.kind == "cell" || v.kind == "char"
                      ? test::joined(file->read_strings(v.name))
                      : test::bytes_of(file->read_columns(v.name)) + test::bytes_of(file->read_columns_double(v.name));
  return out;
}

void expect_truncations_refused(MatVersion version, std::size_t step) {
  const test::TempDir dir;
  const auto path = dir / "x.mat";
  const std::string whole = write_small(path, version);
  const auto expected = read_all(path);
  ASSERT_EQ(expected.size(), version == MatVersion::v73 ? 4u : 3u);
  const MemoryLimit limit;
  std::size_t refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += step) {
    test::spill(path, whole.data(), length);
    try {
      for (const auto& [name, bytes] : read_all(path))
        EXPECT_TRUE(test::same_bytes(bytes, expected.at(name))) << "at " << length;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input) << "at " << length << ": " << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size() / step / 2);
}

void expect_flips_survived(MatVersion version, int flips) {
  const test::TempDir dir;
  const auto path = dir / "x.mat";
  const std::string whole = write_small(path, version);
  const MemoryLimit limit;
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < flips; ++i) {
    std::string damaged = whole;
    for (unsigned n = 0; n <= random() % 3; ++n)
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    test::spill(path, damaged.data(), damaged.size());
    try {
      read_all(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input) << "flip " << i << ": " << e.what();
      ++refused;
    }
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

TEST(MatHostile, EveryTruncationOfACompressedV5FileIsRefused) { expect_truncations_refused(MatVersion::v5, 1); }
TEST(MatHostile, EveryTruncationOfAPlainV5FileIsRefused) { expect_truncations_refused(MatVersion::v5_uncompressed, 1); }
TEST(MatHostile, TruncationsOfAV73FileAreRefused) { expect_truncations_refused(MatVersion::v73, 7); }

TEST(MatHostile, FlippedBitsOfV5FilesDoNoHarm) {
  expect_flips_survived(MatVersion::v5, 2000);
  expect_flips_survived(MatVersion::v5_uncompressed, 2000);
}
TEST(MatHostile, FlippedBitsOfV73FilesDoNoHarm) { expect_flips_survived(MatVersion::v73, 2000); }

TEST(MatHostile, ForgedV5SizesAreRefusedBeforeMemoryIsTaken) {
  const test::TempDir dir;
  const auto path = dir / "x.mat";
  const MemoryLimit limit;
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
      test::spill(path, bytes.data(), bytes.size());
      try {
        const auto file = MatFile::open(path);
        ASSERT_EQ(file->variables().size(), 1u);
        file->variables()[0].kind == "single" ? void(file->read_columns("x")) : void(file->read_strings("x"));
        ADD_FAILURE() << "was read: " << compressed << " " << bytes.size();
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_input) << e.what();
      }
    }
  }
  // The same forger makes a good file when it tells the truth.
  const auto good = forged(7, 2, 1, words({7, 8, 0x3f800000, 0x40000000}), true);
  test::spill(path, good.data(), good.size());
  EXPECT_EQ(MatFile::open(path)->read_columns("x")(0, 1), 2.0f);
}

TEST(MatHostile, ADamagedChecksumIsNoticed) {
  const test::TempDir dir;
  const auto path = dir / "x.mat";
  auto bytes = forged(7, 2, 1, words({7, 8, 0x3f800000, 0x40000000}), true);
  bytes.back() ^= 1;
  test::spill(path, bytes.data(), bytes.size());
  EXPECT_THROW(MatFile::open(path)->read_columns("x"), Error);
}

}  // namespace parsnets
