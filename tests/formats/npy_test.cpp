#include "formats/npy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "base/rng.hpp"
#include "formats/element_type.hpp"
#include "formats/numpy_oracle.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

using test::AddressSpaceCap;
using test::error_message;
using test::TempDir;

std::string npy(const std::string& dict, const std::string& values, int major = 1) {
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return bytes + dict + values;
}

std::string floats(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return test::raw_bytes(values);
}

const std::string kGood = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

class NpyHeaderText : public ::testing::Test {
 protected:
  Matrix<float> read(const std::string& dict, const std::string& values) {
    test::write_bytes(dir_ / "x.npy", npy(dict, values));
    return read_npy_float({dir_ / "x.npy", ""});
  }
  std::string refused(const std::string& dict, const std::string& values = floats(6)) {
    SCOPED_TRACE(dict);
    return error_message([&] { read(dict, values); });
  }
  TempDir dir_;
};

bool is_mapped(const std::filesystem::path& file) {
  return test::read_bytes("/proc/self/maps").find(file.string()) != std::string::npos;
}

}  // namespace

TEST(Npy, ReadsWhatNumpyWritesBitForBit) {
  PARSNETS_NEED_NUMPY();
  TempDir dir;
  ASSERT_TRUE(test::run_oracle("npy_oracle.py", "write", dir.path().string()));
  std::ifstream cases(dir / "cases.txt");
  std::string name, file, member;
  std::size_t rows = 0, cols = 0, count = 0;
  while (cases >> name >> file >> member >> rows >> cols) {
    SCOPED_TRACE(name);
    const NpyLocation where{dir / file, member == "-" ? "" : member};
    const Matrix<float> single = read_npy_float(where);
    ASSERT_EQ(single.rows(), rows);
    ASSERT_EQ(single.cols(), cols);
    const auto expected = test::read_raw<float>(dir / (name + ".f32"));
    EXPECT_EQ(test::first_difference<float>(single.values(), expected), -1);
    const Matrix<float> on_disk = read_npy_float(where, nullptr, {1, 0});
    EXPECT_EQ(on_disk.is_mapped(), single.size() > 0);
    EXPECT_EQ(test::first_difference<float>(on_disk.values(), expected), -1);
    const Matrix<double> wide = read_npy_double(where);
    const auto expected_wide = test::read_raw<double>(dir / (name + ".f64"));
    EXPECT_EQ(test::first_difference<double>(wide.values(), expected_wide), -1);
    ++count;
  }
  EXPECT_EQ(count, 12u * 2 * 2 * 3 + 6 + 5 * 5);
  EXPECT_EQ(npz_members(dir / "stored.npz"),
            (std::vector<std::string>{"features", "fortran", "labels", "bytes", "grün"}));
}

TEST(Npy, ReadsStringsThatNumpyWrites) {
  PARSNETS_NEED_NUMPY();
  TempDir dir;
  ASSERT_TRUE(test::run_oracle("npy_oracle.py", "text", dir.path().string()));
  for (const std::string name : {"unicode_le", "unicode_be", "bytes", "column"}) {
    SCOPED_TRACE(name);
    std::vector<std::string> expected;
    std::istringstream lines(test::read_bytes(dir / (name + ".txt")));
    for (std::string line; std::getline(lines, line);) expected.push_back(line);
    ASSERT_EQ(expected.size(), 7u);
    EXPECT_EQ(read_npy_strings({dir / (name + ".npy"), ""}), expected);
    EXPECT_EQ(read_npy_strings({dir / (name + ".npz"), "names"}), expected);
    EXPECT_MENTIONS(error_message([&] { read_npy_float({dir / (name + ".npy"), ""}); }), "an array of numbers");
  }
}

TEST(Npy, ColumnsBecomeRowsOnDiskBlockByBlock) {
  TempDir dir;
  const std::size_t rows = 3000, cols = 2100;  // 25 MB: two blocks
  std::vector<float> columns(rows * cols);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) columns[c * rows + r] = static_cast<float>(r * cols + c);
  test::write_bytes(dir / "f.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3000, 2100), }\n",
                                       test::raw_bytes(columns)));
  const Matrix<float> read = read_npy_float({dir / "f.npy", ""}, nullptr, {1, 0});
  ASSERT_TRUE(read.is_mapped());
  for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read.data()[i], static_cast<float>(i));
}

TEST(Npy, MapsFloat32InPlaceAndReadsWhatIsNotAligned) {
  TempDir dir;
  for (const std::size_t padding : {0u, 1u, 2u, 3u}) {
    const std::string dict = kGood + std::string(padding, ' ') + "\n";
    const std::filesystem::path file = dir / fmt::format("p{}.npy", padding);
    test::write_bytes(file, npy(dict, floats(6)));
    const Matrix<float> read = read_npy_float({file, ""});
    EXPECT_EQ(is_mapped(file), (10 + dict.size()) % 4 == 0);
    EXPECT_EQ(read(0, 0), 1.0f);
    EXPECT_EQ(read(1, 2), 6.0f);
  }
  Matrix<float> writable = read_npy_float({dir / "p3.npy", ""});
  writable(0, 0) = 9;
  EXPECT_EQ(read_npy_float({dir / "p3.npy", ""})(0, 0), 1.0f) << "writing to the matrix must not reach the file";
}

TEST_F(NpyHeaderText, AcceptsAnyOrderOfKeysQuotesAndSpaces) {
  for (const auto* dict : {"{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
                           "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3)}\n",
                           "  { 'descr' : '<f4' , 'shape' : ( 2 , 3 , ) , 'fortran_order' : False , } \n \n",
                           "{'descr': '=f4', 'fortran_order': False, 'shape': (2L, 3L), }"}) {
    SCOPED_TRACE(dict);
    const Matrix<float> read = this->read(dict, floats(6));
    ASSERT_EQ(read.rows(), 2u);
    EXPECT_EQ(read(1, 0), 4.0f);
  }
  EXPECT_EQ(read("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", floats(6))(1, 0), 2.0f);
}

TEST_F(NpyHeaderText, RefusesMalformedDicts) {
  for (const std::string dict :
       {"", "{", "{}", "[]", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'shape': (2, 3)}",
        "{'fortran_order': False, 'shape': (2, 3)}", "{'descr': '<f4', 'fortran_order': Falsch, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': <f4, 'fortran_order': False, 'shape': (2, 3)}"})
    EXPECT_MENTIONS(refused(dict), "npy header");
  for (const std::string shape :
       {"'shape': (2, 3), 'extra': 1}", "'shape': (2, 3), 'shape': (2, 3)}", "'shape': (2, 3)} x", "'shape': [2, 3]}",
        "'shape': (2 3)}", "'shape': (-2, 3)}", "'shape': (2, 3.0)}", "'shape': (6)}", "'shape': (2, 3",
        "'shape': (99999999999999999999, 3)}"})
    EXPECT_MENTIONS(refused("{'descr': '<f4', 'fortran_order': False, " + shape), "npy header");
}

TEST_F(NpyHeaderText, RefusesTypesItCannotReadAndSaysWhatToDo) {
  const auto with = [&](const std::string& descr) {
    return refused("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2, 3), }");
  };
  EXPECT_MENTIONS(with("'|O'"), "Python objects (a pickle)");
  EXPECT_MENTIONS(with("'<c8'"), "complex");
  EXPECT_MENTIONS(with("[('a', '<f4')]"), "structured");
  for (const auto* type : {"'<f16'", "'<M8[ns]'", "'|V4'", "'<f3'", "'f4'", "'|f4'", "'<'", "''", "'<f'", "'<f4x'",
                           "'<x4'", "'<b2'", "'<f-4'"})
    EXPECT_MENTIONS(with(type), "astype('float32')");
  EXPECT_MENTIONS(with("'<U0'"), "strings of at least one character");
}

TEST_F(NpyHeaderText, RefusesShapesThatAreNotAMatrixWithValues) {
  const auto with = [&](const std::string& shape, std::size_t values) {
    return refused("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", floats(values));
  };
  const AddressSpaceCap cap(32 << 20);
  for (const auto& [shape, values, message] :
       {std::tuple{"()", 1, "1-D or 2-D array, found a 0-D array"}, std::tuple{"(0,)", 0, "at least one value"},
        std::tuple{"(1, 2, 3)", 6, "found a 3-D array, shape (1, 2, 3)"}, std::tuple{"(5, 0)", 0, "at least one value"},
        std::tuple{"(4611686018427387904, 8)", 6, "more than 2^64 bytes"},
        std::tuple{"(4611686018427387904, 4)", 6, "more than 2^64 bytes"},
        std::tuple{"(1000000000, 1000)", 6, "expected 4000000000000 bytes"}, std::tuple{"(2, 3)", 5, "found 20 bytes"},
        std::tuple{"(2, 3)", 7, "found 28 bytes"}})
    EXPECT_MENTIONS(with(shape, static_cast<std::size_t>(values)), message);
}

TEST_F(NpyHeaderText, RefusesWrongMagicVersionsAndHeaderLengths) {
  const auto file = dir_ / "x.npy";
  const auto refuse = [&](const std::string& bytes) {
    test::write_bytes(file, bytes);
    const AddressSpaceCap cap(32 << 20);
    return error_message([&] { read_npy_float({file, ""}); });
  };
  const std::string good = npy(kGood, floats(6));
  EXPECT_MENTIONS(refuse("NUMPY" + good), "expected a numpy array");
  EXPECT_MENTIONS(refuse("PK\3\4" + good), "npz");
  EXPECT_MENTIONS(refuse(npy(kGood, floats(6), 4)), "npy version");
  std::string minor = good;
  minor[7] = 1;
  EXPECT_MENTIONS(refuse(minor), "npy version");
  std::string beyond = good;
  beyond[9] = '\x7f';
  EXPECT_MENTIONS(refuse(beyond), "npy header length");
  std::string huge = npy(kGood, floats(6), 2);
  huge[11] = '\xff';
  EXPECT_MENTIONS(refuse(huge), "npy header length");
  EXPECT_MENTIONS(error_message([&] { read_npy_float({dir_ / "none.npy", ""}); }), "check the path");
  EXPECT_MENTIONS(error_message([&] { read_npy_float({dir_.path(), ""}); }), "directory");
}

TEST(Npy, RefusesTextThatIsNotUnicode) {
  TempDir dir;
  const auto refuse = [&](const std::string& descr, const std::string& values) {
    test::write_bytes(dir / "x.npy",
                      npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }", values));
    return error_message([&] { read_npy_strings({dir / "x.npy", ""}); });
  };
  EXPECT_MENTIONS(refuse("<U1", std::string("\x00\xd8\x00\x00", 4)), "valid Unicode text");
  EXPECT_MENTIONS(refuse("<U1", std::string("\x00\x00\x11\x00", 4)), "valid Unicode text");
  EXPECT_MENTIONS(refuse("|S2", "\xff\xfe"), "valid Unicode text");
  EXPECT_MENTIONS(refuse("<f4", floats(1)), "1-D array of strings");
}

TEST(Npy, EveryTruncationAndEveryExtraByteIsRefused) {
  TempDir dir;
  for (const std::string& dict : {kGood, std::string("{'descr': '>i2', 'fortran_order': True, 'shape': (3, 4), }")}) {
    const std::string good = npy(dict, floats(6));
    for (std::size_t length = 0; length <= good.size() + 1; ++length) {
      if (length == good.size()) continue;
      test::write_bytes(dir / "x.npy", (good + "?").substr(0, length));
      EXPECT_NE(error_message([&] { read_npy_float({dir / "x.npy", ""}); }), "") << length;
    }
  }
}

TEST(Npy, BitFlipsNeverCrashOrOverAllocate) {
  TempDir dir;
  const std::string text = "{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }";
  const std::vector<std::string> originals{
      npy(kGood, floats(6)), npy("{'descr': '>f8', 'fortran_order': True, 'shape': (1, 3), }", floats(6), 2),
      npy(text, floats(6), 3)};
  const AddressSpaceCap cap(64 << 20);
  Rng rng(20);
  std::size_t refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes = originals[static_cast<std::size_t>(trial) % originals.size()];
    for (std::uint64_t flips = 1 + rng.below(3); flips > 0; --flips)
      bytes[rng.below(bytes.size())] ^= static_cast<char>(1u << rng.below(8));
    test::write_bytes(dir / "x.npy", bytes);
    const NpyLocation where{dir / "x.npy", ""};
    refused += test::is_refused(
        [&] { read_npy_header(where).is_text ? void(read_npy_strings(where)) : void(read_npy_float(where)); });
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Npy, ReadsALargeFortranArrayInTheMemoryOfTheResult) {
  TempDir dir;
  const std::size_t rows = 20000, cols = 400;  // 64 MB of float64, 32 MB as float32
  {
    std::ofstream out(dir / "x.npy", std::ios::binary);
    out << npy(fmt::format("{{'descr': '<f8', 'fortran_order': True, 'shape': ({}, {}), }}", rows, cols), "");
    std::vector<double> column(rows);
    for (std::size_t c = 0; c < cols; ++c) {
      for (std::size_t r = 0; r < rows; ++r) column[r] = static_cast<double>(r * cols + c);
      out << test::raw_bytes(column);
    }
  }
  test::ProgressRecorder recorder;
  const AddressSpaceCap cap((32 << 20) + (10 << 20));
  {
    const Matrix<float> read = read_npy_float({dir / "x.npy", ""}, &recorder);
    for (std::size_t i = 0; i < rows * cols; ++i) ASSERT_EQ(read.data()[i], static_cast<float>(i));
  }
  recorder.expect_load("x.npy", 64);
  EXPECT_GT(recorder.done.size(), 5u);
  test::ProgressRecorder cancelling(3);
  test::error_message([&] { read_npy_float({dir / "x.npy", ""}, &cancelling); }, ErrorCode::cancelled);
  EXPECT_EQ(cancelling.done.size(), 4u);
}

TEST(NpyInMemory, ReadsWhatAFileWouldGive) {
  const std::string swapped = "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string turned = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  for (const std::string& dict : {kGood, swapped, turned}) {
    const TempDir dir;
    const std::string bytes = npy(dict, floats(6));
    test::write_bytes(dir / "x.npy", bytes);
    const Matrix<float> of_file = read_npy_float({dir / "x.npy", ""});
    const Matrix<float> in_memory = parse_npy_float(std::as_bytes(std::span(bytes)), "x");
    EXPECT_EQ(in_memory.rows(), 2u);
    EXPECT_TRUE(std::ranges::equal(in_memory.values(), of_file.values())) << dict;
  }
}

TEST(NpyInMemory, RefusesEveryPartOfAnArray) {
  const std::string bytes = npy(kGood, floats(6));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string part = bytes.substr(0, length);
    EXPECT_THROW(parse_npy_float(std::as_bytes(std::span(part)), "x"), Error) << length;
  }
}

TEST(ElementType, SizesAndNamesAgree) {
  EXPECT_EQ(element_name(ElementType::u64), "uint64");
  EXPECT_EQ(element_name(ElementType::f16), "float16");
  EXPECT_EQ(element_size(ElementType::f16), 2u);
  EXPECT_EQ(element_size(ElementType::i8), 1u);
  EXPECT_EQ(element_size(ElementType::f64), 8u);
}

}  // namespace parsnets
