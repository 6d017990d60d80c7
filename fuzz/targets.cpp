#include "targets.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json_file.hpp"
#include "base/options.hpp"
#include "data/split_file.hpp"
#include "device/device_reader.hpp"
#include "features/statistics.hpp"
#include "formats/csv.hpp"
#include "formats/mat.hpp"
#include "formats/npy.hpp"
#include "formats/safetensors.hpp"
#include "images/image_header.hpp"
#include "mat_reader.hpp"
#include "onnx_outline.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"
#include "serve/http.hpp"
#include "serve/request_checks.hpp"
#include "serve/request_json.hpp"

namespace parsnets::fuzz {

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A folder in memory, where there is one, that goes with the process.
struct Folder {
  std::string name = std::filesystem::is_directory("/dev/shm") ? "/dev/shm/parsnets-XXXXXX" : "/tmp/parsnets-XXXXXX";
  Folder() { require(::mkdtemp(name.data()) != nullptr, "no folder for files"); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(name, ignored);
  }
};

/// A file with these bytes, replaced by the next one.
std::filesystem::path file_of(std::span<const std::byte> bytes, const char* ending) {
  static const Folder folder;
  const std::filesystem::path path = folder.name + "/input" + ending;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  return path;
}

/// Whether the work was not refused.
template <class Work>
bool accepts(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_input || error.code() == ErrorCode::usage, error.what());
    require(std::string_view(error.what()).find('\n') == std::string_view::npos, "a message of several lines");
  } catch (const HttpError& error) {
    require(error.status() >= 400 && error.status() < 600, error.what());
  }
  return false;
}

bool same(const Matrix<float>& a, const Matrix<float>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// What decodes MAT files while it lives: the program of this name beside this one, not the installed one.
class DecodedBy {
 public:
  explicit DecodedBy(const char* program) {
    ::setenv("PARSNETS_DECODE", (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).c_str(), 1);
  }
  ~DecodedBy() { ::unsetenv("PARSNETS_DECODE"); }
  DecodedBy(const DecodedBy&) = delete;
  DecodedBy& operator=(const DecodedBy&) = delete;
};

bool read_mat(const std::filesystem::path& path) {
  std::unique_ptr<MatFile> file;
  if (!accepts([&] { file = MatFile::open(path); })) return false;
  const auto& variables = file->variables();
  for (std::size_t i = 0; i < std::min<std::size_t>(variables.size(), 8); ++i) {
    accepts([&] { file->read_columns(variables[i].name); });
    accepts([&] { file->read_strings(variables[i].name); });
  }
  return true;
}

/// Both versions, as every command reads them: libhdf5 breaks the sandbox that it runs in, and nothing else.
bool mat(std::span<const std::byte> bytes) {
  const DecodedBy ours("parsnets-decode");
  return read_mat(file_of(bytes, ".mat"));
}

/// The reader of version 5, which is ours, in this process.
bool mat5(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".mat");
  std::unique_ptr<decode::Input> input;
  std::unique_ptr<mat::Reader> file;
  if (!accepts([&] {
        input = std::make_unique<decode::Input>(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
        file = mat::open_v5(*input);
      }))
    return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(file->variables.size(), 8); ++i) {
    accepts([&] { mat::read_columns<float>(*file, i, {[](auto...) {}, [](auto...) {}}); });
    accepts([&] { mat::read_strings(*file, i); });
  }
  return true;
}

/// What a decoder says that a file took over.
bool answers(std::span<const std::byte> bytes) {
  const DecodedBy theirs("forged_decoder");
  return read_mat(file_of(bytes, ".mat"));
}

bool npy(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".npy");
  Matrix<float> values;
  accepts([&] { read_npy_strings({path, ""}); });
  if (!accepts([&] { values = read_npy_float({path, ""}); })) return false;
  const auto again = path.parent_path() / "again.npy";
  write_npy(again, values.view());
  require(same(read_npy_float({again, ""}), values), "an .npy that was written again differs");
  return true;
}

bool npz(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".npz");
  std::vector<std::string> members, visited;
  const bool listed = accepts([&] { members = npz_members(path); });
  const bool all = accepts([&] {
    visit_npz(path, [&](const std::string& name, const NpySource& source) {
      visited.push_back(name);
      accepts([&] { read_npy_header(source); });
    });
  });
  require(!all || (listed && visited == members), "two ways through an .npz disagree");
  for (const auto& member : members) accepts([&] { read_npy_float({path, member}); });
  return all;
}

bool csv(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".csv");
  accepts([&] { read_csv_float(path); });
  CsvCells cells;
  CsvShape shape;
  const bool read = accepts([&] { cells = read_csv(path, true); });
  require(read == accepts([&] { shape = csv_shape(path); }), "one reader of .csv refuses what the other takes");
  if (!read) return false;
  require(shape.rows == cells.rows() && shape.cols == cells.header.size(), "two readers of .csv disagree");
  CsvTable table{cells.header, {}};
  for (std::size_t r = 0; r < cells.rows(); ++r) {
    table.rows.emplace_back();
    for (std::size_t c = 0; c < cells.cols(); ++c) table.rows.back().emplace_back(cells.cell(r, c));
  }
  const auto again = path.parent_path() / "again.csv";
  write_csv(again, table);
  const CsvCells copy = read_csv(again, true);
  require(copy.header == cells.header && copy.rows() == cells.rows(), "a .csv that was written again differs");
  for (std::size_t r = 0; r < cells.rows(); ++r)
    for (std::size_t c = 0; c < cells.cols(); ++c)
      require(copy.cell(r, c) == cells.cell(r, c), "a cell that was written again differs");
  return true;
}

bool json(std::span<const std::byte> bytes) {
  nlohmann::json value;
  if (!accepts([&] { value = parse_json(text_of(bytes), "input"); })) return false;
  accepts([&] { require(parse_json(value.dump(), "again") == value, "JSON that was written again differs"); });
  return true;
}

bool split(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".json");
  return accepts([&] { read_split_json(path, {"x", "y", "z"}, {0, 1, 2, 0, 1, 2}, 1); });
}

bool config(std::span<const std::byte> bytes) {
  bool flag = false;
  int number = 0;
  std::string text;
  OptionTable table;
  table.flag("flag", flag, "").integer("number", number, 0, 9, "").text("text", text, "");
  return accepts([&] { table.read_config(std::string(text_of(bytes)), "input"); });
}

bool model(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".safetensors");
  if (!accepts([&] { SafetensorsFile file(path); })) return false;
  Model read;
  if (!accepts([&] { read = load_model(path); })) return false;
  const auto again = path.parent_path() / "again.safetensors";
  save_model(read, again);
  const Model copy = load_model(again);
  require(copy.classes.names == read.classes.names && same(copy.class_vectors(), read.class_vectors()),
          "a model that was written again differs");
  Matrix<float> rows(3, read.dimensions);
  for (std::size_t c = 0; c < rows.cols(); ++c) {
    rows(1, c) = static_cast<float>(c % 7) - 3;
    rows(2, c) = c % 2 == 0 ? 1e6f : -1e6f;
  }
  ThreadPool pool(1);
  accepts([&] {
    const Matrix<float> scores = read.scores(rows.view(), pool);
    for (const float score : scores.values())
      require(std::isfinite(score), "a model that was accepted gives scores that are not finite");
  });
  return true;
}

bool statistics(std::span<const std::byte> bytes) {
  const auto path = file_of(bytes, ".safetensors");
  return accepts([&] { load_statistics(path); });
}

bool device(std::span<const std::byte> bytes) {
  return accepts([&] { read_device_info(bytes, "input"); });
}

bool head(std::span<const std::byte> bytes) {
  RequestHead head;
  if (!accepts([&] { head = parse_request_head(text_of(bytes)); })) return false;
  require(!head.method.empty() && !head.target.empty(), "a head without a method or a target");
  for (const auto& [name, value] : head.headers)
    require(!name.empty() && (name + value).find_first_of("\r\n") == std::string::npos, "a header of several lines");
  accepts([&] {
    std::size_t looked_at = 0, in_pieces = 0, end = 0;
    const std::size_t expected = end_of_head(text_of(bytes), looked_at);
    for (std::size_t n = 1; n <= bytes.size() && end == 0; ++n)
      end = end_of_head(text_of(bytes).substr(0, n), in_pieces);
    require(end == expected, "a head that comes in pieces ends elsewhere");
  });
  accepts([&] { checked_query(head.target, {"POST", "/", {}, false, false, {"top", "bank"}}); });
  return true;
}

bool request(std::span<const std::byte> bytes) {
  const RequestLimits limits{3, 2, 4, 10, 2, 3};
  const bool predicts = accepts([&] { parse_predict_request(text_of(bytes), limits); });
  return accepts([&] { parse_bank_request(text_of(bytes), limits); }) || predicts;
}

/// What is read of a network before an engine sees it.
bool onnx(std::span<const std::byte> bytes) {
  OnnxOutline outline;
  std::string layer, named = "features";
  if (!read_outline(bytes, outline).empty()) return false;
  require(!outline.values.empty() && !outline.outputs.empty(), "a network without operators");
  require(outline.choose(layer).empty() && layer == outline.outputs.back(), "the last output is no layer");
  outline.choose(named);
  const std::string before = outline.before_average(layer);
  require(!before.empty() || layer.empty(), "an average of nothing");
  return outline.check_input(16, 16).empty();
}

bool image(std::span<const std::byte> bytes) {
  const auto header = read_image_header(bytes);
  if (header) require(header->width > 0 && header->height > 0, "an image without pixels");
  return header.has_value();
}

}  // namespace

const std::map<std::string, Target>& targets() {
  static const std::map<std::string, Target> all{
      {"mat", mat},         {"mat5", mat5},
      {"answers", answers}, {"npy", npy},
      {"npz", npz},         {"csv", csv},
      {"json", json},       {"split", split},
      {"config", config},   {"model", model},
      {"device", device},   {"head", head},
      {"request", request}, {"statistics", statistics},
      {"image", image},     {"onnx", onnx},
  };
  return all;
}

bool run(Target target, std::span<const std::byte> bytes) {
  const std::clock_t begin = std::clock();
  const bool accepted = target(bytes);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  require(seconds < 2 + 1e-4 * static_cast<double>(bytes.size()), "more time than its bytes allow");
  return accepted;
}

}  // namespace parsnets::fuzz
