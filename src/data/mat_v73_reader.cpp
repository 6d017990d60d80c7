// Reader of v7.3 MAT files, which are HDF5 (also of plain HDF5 files with datasets at the root), on libhdf5.

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/checked.hpp"
#include "base/file.hpp"
#include "data/element_type.hpp"
#include "data/mat_common.hpp"
#include "data/mat_v73.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

namespace {

constexpr std::uint64_t kTileBytes = 1 << 20;  // read at a time, unless one chunk is larger
constexpr std::uint64_t kTileChunks = 1024;    // at most, since HDF5 keeps a record of each

// A dataset at hand, with the shape MATLAB gives it.
struct Dataset {
  Hdf5Handle id, type;
  std::string kind;
  bool empty = false;                // MATLAB_empty: the data are the shape
  std::vector<hsize_t> extent;       // as HDF5 has it, in C order
  std::vector<std::uint64_t> shape;  // as MATLAB has it: reversed, at least 2 long
};

// The text of a small string attribute; empty when there is none.
std::string string_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return "";
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (!attribute || !type || !space || H5Tget_class(type.get()) != H5T_STRING ||
      H5Sget_simple_extent_npoints(space.get()) != 1)
    return "";
  std::string text;
  if (H5Tis_variable_str(type.get()) > 0) {
    char* raw = nullptr;
    if (H5Aread(attribute.get(), type.get(), &raw) < 0 || raw == nullptr) return "";
    text.assign(raw, std::min<std::size_t>(std::strlen(raw), 64));
    H5free_memory(raw);
  } else {
    const std::size_t size = H5Tget_size(type.get());
    if (size == 0 || size > 64) return "";
    text.assign(size, '\0');
    if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return "";
    text.resize(std::strlen(text.c_str()));
  }
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

bool is_set(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return false;
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  int value = 0;
  return attribute && type && space && H5Tget_class(type.get()) == H5T_INTEGER &&
         H5Sget_simple_extent_npoints(space.get()) == 1 && H5Aread(attribute.get(), H5T_NATIVE_INT, &value) >= 0 &&
         value != 0;
}

std::string kind_of_type(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT: return size == 2 ? "half" : size == 4 ? "single" : size == 8 ? "double" : "float";
    case H5T_INTEGER: return (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + std::to_string(8 * size);
    case H5T_ENUM: return "logical";
    case H5T_REFERENCE: return "reference";
    case H5T_STRING: return "string";
    case H5T_COMPOUND: return "compound";
    default: return "unknown";
  }
}

std::optional<ElementType> numeric_type(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_class(type) == H5T_ENUM) {
    const Hdf5Handle base(H5Tget_super(type), H5Tclose);
    return base && H5Tget_class(base.get()) == H5T_INTEGER ? numeric_type(base.get()) : std::nullopt;
  }
  if (H5Tget_class(type) == H5T_FLOAT) {
    if (size == 4) return ElementType::f32;
    if (size == 8) return ElementType::f64;
    // HDF5 1.10 knows no native half, but turns any floating type into a float exactly.
    return size == 2 ? std::optional(ElementType::f32) : std::nullopt;
  }
  if (H5Tget_class(type) != H5T_INTEGER) return std::nullopt;
  const bool plain = H5Tget_sign(type) == H5T_SGN_NONE;
  switch (size) {
    case 1: return plain ? ElementType::u8 : ElementType::i8;
    case 2: return plain ? ElementType::u16 : ElementType::i16;
    case 4: return plain ? ElementType::u32 : ElementType::i32;
    case 8: return plain ? ElementType::u64 : ElementType::i64;
    default: return std::nullopt;
  }
}

hid_t native_type(ElementType type) {
  switch (type) {
    case ElementType::f32: return H5T_NATIVE_FLOAT;
    case ElementType::f64: return H5T_NATIVE_DOUBLE;
    case ElementType::i8: return H5T_NATIVE_INT8;
    case ElementType::u8: return H5T_NATIVE_UINT8;
    case ElementType::i16: return H5T_NATIVE_INT16;
    case ElementType::u16: return H5T_NATIVE_UINT16;
    case ElementType::i32: return H5T_NATIVE_INT32;
    case ElementType::u32: return H5T_NATIVE_UINT32;
    case ElementType::i64: return H5T_NATIVE_INT64;
    default: return H5T_NATIVE_UINT64;
  }
}

class MatV73Reader final : public MatFile {
 public:
  explicit MatV73Reader(const std::filesystem::path& path) : MatFile(path.string()) {
    file_size_ = InputFile(path).size();
    Hdf5Guard guard;
    file_ = Hdf5Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, file_access().get()), H5Fclose);
    if (!file_) refuse(name_, "HDF5 header", "a sound HDF5 file", hdf5_reason());
    for (const auto& link : root_links()) list_object(link);
  }
  ~MatV73Reader() override = default;

  const std::vector<MatVariable>& variables() const override { return variables_; }

  Matrix<float> read_columns(std::string_view variable, ProgressObserver* progress) override {
    return read_numeric<float>(variable, progress);
  }
  Matrix<double> read_columns_double(std::string_view variable) override {
    return read_numeric<double>(variable, nullptr);
  }
  std::vector<std::string> read_strings(std::string_view variable) override;

 private:
  std::vector<std::string> root_links() const;
  void list_object(const std::string& link);
  Dataset open_dataset(Hdf5Handle id, std::string_view label) const;
  Dataset open_variable(std::string_view variable, bool numeric) const;
  std::vector<hsize_t> check_storage(const Dataset& data, std::string_view label) const;
  template <class T>
  Matrix<T> read_numeric(std::string_view variable, ProgressObserver* progress);
  std::vector<std::string> read_chars(const Dataset& data, std::string_view label, std::uint64_t& budget) const;

  std::uint64_t file_size_ = 0;
  Hdf5Handle file_;
  std::vector<MatVariable> variables_;
};

std::vector<std::string> MatV73Reader::root_links() const {
  std::vector<std::string> links;
  const auto add = [](hid_t, const char* name, const H5L_info_t* info, void* out) -> herr_t {
    try {
      // Links to other places or files are not followed; MATLAB keeps its own things under '#'.
      if (info->type == H5L_TYPE_HARD && name[0] != '#') static_cast<std::vector<std::string>*>(out)->push_back(name);
      return 0;
    } catch (...) {
      return -1;
    }
  };
  if (H5Literate(file_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &links) < 0)
    refuse(name_, "list of variables", "a sound HDF5 group", hdf5_reason());
  return links;
}

void MatV73Reader::list_object(const std::string& link) {
  const auto text = decode_chars(CharCode::utf8, std::endian::native,
                                 {reinterpret_cast<const unsigned char*>(link.data()), link.size()});
  if (!text || std::any_of(text->begin(), text->end(), [](char32_t c) { return c < 0x20 || c == 0x7f; }))
    refuse(name_, "list of variables", "printable names", "other bytes");
  Hdf5Handle object(H5Oopen(file_.get(), link.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object) refuse(name_, link, "a sound HDF5 object", hdf5_reason());
  const H5I_type_t what = H5Iget_type(object.get());
  if (what == H5I_DATASET) {
    const Dataset data = open_dataset(std::move(object), link);
    std::optional<std::uint64_t> cols = 1;
    for (std::size_t i = 1; i < data.shape.size() && cols; ++i) cols = checked_mul(*cols, data.shape[i]);
    if (!cols) refuse(name_, link, "fewer values", shape_text(data.shape));
    variables_.push_back({link, data.kind, data.shape[0], *cols});
  } else if (what == H5I_GROUP) {
    const std::string kind = string_attribute(object.get(), kClassAttribute);
    const bool sparse = H5Aexists(object.get(), kSparseAttribute) > 0;
    variables_.push_back({link, sparse ? "sparse" : kind.empty() ? "group" : kind, 1, 1});
  }
}

Dataset MatV73Reader::open_dataset(Hdf5Handle id, std::string_view label) const {
  Dataset data;
  data.id = std::move(id);
  data.type = Hdf5Handle(H5Dget_type(data.id.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(data.id.get()), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (!data.type || rank < 0 || rank > H5S_MAX_RANK) refuse(name_, label, "a sound HDF5 dataset", hdf5_reason());
  data.extent.resize(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.get(), data.extent.data(), nullptr) < 0)
    refuse(name_, label, "a sound HDF5 dataset", hdf5_reason());
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) data.extent = {0};
  data.kind = string_attribute(data.id.get(), kClassAttribute);
  if (data.kind.empty()) data.kind = kind_of_type(data.type.get());
  data.empty = is_set(data.id.get(), kEmptyAttribute);
  if (data.empty) {
    const bool small = rank == 1 && data.extent[0] >= 2 && data.extent[0] <= H5S_MAX_RANK;
    if (small) {
      check_storage(data, label);
      data.shape.resize(data.extent[0]);
    }
    if (!small || H5Tget_class(data.type.get()) != H5T_INTEGER ||
        H5Dread(data.id.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.shape.data()) < 0 ||
        std::find(data.shape.begin(), data.shape.end(), 0u) == data.shape.end())
      refuse(name_, label, "the shape of an empty array", "something else");
  } else {
    data.shape.assign(data.extent.rbegin(), data.extent.rend());
    while (data.shape.size() < 2) data.shape.push_back(1);
  }
  return data;
}

Dataset MatV73Reader::open_variable(std::string_view variable, bool numeric) const {
  const MatVariable* found = find(variable);
  if (found == nullptr) refuse(name_, variable, "a variable of this name", "none", "check the file and the name");
  Hdf5Handle object(H5Oopen(file_.get(), found->name.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object) refuse(name_, variable, "a sound HDF5 object", hdf5_reason());
  if (H5Iget_type(object.get()) != H5I_DATASET)
    refuse(name_, variable, numeric ? "a numeric array" : "a cell array of char vectors", found->kind,
           numeric ? kind_advice(found->kind) : "check the variable's name");
  return open_dataset(std::move(object), variable);
}

// Refuses a dataset that declares more than the file can hold. Returns the shape of the pieces it is best read in: its
// chunks, or some rows.
std::vector<hsize_t> MatV73Reader::check_storage(const Dataset& data, std::string_view label) const {
  std::optional<std::uint64_t> bytes = H5Tget_size(data.type.get());
  for (const auto d : data.extent) bytes = bytes ? checked_mul(*bytes, d) : bytes;
  if (!bytes) refuse(name_, label, "fewer values", shape_text(data.shape));
  const Hdf5Handle layout(H5Dget_create_plist(data.id.get()), H5Pclose);
  const H5D_layout_t kind = layout ? H5Pget_layout(layout.get()) : H5D_LAYOUT_ERROR;
  if (kind == H5D_LAYOUT_ERROR) refuse(name_, label, "a sound HDF5 layout", hdf5_reason());
  if (kind == H5D_VIRTUAL || H5Pget_external_count(layout.get()) != 0)
    refuse(name_, label, "values in this file", "a reference to other files", "copy the values into one file");

  std::vector<hsize_t> piece(data.extent.size(), 1);
  if (kind != H5D_CHUNKED) {
    const std::uint64_t stored = H5Dget_storage_size(data.id.get());
    if (stored < *bytes || stored > file_size_)
      refuse(name_, label, std::to_string(*bytes) + " bytes of values",
             std::to_string(stored) + " in a file of " + std::to_string(file_size_));
    const std::uint64_t fit = std::max<std::uint64_t>(kTileBytes / H5Tget_size(data.type.get()), 1);
    if (!piece.empty()) piece.back() = std::clamp<hsize_t>(data.extent.back(), 1, fit);
    if (piece.size() == 2) piece[0] = fit / piece[1];
    return piece;
  }

  if (H5Pget_chunk(layout.get(), static_cast<int>(piece.size()), piece.data()) != static_cast<int>(piece.size()))
    refuse(name_, label, "a sound HDF5 layout", hdf5_reason());
  const int filters = H5Pget_nfilters(layout.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(layout.get(), static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter < 0 || filter >= H5Z_FILTER_RESERVED)
      refuse(name_, label, "values compressed with gzip or not at all", "HDF5 filter " + std::to_string(filter),
             "save the file with gzip");
  }
  std::optional<std::uint64_t> chunk_bytes = H5Tget_size(data.type.get()), chunks = 1;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    if (piece[i] == 0) refuse(name_, label, "chunks of some size", "size 0");
    chunk_bytes = chunk_bytes ? checked_mul(*chunk_bytes, piece[i]) : chunk_bytes;
    chunks = chunks ? checked_mul(*chunks, data.extent[i] / piece[i] + (data.extent[i] % piece[i] != 0)) : chunks;
  }
  // Chunks that were never written take no place, so their count is held against the file as well.
  const std::uint64_t most = kMaxExpansion * file_size_;
  if (*bytes > most || !chunk_bytes || *chunk_bytes > most || !chunks || *chunks > file_size_)
    refuse(name_, label,
           "at most " + std::to_string(kMaxExpansion) + " times the file's " + std::to_string(file_size_) +
               " bytes, in fewer chunks than that",
           std::to_string(*bytes) + " bytes declared");
  return piece;
}

template <class T>
Matrix<T> MatV73Reader::read_numeric(std::string_view variable, ProgressObserver* progress) {
  Hdf5Guard guard;
  const Dataset data = open_variable(variable, true);
  if (!is_numeric_kind(data.kind)) refuse(name_, variable, "a numeric array", data.kind, kind_advice(data.kind));
  if (data.shape.size() != 2)
    refuse(name_, variable, "a matrix of 2 dimensions", shape_text(data.shape), "reshape it before saving");
  if (data.empty) return Matrix<T>(data.shape[1], data.shape[0]);
  if (H5Tget_class(data.type.get()) == H5T_COMPOUND)
    refuse(name_, variable, "real values", "complex values", "save real(x) or abs(x) instead");
  const auto type = numeric_type(data.type.get());
  if (!type)
    refuse(name_, variable, "integers or floats of at most 8 bytes", kind_of_type(data.type.get()),
           "save it as single or double");
  const std::uint64_t rows = data.shape[1], cols = data.shape[0];
  if (rows == 0 || cols == 0) return Matrix<T>(rows, cols);

  // Tiles of whole pieces: no chunk is inflated twice.
  std::vector<hsize_t> piece = check_storage(data, variable);
  while (piece.size() < 2) piece.insert(piece.begin(), 1);
  const std::uint64_t piece_bytes = std::max<std::uint64_t>(piece[0] * piece[1] * element_size(*type), 1);
  const std::uint64_t fit = std::clamp<std::uint64_t>(kTileBytes / piece_bytes, 1, kTileChunks);
  const std::uint64_t across = std::clamp<std::uint64_t>((cols + piece[1] - 1) / piece[1], 1, fit);
  const std::uint64_t tile_cols = std::min<std::uint64_t>(cols, across * piece[1]);
  const std::uint64_t tile_rows = std::min<std::uint64_t>(rows, std::max<std::uint64_t>(fit / across, 1) * piece[0]);

  // HDF5's conversions between native types are C casts; from another byte order it rounds its own way, so then it
  // only swaps bytes and the values are converted here.
  const hid_t wanted = std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  const bool half = H5Tget_class(data.type.get()) == H5T_FLOAT && H5Tget_size(data.type.get()) == 2;
  const bool direct = half || H5Tequal(data.type.get(), native_type(*type)) > 0;
  Matrix<T> out(rows, cols);
  std::vector<unsigned char> raw(direct ? 0 : tile_rows * tile_cols * element_size(*type));
  ByteProgress told(progress, "load " + std::string(variable), out.size() * sizeof(T));
  const Hdf5Handle file_space(H5Dget_space(data.id.get()), H5Sclose);
  const std::array<hsize_t, 2> whole{rows, cols};
  const Hdf5Handle out_space(H5Screate_simple(2, whole.data(), nullptr), H5Sclose);
  const std::size_t skip = 2 - data.extent.size();  // a vector has one dimension, a scalar none
  for (std::uint64_t r = 0; r < rows; r += tile_rows) {
    for (std::uint64_t c = 0; c < cols; c += tile_cols) {
      const std::array<hsize_t, 2> start{r, c};
      const std::array<hsize_t, 2> count{std::min(tile_rows, rows - r), std::min(tile_cols, cols - c)};
      const auto select = [&](hid_t space, std::size_t from) {
        return from == 2 || H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data() + from, nullptr,
                                                count.data() + from, nullptr) >= 0;
      };
      bool ok = select(file_space.get(), skip) && select(out_space.get(), 0);
      if (ok && direct) {
        ok = H5Dread(data.id.get(), wanted, out_space.get(), file_space.get(), H5P_DEFAULT, out.data()) >= 0;
      } else if (ok) {
        const Hdf5Handle tile(H5Screate_simple(2, count.data(), nullptr), H5Sclose);
        ok = H5Dread(data.id.get(), native_type(*type), tile.get(), file_space.get(), H5P_DEFAULT, raw.data()) >= 0;
        for (std::uint64_t i = 0; ok && i < count[0]; ++i) {
          const void* source = raw.data() + i * count[1] * element_size(*type);
          if constexpr (std::is_same_v<T, float>) {
            convert_to_float(*type, std::endian::native, source, count[1], &out(r + i, c));
          } else {
            convert_to_double(*type, std::endian::native, source, count[1], &out(r + i, c));
          }
        }
      }
      if (!ok) refuse(name_, variable, "sound values", hdf5_reason());
      told.advance(count[0] * count[1] * sizeof(T));
    }
  }
  told.finish();
  return out;
}

// The rows of a char array. Takes its bytes from `budget`.
std::vector<std::string> MatV73Reader::read_chars(const Dataset& data, std::string_view label,
                                                  std::uint64_t& budget) const {
  if (data.shape.size() != 2) refuse(name_, label, "text of 2 dimensions", shape_text(data.shape), "reshape it");
  const std::uint64_t rows = data.shape[0], cols = data.shape[1];
  if (rows > kMaxStrings) refuse(name_, label, "fewer strings", std::to_string(rows));
  if (data.empty || rows == 0 || cols == 0) return *char_rows({}, rows, cols);
  const std::size_t width = H5Tget_size(data.type.get());
  if (H5Tget_class(data.type.get()) != H5T_INTEGER || (width != 1 && width != 2 && width != 4))
    refuse(name_, label, "characters of 1, 2 or 4 bytes", kind_of_type(data.type.get()));
  const auto count = checked_mul(rows, cols);
  if (!count || *count > std::min(kMaxCharBytes, budget) / width)
    refuse(name_, label, "less text", shape_text(data.shape) + " characters");
  budget -= *count * width;
  check_storage(data, label);
  std::u32string elements(*count, U'\0');
  static_assert(sizeof(char32_t) == sizeof(std::uint32_t));
  if (H5Dread(data.id.get(), H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) < 0)
    refuse(name_, label, "sound text", hdf5_reason());
  auto out = char_rows(elements, rows, cols);
  if (!out) refuse(name_, label, "sound characters", "malformed ones");
  return std::move(*out);
}

std::vector<std::string> MatV73Reader::read_strings(std::string_view variable) {
  Hdf5Guard guard;
  const Dataset data = open_variable(variable, false);
  std::uint64_t budget = kMaxTextBytes;
  if (data.kind == "char") return read_chars(data, variable, budget);
  if (data.kind != "cell")
    refuse(name_, variable, "a cell array of char vectors", data.kind, "check the variable's name, or save cellstr(x)");
  std::vector<std::string> out;
  if (data.empty || std::find(data.extent.begin(), data.extent.end(), 0u) != data.extent.end()) return out;
  if (H5Tequal(data.type.get(), H5T_STD_REF_OBJ) <= 0)
    refuse(name_, variable, "references to the cells", kind_of_type(data.type.get()));
  check_storage(data, variable);
  std::optional<std::uint64_t> count = 1;
  for (const auto d : data.extent) count = count ? checked_mul(*count, d) : count;
  if (!count || *count > kMaxStrings || *count > file_size_)  // a reference takes 8 bytes
    refuse(name_, variable, "fewer cells", shape_text(data.shape));
  std::vector<hobj_ref_t> references(*count);
  if (H5Dread(data.id.get(), H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) < 0)
    refuse(name_, variable, "sound references", hdf5_reason());
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::string where = std::string(variable) + "{" + std::to_string(i + 1) + "}";
    Hdf5Handle object(H5Rdereference2(data.id.get(), H5P_DEFAULT, H5R_OBJECT, &references[i]), H5Oclose);
    if (!object || H5Iget_type(object.get()) != H5I_DATASET)
      refuse(name_, where, "text", object ? "another object" : hdf5_reason());
    const Dataset cell = open_dataset(std::move(object), where);
    if (cell.kind != "char" && !cell.empty)
      refuse(name_, where, "text", cell.kind, "make it a cell array of char vectors");
    auto rows = cell.empty ? std::vector<std::string>{} : read_chars(cell, where, budget);
    if (rows.size() > 1) refuse(name_, where, "one line of text", shape_text(cell.shape), "make it a row vector");
    out.push_back(rows.empty() ? std::string() : std::move(rows[0]));
  }
  return out;
}

}  // namespace

std::unique_ptr<MatFile> open_v73(const std::filesystem::path& path) { return std::make_unique<MatV73Reader>(path); }

}  // namespace parsnets::mat
