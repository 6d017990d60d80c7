#pragma once
// The tables that the MAT oracles (tests/oracles) and the tests exchange; mat_oracle.py describes them.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "formats/mat.hpp"
#include "parsnets/error.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

struct ManifestLine {
  std::string what, file, variable, kind, rows, cols, dump;
};

inline std::vector<ManifestLine> read_manifest(const std::filesystem::path& path) {
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

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::filesystem::path& path, const void* data, std::size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

template <class T>
std::string bytes_of(const Matrix<T>& m) {
  return m.empty() ? std::string() : std::string(reinterpret_cast<const char*>(m.data()), m.size() * sizeof(T));
}

inline std::string joined(const std::vector<std::string>& strings) {
  std::string out;
  for (const auto& s : strings) out += s + '\0';
  return out;
}

/// Reads every variable the manifest names and compares it, bit by bit, with its dump.
inline void expect_manifest_holds(const std::filesystem::path& folder) {
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
      try {
        line.variable == "mixed" ? void(file->read_strings("mixed")) : void(file->read_columns(line.variable));
        ADD_FAILURE() << "was not refused";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_input);
        EXPECT_NE(std::string(e.what()).find(line.rows), std::string::npos) << e.what();
      }
      continue;
    }
    EXPECT_EQ(std::to_string(found->rows), line.rows);
    EXPECT_EQ(std::to_string(found->cols), line.cols);
    if (line.what == "strings") {
      EXPECT_TRUE(same_bytes(joined(file->read_strings(line.variable)), slurp(folder / (line.dump + ".txt"))));
      continue;
    }
    const auto singles = file->read_columns(line.variable);
    EXPECT_EQ(singles.rows(), found->cols);
    EXPECT_EQ(singles.cols(), found->rows);
    EXPECT_TRUE(same_bytes(bytes_of(singles), slurp(folder / (line.dump + ".f32"))));
    EXPECT_TRUE(same_bytes(bytes_of(file->read_columns_double(line.variable)), slurp(folder / (line.dump + ".f64"))));
  }
}

/// Writes files of every version with MatWriter, and written.tsv with what is in them.
inline void write_for_oracle(const std::filesystem::path& folder) {
  std::ofstream manifest(folder / "written.tsv");
  const std::vector<std::string> names{"001.Black_footed_Albatross", "a", "", "Ünïcödé 鳥", std::string(300, 'x')};
  for (const auto& [file, version] : {std::pair{"v5.mat", MatVersion::v5},
                                      {"v5_plain.mat", MatVersion::v5_uncompressed},
                                      {"v73.mat", MatVersion::v73}}) {
    auto out = MatWriter::create(folder / file, version);
    int count = 0;
    for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 4}, {0, 5}, {5, 0}, {1, 3}, {700, 300}, {2, 150000}}) {
      Matrix<float> singles(rows, cols);
      Matrix<double> doubles(rows, cols);
      for (std::size_t i = 0; i < singles.size(); ++i) {
        singles.data()[i] = static_cast<float>(i % 1000) / 7 - 3;
        doubles.data()[i] = 1.0 / (1.0 + static_cast<double>(i));
      }
      const std::string id = std::to_string(count++);
      out->write_columns("single_" + id, singles.view());
      out->write_columns("double_" + id, doubles.view());
      const auto note = [&](const std::string& kind, const std::string& dump) {
        manifest << "numbers\t" << file << '\t' << kind + "_" + id << '\t' << kind << '\t' << cols << '\t' << rows
                 << '\t' << dump << '\n';
      };
      note("single", std::string(file) + id);
      note("double", std::string(file) + id);
      spill(folder / (std::string(file) + id + ".f32"), singles.data(), singles.size() * sizeof(float));
      spill(folder / (std::string(file) + id + ".f64"), doubles.data(), doubles.size() * sizeof(double));
    }
    out->write_strings("names", names);
    out->write_strings("no_names", {});
    out->commit();
    for (const auto& [variable, values] : {std::pair{"names", names}, {"no_names", std::vector<std::string>{}}}) {
      manifest << "strings\t" << file << '\t' << variable << "\tcell\t" << values.size() << "\t1\t" << file << variable
               << '\n';
      const std::string text = joined(values);
      spill(folder / (std::string(file) + variable + ".txt"), text.data(), text.size());
    }
  }
}

}  // namespace parsnets::test
