// Reader of v7.3 MAT files, which are HDF5 (also of plain HDF5 files with datasets at the root), on libhdf5. What
// libhdf5 does not check itself is checked here and in mat_v73_check.cpp.

#include "formats/mat_v73.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/checked.hpp"
#include "base/file.hpp"
#include "base/machine.hpp"
#include "formats/element_type.hpp"
#include "formats/mat_common.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

namespace {

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  // Every handle is closed by its owner; what a damaged file makes HDF5 lose, it would complain of at exit.
  [[maybe_unused]] static const herr_t quiet = H5dont_atexit();
  return mutex;
}

}  // namespace

Hdf5Guard::Hdf5Guard() : lock_(hdf5_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Guard::~Hdf5Guard() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

bool Hdf5Handle::close() {
  if (id_ < 0) return true;
  Hdf5Guard guard;
  return close_(std::exchange(id_, -1)) >= 0;
}

std::string hdf5_reason() {
  std::string reason;
  const auto first = [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
    try {
      if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    } catch (...) {
    }
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &reason);
  for (char& c : reason)
    if (c < ' ' || c > '~') c = '?';
  return reason.empty() ? "HDF5 cannot read it" : "HDF5 says '" + reason + "'";
}

Hdf5Handle file_access() {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access.get(), false, true);
  return access;
}

namespace {

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
  const std::size_t size = H5Tget_size(type.get());
  if (H5Tis_variable_str(type.get()) != 0 || size == 0 || size > 64) return "";
  std::string text(size, '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return "";
  text.resize(std::strlen(text.c_str()));
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
  const H5T_class_t what = H5Tget_class(type);
  if (what == H5T_ENUM) {  // numpy's bool
    const Hdf5Handle base(H5Tget_super(type), H5Tclose);
    return base && H5Tget_class(base.get()) == H5T_INTEGER ? numeric_type(base.get()) : std::nullopt;
  }
  if (H5Tget_order(type) != H5T_ORDER_LE && H5Tget_order(type) != H5T_ORDER_BE) return std::nullopt;
  if (H5Tget_offset(type) != 0 || H5Tget_precision(type) != 8 * size) return std::nullopt;
  if (what == H5T_FLOAT) {
    std::size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
    H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa);
    const std::size_t bias = H5Tget_ebias(type);
    const bool ieee = mantissa_at == 0 && exponent_at == mantissa && sign == exponent_at + exponent &&
                      sign == 8 * size - 1 && H5Tget_norm(type) == H5T_NORM_IMPLIED;
    if (ieee && size == 2 && exponent == 5 && bias == 15) return ElementType::f16;
    if (ieee && size == 4 && exponent == 8 && bias == 127) return ElementType::f32;
    if (ieee && size == 8 && exponent == 11 && bias == 1023) return ElementType::f64;
    return std::nullopt;
  }
  if (what != H5T_INTEGER) return std::nullopt;
  const bool plain = H5Tget_sign(type) == H5T_SGN_NONE;
  switch (size) {
    case 1: return plain ? ElementType::u8 : ElementType::i8;
    case 2: return plain ? ElementType::u16 : ElementType::i16;
    case 4: return plain ? ElementType::u32 : ElementType::i32;
    case 8: return plain ? ElementType::u64 : ElementType::i64;
    default: return std::nullopt;
  }
}

std::endian order_of(hid_t type) { return H5Tget_order(type) == H5T_ORDER_BE ? std::endian::big : std::endian::little; }

struct Link {
  std::string name;
  std::uint64_t address = 0;
};

class MatV73Reader final : public MatFile {
 public:
  explicit MatV73Reader(const std::filesystem::path& path) : MatFile(path.string()), raw_(path), check_(raw_) {
    Hdf5Guard guard;
    file_ = Hdf5Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, file_access().get()), H5Fclose);
    if (!file_) refuse(name_, "HDF5 header", "a valid HDF5 file", hdf5_reason());
    for (const auto& link : root_links()) list_object(link);
  }

  const std::vector<MatVariable>& variables() const override { return variables_; }

  Matrix<float> read_columns(std::string_view variable, ProgressObserver* progress, const MatrixPlace& place) override {
    return read_numeric<float>(variable, progress, place);
  }
  Matrix<double> read_columns_double(std::string_view variable) override {
    return read_numeric<double>(variable, nullptr, {});
  }
  std::vector<std::string> read_strings(std::string_view variable) override;

 private:
  std::vector<Link> root_links() const;
  void list_object(const Link& link);
  Dataset open_dataset(Hdf5Handle id, std::string_view label);
  Dataset open_variable(std::string_view variable, bool numeric);
  template <class T>
  Matrix<T> read_numeric(std::string_view variable, ProgressObserver* progress, const MatrixPlace& place);
  std::vector<std::string> read_chars(const Dataset& data, std::string_view label, std::uint64_t& budget);

  InputFile raw_;
  Hdf5Check check_;
  Hdf5Handle file_;
  std::vector<MatVariable> variables_;
  std::vector<std::uint64_t> addresses_;  // of variables_
};

std::vector<Link> MatV73Reader::root_links() const {
  std::vector<Link> links;
  const auto add = [](hid_t, const char* name, const H5L_info_t* info, void* out) -> herr_t {
    try {
      // Links to other places or files are not followed; MATLAB keeps its own things under '#'.
      if (info->type == H5L_TYPE_HARD && name[0] != '#')
        static_cast<std::vector<Link>*>(out)->push_back({name, info->u.address});
      return 0;
    } catch (...) {
      return -1;
    }
  };
  if (H5Literate(file_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &links) < 0)
    refuse(name_, "list of variables", "a valid HDF5 group", hdf5_reason());
  return links;
}

void MatV73Reader::list_object(const Link& link) {
  const std::string& name = link.name;
  const auto text = decode_chars(CharCode::utf8, std::endian::native,
                                 {reinterpret_cast<const unsigned char*>(name.data()), name.size()});
  if (!text || std::any_of(text->begin(), text->end(), [](char32_t c) { return c < 0x20 || c == 0x7f; }))
    refuse(name_, "list of variables", "printable names", "other bytes");
  check_.object(link.address, name);
  // By address, not by name: a name might lead elsewhere than what was checked.
  Hdf5Handle object(H5Oopen_by_addr(file_.get(), link.address), H5Oclose);
  if (!object) refuse(name_, name, "a valid HDF5 object", hdf5_reason());
  const H5I_type_t what = H5Iget_type(object.get());
  if (what == H5I_DATASET) {
    const Dataset data = open_dataset(std::move(object), name);
    std::optional<std::uint64_t> cols = 1;
    for (std::size_t i = 1; i < data.shape.size() && cols; ++i) cols = checked_mul(*cols, data.shape[i]);
    if (!cols) refuse(name_, name, "fewer values", shape_text(data.shape));
    variables_.push_back({name, data.kind, data.shape[0], *cols});
  } else if (what == H5I_GROUP) {
    const std::string kind = string_attribute(object.get(), kClassAttribute);
    const bool sparse = H5Aexists(object.get(), kSparseAttribute) > 0;
    variables_.push_back({name, sparse ? "sparse" : kind.empty() ? "group" : kind, 1, 1});
  } else {
    return;
  }
  addresses_.push_back(link.address);
}

Dataset MatV73Reader::open_dataset(Hdf5Handle id, std::string_view label) {
  Dataset data;
  data.id = std::move(id);
  data.type = Hdf5Handle(H5Dget_type(data.id.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(data.id.get()), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (!data.type || rank < 0 || rank > H5S_MAX_RANK) refuse(name_, label, "a valid HDF5 dataset", hdf5_reason());
  data.extent.resize(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.get(), data.extent.data(), nullptr) < 0)
    refuse(name_, label, "a valid HDF5 dataset", hdf5_reason());
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) data.extent = {0};
  data.kind = string_attribute(data.id.get(), kClassAttribute);
  if (data.kind.empty()) data.kind = kind_of_type(data.type.get());
  data.empty = is_set(data.id.get(), kEmptyAttribute);
  if (data.empty) {
    const bool small = rank == 1 && data.extent[0] >= 2 && data.extent[0] <= H5S_MAX_RANK;
    const bool words = H5Tget_class(data.type.get()) == H5T_INTEGER && H5Tget_size(data.type.get()) == 8;
    if (small && words) {
      const auto raw = RawData(raw_, check_, data.id.get(), label).read_all();
      data.shape.resize(data.extent[0]);
      std::memcpy(data.shape.data(), raw.data(), raw.size());
      if (order_of(data.type.get()) != std::endian::native)
        for (auto& d : data.shape) d = __builtin_bswap64(d);
    }
    if (data.shape.empty() || std::find(data.shape.begin(), data.shape.end(), 0u) == data.shape.end())
      refuse(name_, label, "the shape of an empty array", "something else");
  } else {
    data.shape.assign(data.extent.rbegin(), data.extent.rend());
    while (data.shape.size() < 2) data.shape.push_back(1);
  }
  return data;
}

Dataset MatV73Reader::open_variable(std::string_view variable, bool numeric) {
  const MatVariable* found = find(variable);
  if (found == nullptr) refuse(name_, variable, "a variable of this name", "none", "check the file and the name");
  const std::uint64_t address = addresses_[static_cast<std::size_t>(found - variables_.data())];
  Hdf5Handle object(H5Oopen_by_addr(file_.get(), address), H5Oclose);
  if (!object) refuse(name_, variable, "a valid HDF5 object", hdf5_reason());
  if (H5Iget_type(object.get()) != H5I_DATASET)
    refuse(name_, variable, numeric ? "a numeric array" : "a cell array of char vectors", found->kind,
           numeric ? kind_advice(found->kind) : "check the variable's name");
  return open_dataset(std::move(object), variable);
}

template <class T>
Matrix<T> MatV73Reader::read_numeric(std::string_view variable, ProgressObserver* progress, const MatrixPlace& place) {
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

  RawData raw(raw_, check_, data.id.get(), variable);
  require_memory(place.memory_limit, static_cast<double>(raw.working_bytes()), "a chunk of " + name_,
                 "raise the limit or save the file with smaller chunks");
  const std::endian order = order_of(data.type.get());
  Matrix<T> out = result_matrix<T>(rows, cols, place, name_);
  UsedRows filled(out);
  ByteProgress told(progress, "load " + std::string(variable), out.size() * sizeof(T));
  raw.read([&](const RawTile& tile) {
    for (std::uint64_t r = 0; r < tile.rows; ++r) {
      const void* source = tile.data + r * tile.row_bytes;
      T* destination = &out(tile.row + r, tile.col);
      if constexpr (std::is_same_v<T, float>) {
        convert_to_float(*type, order, source, tile.cols, destination);
      } else {
        convert_to_double(*type, order, source, tile.cols, destination);
      }
      filled.add(tile.row + r, 1);
    }
    told.advance(tile.rows * tile.cols * sizeof(T));
  });
  told.finish();
  return out;
}

// The rows of a char array. Takes its bytes from `budget`.
std::vector<std::string> MatV73Reader::read_chars(const Dataset& data, std::string_view label, std::uint64_t& budget) {
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
  const auto raw = RawData(raw_, check_, data.id.get(), label).read_all();
  const auto code = width == 1 ? CharCode::latin1 : width == 2 ? CharCode::utf16 : CharCode::utf32;
  const auto elements = decode_chars(code, order_of(data.type.get()), raw);
  auto out = char_rows(*elements, rows, cols);
  if (!out) refuse(name_, label, "valid characters", "malformed ones");
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
  RawData raw(raw_, check_, data.id.get(), variable);
  const std::uint64_t count = raw.rows() * raw.cols();
  if (count > std::min(kMaxStrings, raw_.size())) refuse(name_, variable, "fewer cells", shape_text(data.shape));
  const auto addresses = raw.read_all();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string where = std::string(variable) + "{" + std::to_string(i + 1) + "}";
    std::uint64_t address = 0;
    for (std::size_t b = 8; b-- > 0;) address = address << 8 | addresses[8 * i + b];
    check_.object(address, where);
    const hobj_ref_t reference = address;
    Hdf5Handle object(H5Rdereference2(data.id.get(), H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose);
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

// The raw values of an HDF5 dataset. libhdf5 describes it; the values are read, inflated and unshuffled here, because
// libhdf5 1.10 does not check that a chunk has its full size, and reads past it when it does not.

namespace {

constexpr std::uint64_t kHdf5BufferBytes = 256 << 10;

// HDF5's checksum: Fletcher's over 16-bit big-endian words.
std::uint32_t fletcher32(const unsigned char* data, std::size_t bytes) {
  std::uint32_t a = 0, b = 0;
  for (std::size_t words = bytes / 2; words > 0;) {
    std::size_t batch = std::min<std::size_t>(words, 360);  // as many as cannot overflow
    words -= batch;
    for (; batch > 0; --batch, data += 2) b += a += static_cast<std::uint32_t>(data[0]) << 8 | data[1];
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
  }
  if (bytes % 2 != 0) {
    b += a += static_cast<std::uint32_t>(*data) << 8;
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
  }
  a = (a & 0xffff) + (a >> 16);
  b = (b & 0xffff) + (b >> 16);
  return b << 16 | a;
}

}  // namespace

void RawData::damaged(std::string expected, std::string found) const {
  refuse(file_.name(), label_, std::move(expected), std::move(found));
}

RawData::RawData(InputFile& file, Hdf5Check& check, hid_t dataset, std::string_view label)
    : file_(file), dataset_(dataset), label_(label) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  value_bytes_ = type ? H5Tget_size(type.get()) : 0;
  layout_ = creation ? H5Pget_layout(creation.get()) : H5D_LAYOUT_ERROR;
  if (rank < 0 || rank > 2 || value_bytes_ == 0 || layout_ == H5D_LAYOUT_ERROR)
    damaged("a valid HDF5 dataset of at most 2 dimensions", hdf5_reason());
  rank_ = static_cast<std::size_t>(rank);
  const std::size_t skip = extent_.size() - rank_;
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extent_.data() + skip, nullptr);
  if (layout_ == H5D_VIRTUAL || H5Pget_external_count(creation.get()) != 0)
    refuse(file_.name(), label_, "values in this file", "a reference to other files", "copy the values into one file");

  const auto bytes = checked_mul(checked_mul(extent_[0], extent_[1]).value_or(~0ull), value_bytes_);
  const std::string declared =
      shape_text({extent_[1], extent_[0]}) + " values of " + std::to_string(value_bytes_) + " bytes";
  if (layout_ != H5D_CHUNKED) {
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    if (!bytes || stored < *bytes || stored > file_.size())
      damaged(declared, std::to_string(stored) + " bytes in a file of " + std::to_string(file_.size()));
    return;
  }

  if (H5Pget_chunk(creation.get(), rank, chunk_.data() + skip) != rank) damaged("a valid HDF5 layout", hdf5_reason());
  std::optional<std::uint64_t> chunks = 1, chunk_bytes = value_bytes_;
  for (std::size_t i = 0; i < 2; ++i) {
    if (chunk_[i] == 0) damaged("chunks of non-zero size", "size 0");
    chunks = checked_mul(chunks.value_or(~0ull), extent_[i] / chunk_[i] + (extent_[i] % chunk_[i] != 0));
    chunk_bytes = checked_mul(chunk_bytes.value_or(~0ull), chunk_[i]);
  }
  // Chunks that were never written take no place, so their number is held against the file as well.
  const std::uint64_t most = kMaxExpansion * file_.size();
  if (!bytes || *bytes > most || !chunk_bytes || *chunk_bytes > most || !chunks || *chunks > file_.size())
    damaged("at most " + std::to_string(kMaxExpansion) + " times the file's " + std::to_string(file_.size()) +
                " bytes, in fewer chunks than bytes",
            declared);
  chunk_bytes_ = *chunk_bytes;

  const int filters = H5Pget_nfilters(creation.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const auto filter =
        H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      refuse(file_.name(), label_, "values compressed with gzip or not at all", "HDF5 filter " + std::to_string(filter),
             "save the file with gzip");
    filters_.push_back(filter);
  }
  fill_.resize(value_bytes_);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(creation.get(), &defined) < 0 ||
      (defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(creation.get(), type.get(), fill_.data()) < 0))
    damaged("a valid fill value", hdf5_reason());
  H5O_info_t object;
  if (H5Oget_info(dataset, &object) < 0) damaged("a valid HDF5 object", hdf5_reason());
  chunks_ = check.chunks(object.addr, label_);
}

void RawData::read(const std::function<void(const RawTile&)>& take) {
  if (extent_[0] == 0 || extent_[1] == 0) return;
  if (layout_ == H5D_CHUNKED) return read_chunks(take);
  if (layout_ == H5D_CONTIGUOUS) return read_contiguous(take);
  // Compact: at most 64 KB inside the object header.
  std::vector<unsigned char> all(extent_[0] * extent_[1] * value_bytes_);
  const Hdf5Handle type(H5Dget_type(dataset_), H5Tclose);
  if (H5Dread(dataset_, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0)
    damaged("valid values", hdf5_reason());
  take({0, 0, extent_[0], extent_[1], all.data(), extent_[1] * value_bytes_});
}

std::vector<unsigned char> RawData::read_all() {
  std::vector<unsigned char> all(extent_[0] * extent_[1] * value_bytes_);
  read([&](const RawTile& tile) {
    for (std::uint64_t r = 0; r < tile.rows; ++r)
      std::memcpy(all.data() + ((tile.row + r) * extent_[1] + tile.col) * value_bytes_, tile.data + r * tile.row_bytes,
                  tile.cols * value_bytes_);
  });
  return all;
}

void RawData::read_contiguous(const std::function<void(const RawTile&)>& take) {
  const haddr_t start = H5Dget_offset(dataset_);
  if (start == HADDR_UNDEF) damaged("values in the file", "none");
  file_.seek(start);
  const std::uint64_t fit = std::max<std::uint64_t>(kHdf5BufferBytes / value_bytes_, 1);
  const std::uint64_t cols = std::min<std::uint64_t>(extent_[1], fit);
  const std::uint64_t rows = std::min<std::uint64_t>(extent_[0], cols < extent_[1] ? 1 : fit / cols);
  std::vector<unsigned char> buffer(rows * cols * value_bytes_);
  for (std::uint64_t r = 0; r < extent_[0]; r += rows) {
    for (std::uint64_t c = 0; c < extent_[1]; c += cols) {
      const std::uint64_t high = std::min<std::uint64_t>(rows, extent_[0] - r);
      const std::uint64_t wide = std::min<std::uint64_t>(cols, extent_[1] - c);
      file_.read(buffer.data(), high * wide * value_bytes_, label_);
      take({r, c, high, wide, buffer.data(), wide * value_bytes_});
    }
  }
}

void RawData::read_chunks(const std::function<void(const RawTile&)>& take) {
  std::vector<unsigned char> stored, missing;
  for (std::uint64_t r = 0; r < extent_[0]; r += chunk_[0]) {
    for (std::uint64_t c = 0; c < extent_[1]; c += chunk_[1]) {
      const std::array<std::uint64_t, 2> at{r, c};
      const auto place = std::lower_bound(chunks_.begin(), chunks_.end(), at,
                                          [](const ChunkPlace& p, const auto& wanted) { return p.at < wanted; });
      const unsigned char* values = nullptr;
      if (place == chunks_.end() || place->at != at) {  // never written
        for (missing.reserve(chunk_bytes_); missing.size() < chunk_bytes_;)
          missing.insert(missing.end(), fill_.begin(), fill_.end());
        values = missing.data();
      } else {
        stored.resize(place->bytes);
        file_.seek(place->offset);
        file_.read(stored.data(), stored.size(), label_);
        values = unpack(stored, place->skipped_filters);
      }
      take({r, c, std::min<std::uint64_t>(chunk_[0], extent_[0] - r),
            std::min<std::uint64_t>(chunk_[1], extent_[1] - c), values, chunk_[1] * value_bytes_});
    }
  }
}

// Undoes the filters, last one first, except those with their bit in `skipped`. Returns chunk_bytes_ bytes.
const unsigned char* RawData::unpack(const std::vector<unsigned char>& stored, std::uint32_t skipped) {
  const unsigned char* data = stored.data();
  std::uint64_t size = stored.size();
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if ((skipped >> i & 1) != 0) continue;
    if (filters_[i] == H5Z_FILTER_FLETCHER32) {
      if (size < 4) damaged("a checksum", "none");
      size -= 4;
      const std::uint32_t sum = data[size] | static_cast<std::uint32_t>(data[size + 1]) << 8 |
                                static_cast<std::uint32_t>(data[size + 2]) << 16 |
                                static_cast<std::uint32_t>(data[size + 3]) << 24;
      if (sum != fletcher32(data, size)) damaged("a chunk with a valid checksum", "an invalid one");
    } else if (filters_[i] == H5Z_FILTER_DEFLATE) {
      plain_.resize(chunk_bytes_ + 4);  // a checksum may be inside
      uLongf room = plain_.size();
      if (uncompress(plain_.data(), &room, data, size) != Z_OK || data == plain_.data())
        damaged("a chunk of " + std::to_string(chunk_bytes_) + " bytes in a valid zlib stream", "damage");
      data = plain_.data();
      size = room;
    } else {
      const std::uint64_t count = size / value_bytes_;
      shuffled_.assign(data, data + size);  // what does not fill a value stays in its place
      for (std::size_t b = 0; b < value_bytes_; ++b)
        for (std::uint64_t k = 0; k < count; ++k) shuffled_[k * value_bytes_ + b] = data[b * count + k];
      data = shuffled_.data();
    }
  }
  if (size != chunk_bytes_) damaged("a chunk of " + std::to_string(chunk_bytes_) + " bytes", std::to_string(size));
  return data;
}

}  // namespace parsnets::mat
