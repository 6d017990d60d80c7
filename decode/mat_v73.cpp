// Reader of v7.3 MAT files, which are HDF5 (also of plain HDF5 files with datasets at the root), on libhdf5. Its 1.10
// reads past its buffers where a file lies about lengths: what that breaks is this process, which is in a sandbox.

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "mat_reader.hpp"

namespace parsnets::mat {

namespace {

constexpr const char *kClassAttribute = "MATLAB_class", *kEmptyAttribute = "MATLAB_empty",
                     *kSparseAttribute = "MATLAB_sparse";

class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept { *this = std::move(other); }
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

/// What HDF5 said last went wrong, at its origin.
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
  return reason.empty() ? "HDF5 cannot read it" : "HDF5 says '" + printable(reason) + "'";
}

/// An attribute of one value, and its type.
struct Attribute {
  Hdf5Handle id, type;
};

/// Nothing when there is none, or one of another class.
std::optional<Attribute> open_attribute(hid_t object, const char* name, H5T_class_t expected) {
  if (H5Aexists(object, name) <= 0) return std::nullopt;
  Hdf5Handle id(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  Hdf5Handle type(H5Aget_type(id.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(id.get()), H5Sclose);
  if (!id || !type || !space || H5Tget_class(type.get()) != expected || H5Sget_simple_extent_npoints(space.get()) != 1)
    return std::nullopt;
  return Attribute{std::move(id), std::move(type)};
}

/// What MATLAB says an object is; empty when it says nothing.
std::string class_of(hid_t object) {
  const auto attribute = open_attribute(object, kClassAttribute, H5T_STRING);
  const std::size_t size = attribute ? H5Tget_size(attribute->type.get()) : 0;
  if (size == 0 || size > 64 || H5Tis_variable_str(attribute->type.get()) != 0) return "";
  std::string text(size, '\0');
  if (H5Aread(attribute->id.get(), attribute->type.get(), text.data()) < 0) return "";
  return printable(text.c_str());
}

bool is_marked_empty(hid_t object) {
  const auto attribute = open_attribute(object, kEmptyAttribute, H5T_INTEGER);
  int value = 0;
  return attribute && H5Aread(attribute->id.get(), H5T_NATIVE_INT, &value) >= 0 && value != 0;
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
    const bool known = (size == 2 && exponent == 5 && bias == 15) || (size == 4 && exponent == 8 && bias == 127) ||
                       (size == 8 && exponent == 11 && bias == 1023);
    return ieee && known ? element_type('f', size) : std::nullopt;
  }
  if (what != H5T_INTEGER) return std::nullopt;
  return element_type(H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', size);
}

std::endian order_of(hid_t type) { return H5Tget_order(type) == H5T_ORDER_BE ? std::endian::big : std::endian::little; }

/// The file as HDF5 sees it: a driver of its own, because the sandbox opens no paths.
struct OpenedFile {
  H5FD_t base;  ///< first, as HDF5 expects
  decode::Input* file;
  haddr_t end;
};

template <class F>
auto& opened(F* file) {
  if constexpr (std::is_const_v<F>)
    return *reinterpret_cast<const OpenedFile*>(file);
  else
    return *reinterpret_cast<OpenedFile*>(file);
}

decode::Input* file_to_open = nullptr;

hid_t file_driver() {
  static H5FD_class_t driver{};
  driver.name = "descriptor";
  driver.maxaddr = HADDR_MAX >> 1;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.open = [](const char*, unsigned, hid_t, haddr_t) -> H5FD_t* {
    auto* file = static_cast<OpenedFile*>(std::calloc(1, sizeof(OpenedFile)));
    if (file != nullptr) file->file = file_to_open;
    return reinterpret_cast<H5FD_t*>(file);
  };
  driver.close = [](H5FD_t* file) -> herr_t {
    std::free(file);
    return 0;
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return opened(file).end; };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) -> herr_t {
    opened(file).end = end;
    return 0;
  };
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) -> haddr_t { return opened(file).file->size(); };
  driver.read = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t bytes, void* out) -> herr_t {
    decode::Input& source = *opened(file).file;
    try {
      if (at > source.size()) return -1;
      source.seek(at);
      const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, source.remaining()));
      source.read(out, there, "values");
      std::memset(static_cast<char*>(out) + there, 0, bytes - there);
      return 0;
    } catch (...) {
      return -1;
    }
  };
  driver.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) -> herr_t { return -1; };
  const std::array<H5FD_mem_t, H5FD_MEM_NTYPES> one_kind H5FD_FLMAP_SINGLE;
  std::copy(one_kind.begin(), one_kind.end(), driver.fl_map);
  return H5FDregister(&driver);
}

/// The values of a dataset of at most 2 dimensions (a vector is one row), in tiles.
class RawData {
 public:
  /// Throws bad_input when the dataset declares more than the file can hold, or is stored in a way that is not read.
  RawData(decode::Input& file, hid_t dataset, hid_t type, const std::vector<hsize_t>& extent, std::string_view label)
      : dataset_(dataset),
        type_(type),
        label_(label),
        value_bytes_(H5Tget_size(type)),
        skip_(2 - std::min<std::size_t>(2, extent.size())) {
    const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    const H5D_layout_t layout = creation ? H5Pget_layout(creation.get()) : H5D_LAYOUT_ERROR;
    if (extent.size() > 2 || value_bytes_ == 0 || layout == H5D_LAYOUT_ERROR)
      refuse(label_, "a valid HDF5 dataset of at most 2 dimensions", hdf5_reason());
    std::ranges::copy(extent, extent_.begin() + static_cast<std::ptrdiff_t>(skip_));
    if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) != 0)
      refuse(label_, "values in this file", "a reference to other files", "copy the values into one file");
    tile_ = extent_;
    if (layout == H5D_CHUNKED && H5Pget_chunk(creation.get(), rank(), tile_.data() + skip_) != rank())
      refuse(label_, "a valid HDF5 layout", hdf5_reason());

    // Values that were never written take no place, so their number is held against the file.
    const auto bytes = checked_mul(checked_mul(extent_[0], extent_[1]).value_or(~0ull), value_bytes_);
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    const std::uint64_t most = layout == H5D_CHUNKED ? kMaxExpansion * file.size() : std::min(stored, file.size());
    if (!bytes || *bytes > most)
      refuse(label_, std::to_string(most) + " bytes at most, in a file of " + std::to_string(file.size()),
             shape_text({extent_[1], extent_[0]}) + " values of " + std::to_string(value_bytes_) + " bytes");
    if (layout != H5D_CHUNKED) {  // rows that fit into a buffer, or parts of one
      const std::uint64_t fit = std::max<std::uint64_t>((256u << 10) / value_bytes_, 1);
      tile_[1] = std::max<std::uint64_t>(1, std::min<std::uint64_t>(tile_[1], fit));
      tile_[0] = std::max<std::uint64_t>(1, std::min<std::uint64_t>(tile_[0], fit / tile_[1]));
    }
    for (int i = 0; i < H5Pget_nfilters(creation.get()); ++i) {
      unsigned flags = 0;
      std::size_t values = 0;
      const auto filter =
          H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
        refuse(label_, "values compressed with gzip or not at all", "HDF5 filter " + std::to_string(filter),
               "save the file with gzip");
    }
  }

  std::uint64_t size() const { return extent_[0] * extent_[1]; }

  void read(const TakeTile& take) const {
    const Hdf5Handle whole(H5Dget_space(dataset_), H5Sclose);
    std::vector<unsigned char> values(tile_[0] * tile_[1] * value_bytes_);
    for (std::uint64_t r = 0; r < extent_[0]; r += tile_[0])
      for (std::uint64_t c = 0; c < extent_[1]; c += tile_[1]) {
        const std::array<hsize_t, 2> at{r, c},
            count{std::min<hsize_t>(tile_[0], extent_[0] - r), std::min<hsize_t>(tile_[1], extent_[1] - c)};
        const Hdf5Handle part(H5Screate_simple(rank(), count.data() + skip_, nullptr), H5Sclose);
        if (rank() > 0 && H5Sselect_hyperslab(whole.get(), H5S_SELECT_SET, at.data() + skip_, nullptr,
                                              count.data() + skip_, nullptr) < 0)
          refuse(label_, "valid values", hdf5_reason());
        if (H5Dread(dataset_, type_, rank() > 0 ? part.get() : H5S_ALL, whole.get(), H5P_DEFAULT, values.data()) < 0)
          refuse(label_, "valid values", hdf5_reason());
        take({r, c, count[0], count[1], values.data(), count[1] * value_bytes_});
      }
  }

  /// All values, row after row.
  std::vector<unsigned char> read_all() const {
    std::vector<unsigned char> all(size() * value_bytes_);
    if (!all.empty() && H5Dread(dataset_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0)
      refuse(label_, "valid values", hdf5_reason());
    return all;
  }

 private:
  int rank() const { return static_cast<int>(extent_.size() - skip_); }

  hid_t dataset_, type_;
  std::string label_;
  std::size_t value_bytes_, skip_;
  std::array<hsize_t, 2> extent_{1, 1}, tile_{1, 1};
};

/// A dataset, or a group, which has no values and counts as one.
class V73Array final : public Array {
 public:
  V73Array(decode::Input& file, Hdf5Handle id, std::string label)
      : file_(file), id_(std::move(id)), label_(std::move(label)) {
    shape = {1, 1};
    kind = class_of(id_.get());
    if (H5Iget_type(id_.get()) == H5I_DATASET)
      read_header();
    else if (H5Aexists(id_.get(), kSparseAttribute) > 0)
      kind = "sparse";
    else if (kind.empty() || kind == "cell" || kind == "char" || is_numeric_kind(kind))
      kind = "group";
  }

  void start() override {
    if (empty) return;
    const auto found = numeric_type(type_.get());
    if (!found)
      refuse(label_, "integers or floats of at most 8 bytes", kind_of_type(type_.get()), "save it as single or double");
    type = *found;
    order = order_of(type_.get());
    if (shape[0] == 0 || shape[1] == 0) return;
    raw_.emplace(raw_data());
  }

  void read(const TakeTile& take) override { raw_->read(take); }

  std::vector<std::string> chars() override {
    if (shape.size() != 2) refuse(label_, "text of 2 dimensions", shape_text(shape), "reshape it");
    const std::uint64_t rows = shape[0], cols = shape[1];
    if (empty || rows == 0 || cols == 0) return *char_rows({}, rows, cols);
    const std::size_t width = H5Tget_size(type_.get());
    if (H5Tget_class(type_.get()) != H5T_INTEGER || (width != 1 && width != 2 && width != 4))
      refuse(label_, "characters of 1, 2 or 4 bytes", kind_of_type(type_.get()));
    const auto code = width == 1 ? CharCode::latin1 : width == 2 ? CharCode::utf16 : CharCode::utf32;
    auto out = char_rows(*decode_chars(code, order_of(type_.get()), raw_data().read_all()), rows, cols);
    if (!out) refuse(label_, "valid characters", "malformed ones");
    return std::move(*out);
  }

  std::uint64_t cells() override {
    if (empty || std::ranges::find(extent_, 0u) != extent_.end()) return 0;
    if (H5Tequal(type_.get(), H5T_STD_REF_OBJ) <= 0)
      refuse(label_, "references to the cells", kind_of_type(type_.get()));
    addresses_ = raw_data().read_all();
    return addresses_.size() / sizeof(hobj_ref_t);
  }

  std::unique_ptr<Array> cell(std::uint64_t i, const std::string& label) override {
    hobj_ref_t reference = 0;
    std::memcpy(&reference, addresses_.data() + i * sizeof reference, sizeof reference);
    Hdf5Handle object(H5Rdereference2(id_.get(), H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose);
    if (!object || H5Iget_type(object.get()) != H5I_DATASET)
      refuse(label, "text", object ? "another object" : hdf5_reason());
    return std::make_unique<V73Array>(file_, std::move(object), label);
  }

 private:
  void read_header() {
    shape.clear();
    type_ = Hdf5Handle(H5Dget_type(id_.get()), H5Tclose);
    const Hdf5Handle space(H5Dget_space(id_.get()), H5Sclose);
    const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
    if (type_ && rank >= 0 && rank <= H5S_MAX_RANK) extent_.resize(static_cast<std::size_t>(rank));
    if (!type_ || rank < 0 || rank > H5S_MAX_RANK ||
        (rank > 0 && H5Sget_simple_extent_dims(space.get(), extent_.data(), nullptr) < 0))
      refuse(label_, "a valid HDF5 dataset", hdf5_reason());
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) extent_ = {0};
    if (kind.empty()) kind = kind_of_type(type_.get());
    empty = is_marked_empty(id_.get());
    const H5T_class_t what = H5Tget_class(type_.get());
    complex = !empty && what == H5T_COMPOUND;
    if (!empty) {
      shape.assign(extent_.rbegin(), extent_.rend());
      while (shape.size() < 2) shape.push_back(1);
      return;
    }
    // The values are the shape.
    if (rank == 1 && extent_[0] >= 2 && extent_[0] <= H5S_MAX_RANK && what == H5T_INTEGER &&
        H5Tget_size(type_.get()) == 8) {
      const auto raw = raw_data().read_all();
      shape.resize(extent_[0]);
      std::memcpy(shape.data(), raw.data(), raw.size());
      if (order_of(type_.get()) != std::endian::native)
        for (auto& d : shape) d = __builtin_bswap64(d);
    }
    if (std::ranges::find(shape, 0u) == shape.end()) refuse(label_, "the shape of an empty array", "something else");
  }

  RawData raw_data() const { return {file_, id_.get(), type_.get(), extent_, label_}; }

  decode::Input& file_;
  Hdf5Handle id_, type_;
  std::string label_;
  std::vector<hsize_t> extent_;  // as HDF5 has it, in C order: MATLAB's reversed
  std::optional<RawData> raw_;
  std::vector<unsigned char> addresses_;  // of cells
};

class MatV73Reader final : public Reader {
 public:
  explicit MatV73Reader(decode::Input& file) : input_(file) {
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    file_to_open = &file;
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    static const hid_t driver = file_driver();
    H5Pset_driver(access.get(), driver, nullptr);
    file_ = Hdf5Handle(H5Fopen("/file", H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!file_) refuse("HDF5 header", "a valid HDF5 file", hdf5_reason());
    struct Names {
      std::vector<std::string> all;
      bool too_many = false;
    } names;
    const auto add = [](hid_t, const char* name, const H5L_info_t* info, void* out) -> herr_t {
      auto& [all, too_many] = *static_cast<Names*>(out);
      try {
        // Links to other places or files are not followed; MATLAB keeps its own things under '#'.
        if (info->type == H5L_TYPE_HARD && name[0] != '#') all.emplace_back(name);
        return 0;
      } catch (...) {
        too_many = true;
        return -1;
      }
    };
    const bool listed = H5Literate(file_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names) >= 0;
    if (names.too_many) throw std::bad_alloc();
    if (!listed) refuse("list of variables", "a valid HDF5 group", hdf5_reason());
    for (const auto& name : names.all) list_object(name);
  }

  std::unique_ptr<Array> open_array(std::size_t index) override {
    const std::string& name = variables[index].name;
    return std::make_unique<V73Array>(input_, open_object(name), name);
  }

 private:
  void list_object(const std::string& name) {
    if (escaped(name) != name) refuse("list of variables", "printable names", "other bytes");
    Hdf5Handle object = open_object(name);
    const H5I_type_t what = H5Iget_type(object.get());
    if (what != H5I_DATASET && what != H5I_GROUP) return;
    const V73Array array(input_, std::move(object), name);
    std::optional<std::uint64_t> cols = 1;
    for (std::size_t i = 1; i < array.shape.size() && cols; ++i) cols = checked_mul(*cols, array.shape[i]);
    if (!cols) refuse(name, "fewer values", shape_text(array.shape));
    variables.push_back({name, array.kind, array.shape[0], *cols});
  }

  Hdf5Handle open_object(const std::string& name) const {
    Hdf5Handle object(H5Oopen(file_.get(), name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object) refuse(name, "a valid HDF5 object", hdf5_reason());
    return object;
  }

  decode::Input& input_;
  Hdf5Handle file_;
};

}  // namespace

std::unique_ptr<Reader> open_v73(decode::Input& file) { return std::make_unique<MatV73Reader>(file); }

}  // namespace parsnets::mat
