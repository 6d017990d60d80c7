#include <algorithm>
#include <limits>

#include "base/rng.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "formats/numpy_oracle.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

using test::AddressSpaceCap;
using test::ArrayFile;
using test::error_message;
using test::TempDir;

Matrix<float> sample(std::size_t rows, std::size_t cols) {
  Rng rng(5);
  Matrix<float> values(rows, cols);
  for (auto& v : values.values()) v = static_cast<float>(rng.normal() * std::pow(10.0, 6 * rng.uniform() - 3));
  return values;
}

const std::vector<std::int32_t> kLabels{3, 0, -7, std::numeric_limits<std::int32_t>::max()};
const std::vector<std::string> kNames{"ant", "", "zebra, finch", "日本語", "a𝔘z"};

void write_archive(const std::filesystem::path& file, bool compressed, MatrixView<const float> values) {
  ArrayFile().add("single", values).add("labels", kLabels).add("klassen ä", kNames).write_npz(file, compressed);
}

// Every occurrence is replaced: names stand in the local header and in the directory.
std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size())
    bytes.replace(at, from.size(), to);
  return bytes;
}

}  // namespace

TEST(Npz, ArchivesOfNumpyAreRead) {
  TempDir dir;
  const Matrix<float> values = sample(300, 1000);  // several pieces
  for (const bool compressed : {true, false}) {
    const auto file = dir / "x.npz";
    write_archive(file, compressed, values.view());
    EXPECT_EQ(npz_members(file), (std::vector<std::string>{"single", "labels", "klassen ä"}));
    EXPECT_EQ(test::first_difference<float>(read_npy_float({file, "single"}).values(), values.values()), -1);
    EXPECT_EQ(read_npy_strings({file, "klassen ä"}), kNames);
    const Matrix<double> labels = read_npy_double({file, "labels"});
    ASSERT_EQ(labels.rows(), kLabels.size());
    EXPECT_TRUE(std::equal(kLabels.begin(), kLabels.end(), labels.values().begin()));
  }
}

TEST(Npy, NumpyReadsWhatIsWritten) {
  PARSNETS_NEED_NUMPY();
  TempDir dir;
  Matrix<float> values = sample(61, 17);
  values(0, 0) = std::numeric_limits<float>::quiet_NaN();
  values(0, 1) = -std::numeric_limits<float>::infinity();
  values(0, 2) = 1e-7f;  // a subnormal half
  values(0, 3) = 70000;  // beyond half
  values(0, 4) = -0.0f;
  write_npy(dir / "single.npy", values.view());
  write_npy(dir / "labels.npy", kLabels);
  test::write_bytes(dir / "values.f32", test::raw_bytes<float>(values.values()));
  test::write_bytes(dir / "labels.i32", test::raw_bytes(kLabels));
  // Random bit patterns for the shortest-text writer.
  Rng rng(8);
  Matrix<float> numbers(20000, 4);
  for (auto& v : numbers.values()) do {
      v = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
    } while (std::isinf(v));
  numbers(0, 0) = 7.038531e-26f;
  write_csv(dir / "numbers.csv", numbers.view());
  test::write_bytes(dir / "csv.f32", test::raw_bytes<float>(numbers.values()));
  EXPECT_TRUE(test::run_oracle("npy_oracle.py", "check", dir.path().string()));
  EXPECT_EQ(test::first_difference<float>(read_csv_float(dir / "numbers.csv").values(), numbers.values()), -1);
}

TEST(Npz, NamesTheMembersThatExistWhenOneIsMissing) {
  TempDir dir;
  write_archive(dir / "x.npz", true, sample(2, 2).view());
  const auto message = error_message([&] { read_npy_float({dir / "x.npz", "features"}); });
  EXPECT_MENTIONS(message, "x.npz");
  EXPECT_MENTIONS(message, "member 'features'");
  EXPECT_MENTIONS(message, "'single', 'labels', 'klassen ä'");
}

TEST(Npz, RefusesRepeatedEncryptedAndOtherwiseCompressedMembers) {
  TempDir dir;
  const auto file = dir / "x.npz";
  ArrayFile().add("aa", kLabels).add("bb", kLabels).write_npz(file);
  const std::string good = test::read_bytes(file);
  test::write_bytes(file, replaced(good, "bb.npy", "aa.npy"));
  EXPECT_MENTIONS(error_message([&] { read_npy_float({file, "aa"}); }), "unique member names");
  EXPECT_MENTIONS(error_message([&] { npz_members(file); }), "unique member names");
  const std::size_t directory = good.find("PK\1\2");
  const auto with_byte = [&](std::size_t at, char value) {  // of the local header, and 2 behind it in the directory
    std::string bytes = good;
    bytes[at] = bytes[directory + at + 2] = value;
    test::write_bytes(file, bytes);
    return error_message([&] { read_npy_float({file, "aa"}); });
  };
  EXPECT_MENTIONS(with_byte(6, static_cast<char>(good[6] | 1)), "decrypt");
  EXPECT_MENTIONS(with_byte(8, 12), "stored or deflated");
}

TEST(Npz, RefusesDeclaredSizesThatDeflateCannotReach) {
  TempDir dir;
  const auto file = dir / "x.npz";
  ArrayFile().add("x", kLabels).write_npz(file);
  std::string bomb = test::read_bytes(file);
  const std::size_t directory = bomb.find("PK\1\2");
  for (int i = 0; i < 4; ++i) bomb[directory + 24 + static_cast<std::size_t>(i)] = static_cast<char>(i == 3 ? 0x7f : 0);
  test::write_bytes(file, bomb);
  const AddressSpaceCap cap(32 << 20);
  const auto message = error_message([&] { read_npy_float({file, "x"}); });
  EXPECT_MENTIONS(message, "declared size");
  EXPECT_MENTIONS(message, "2130706432 bytes");
}

TEST(Npz, ADamagedValueIsCaughtByTheChecksum) {
  TempDir dir;
  const auto file = dir / "x.npz";
  ArrayFile().add("x", kLabels).write_npz(file, false);
  std::string bytes = test::read_bytes(file);
  bytes[bytes.find("PK\1\2") - 1] ^= 1;  // the last byte of the values
  test::write_bytes(file, bytes);
  EXPECT_MENTIONS(error_message([&] { read_npy_float({file, "x"}); }), "checksum");
  EXPECT_MENTIONS(error_message([&] { read_npy_double({file, "x"}); }), "checksum");
}

TEST(Npz, EveryTruncationIsRefused) {
  TempDir dir;
  for (const bool compressed : {true, false}) {
    write_archive(dir / "good.npz", compressed, sample(3, 2).view());
    const std::string good = test::read_bytes(dir / "good.npz");
    for (std::size_t length = 0; length < good.size(); ++length) {
      test::write_bytes(dir / "x.npz", good.substr(0, length));
      EXPECT_NE(error_message([&] { read_npy_float({dir / "x.npz", "single"}); }), "") << length;
    }
  }
}

TEST(Npz, BitFlipsNeverCrashOverAllocateOrChangeAValue) {
  TempDir dir;
  const Matrix<float> values = sample(5, 4);
  std::vector<std::string> originals;
  for (const bool compressed : {true, false}) {
    write_archive(dir / "good.npz", compressed, values.view());
    originals.push_back(test::read_bytes(dir / "good.npz"));
  }
  const AddressSpaceCap cap(64 << 20);
  Rng rng(21);
  std::size_t refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes = originals[static_cast<std::size_t>(trial) % 2];
    bytes[rng.below(bytes.size())] ^= static_cast<char>(1u << rng.below(8));
    test::write_bytes(dir / "x.npz", bytes);
    refused += test::is_refused([&] { npz_members(dir / "x.npz"); });
    refused += test::is_refused([&] {
      EXPECT_EQ(test::first_difference<float>(read_npy_float({dir / "x.npz", "single"}).values(), values.values()), -1)
          << "trial " << trial;
    });
    refused += test::is_refused([&] {
      EXPECT_EQ(read_npy_strings({dir / "x.npz", "klassen ä"}), kNames) << "trial " << trial;
    });
  }
  EXPECT_GT(refused, 500u);
}

}  // namespace parsnets
