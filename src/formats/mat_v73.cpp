// Reader of v7.3 MAT files, which are HDF5 (also of plain HDF5 files with datasets at the root), on libhdf5. What
// libhdf5 does not check itself is checked here and in mat_v73_check.cpp.

#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/checked.hpp"
#include "base/file.hpp"
#include "base/machine.hpp"
#include "formats/mat_common.hpp"
#include "formats/mat_v73_check.hpp"

namespace parsnets::mat {

namespace {

constexpr const char *kClassAttribute = "MATLAB_class", *kEmptyAttribute = "MATLAB_empty",
                     *kSparseAttribute = "MATLAB_sparse";

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  // Every handle is closed by its owner; what a damaged file makes HDF5 lose, it would complain of at exit.
  [[maybe_unused]] static const herr_t quiet = H5dont_atexit();
  return mutex;
}

/// While one lives, this thread alone uses HDF5 (whose Debian build is not thread-safe) and HDF5 prints nothing.
/// May be nested.
class Hdf5Guard {
 public:
  Hdf5Guard() : lock_(hdf5_mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Hdf5Guard() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }
  Hdf5Guard(const Hdf5Guard&) = delete;
  Hdf5Guard& operator=(const Hdf5Guard&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  ~Hdf5Handle() {
    if (id_ < 0) return;
    const Hdf5Guard guard;
    close_(id_);
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

/// HDF5's checksum: Fletcher's over 16-bit big-endian words.
std::uint32_t fletcher32(const unsigned char* data, std::size_t bytes) {
  std::uint32_t a = 0, b = 0;
  const auto fold = [&] {
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
  };
  for (std::size_t words = bytes / 2; words > 0;) {
    std::size_t batch = std::min<std::size_t>(words, 360);  // as many as cannot overflow
    words -= batch;
    for (; batch > 0; --batch, data += 2) b += a += static_cast<std::uint32_t>(data[0]) << 8 | data[1];
    fold();
  }
  if (bytes % 2 != 0) {
    b += a += static_cast<std::uint32_t>(*data) << 8;
    fold();
  }
  fold();
  return b << 16 | a;
}

/// The values of a dataset of at most 2 dimensions (a vector is one row), in tiles of bounded size. libhdf5 describes
/// it; the values are read, inflated and unshuffled here, because libhdf5 1.10 does not check that a chunk has its full
/// size, and reads past it when it does not.
class RawData {
 public:
  /// Throws bad_input when the dataset declares more than the file can hold, or is stored in a way that is not read.
  RawData(InputFile& file, Hdf5Check& check, hid_t dataset, hid_t type, const std::vector<hsize_t>& extent,
          std::string_view label)
      : file_(file), dataset_(dataset), type_(type), label_(label), value_bytes_(H5Tget_size(type)) {
    const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    layout_ = creation ? H5Pget_layout(creation.get()) : H5D_LAYOUT_ERROR;
    if (extent.size() > 2 || value_bytes_ == 0 || layout_ == H5D_LAYOUT_ERROR)
      damaged("a valid HDF5 dataset of at most 2 dimensions", hdf5_reason());
    const std::size_t skip = extent_.size() - extent.size();
    std::ranges::copy(extent, extent_.begin() + static_cast<std::ptrdiff_t>(skip));
    if (layout_ == H5D_VIRTUAL || H5Pget_external_count(creation.get()) != 0)
      refuse(file_.name(), label_, "values in this file", "a reference to other files",
             "copy the values into one file");

    const auto bytes = checked_mul(checked_mul(extent_[0], extent_[1]).value_or(~0ull), value_bytes_);
    const std::string declared =
        shape_text({extent_[1], extent_[0]}) + " values of " + std::to_string(value_bytes_) + " bytes";
    if (layout_ != H5D_CHUNKED) {
      const std::uint64_t stored = H5Dget_storage_size(dataset);
      if (!bytes || stored < *bytes || stored > file_.size())
        damaged(declared, std::to_string(stored) + " bytes in a file of " + std::to_string(file_.size()));
      return;
    }

    const int rank = static_cast<int>(extent.size());
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
        refuse(file_.name(), label_, "values compressed with gzip or not at all",
               "HDF5 filter " + std::to_string(filter), "save the file with gzip");
      filters_.push_back(filter);
    }
    fill_.resize(value_bytes_);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(creation.get(), &defined) < 0 ||
        (defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(creation.get(), type, fill_.data()) < 0))
      damaged("a valid fill value", hdf5_reason());
    H5O_info_t object;
    if (H5Oget_info(dataset, &object) < 0) damaged("a valid HDF5 object", hdf5_reason());
    chunks_ = check.chunks(object.addr, label_);
  }

  std::uint64_t size() const { return extent_[0] * extent_[1]; }
  /// What read() needs: a chunk as it is stored, inflated and unshuffled.
  std::uint64_t working_bytes() const { return layout_ == H5D_CHUNKED ? 3 * chunk_bytes_ : 0; }

  void read(const TakeTile& take) {
    if (extent_[0] == 0 || extent_[1] == 0) return;
    if (layout_ == H5D_CHUNKED) return read_chunks(take);
    if (layout_ == H5D_CONTIGUOUS) {
      const haddr_t start = H5Dget_offset(dataset_);
      if (start == HADDR_UNDEF) damaged("values in the file", "none");
      file_.seek(start);
      const auto read = [&](void* destination, std::size_t bytes) { file_.read(destination, bytes, label_); };
      return read_in_tiles(extent_[0], extent_[1], value_bytes_, read, take);
    }
    // Compact: at most 64 KB inside the object header.
    std::vector<unsigned char> all(size() * value_bytes_);
    if (H5Dread(dataset_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) damaged("valid values", hdf5_reason());
    take({0, 0, extent_[0], extent_[1], all.data(), extent_[1] * value_bytes_});
  }

  /// All values, row after row; for small datasets.
  std::vector<unsigned char> read_all() {
    std::vector<unsigned char> all(size() * value_bytes_);
    read([&](const RawTile& tile) {
      for (std::uint64_t r = 0; r < tile.rows; ++r)
        std::memcpy(all.data() + ((tile.row + r) * extent_[1] + tile.col) * value_bytes_,
                    tile.data + r * tile.row_bytes, tile.cols * value_bytes_);
    });
    return all;
  }

 private:
  void read_chunks(const TakeTile& take) {
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
  const unsigned char* unpack(const std::vector<unsigned char>& stored, std::uint32_t skipped) {
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

  [[noreturn]] void damaged(std::string expected, std::string found) const {
    refuse(file_.name(), label_, std::move(expected), std::move(found));
  }

  InputFile& file_;
  hid_t dataset_, type_;
  std::string label_;
  std::size_t value_bytes_;
  std::array<hsize_t, 2> extent_{1, 1}, chunk_{1, 1};
  H5D_layout_t layout_ = H5D_CONTIGUOUS;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<ChunkPlace> chunks_;
  std::vector<H5Z_filter_t> filters_;
  std::vector<unsigned char> fill_, plain_, shuffled_;
};

/// A dataset, or a group, which has no values and counts as one. HDF5 is held as long as it lives.
class V73Array final : public Array {
 public:
  V73Array(InputFile& file, Hdf5Check& check, Hdf5Handle id, std::string label)
      : file_(file), check_(check), id_(std::move(id)), label_(std::move(label)) {
    shape = {1, 1};
    kind = class_of(id_.get());
    if (H5Iget_type(id_.get()) == H5I_DATASET)
      read_header();
    else if (H5Aexists(id_.get(), kSparseAttribute) > 0)
      kind = "sparse";
    else if (kind.empty() || kind == "cell" || kind == "char" || is_numeric_kind(kind))
      kind = "group";
  }

  void start(const MatrixPlace& place) override {
    if (empty) return;
    const auto found = numeric_type(type_.get());
    if (!found)
      refuse(file_.name(), label_, "integers or floats of at most 8 bytes", kind_of_type(type_.get()),
             "save it as single or double");
    type = *found;
    order = order_of(type_.get());
    if (shape[0] == 0 || shape[1] == 0) return;
    raw_.emplace(raw_data());
    require_memory(place.memory_limit, static_cast<double>(raw_->working_bytes()), "a chunk of " + file_.name(),
                   "raise the limit or save the file with smaller chunks");
  }

  void read(const TakeTile& take) override { raw_->read(take); }

  std::vector<std::string> chars(std::uint64_t& budget) override {
    if (shape.size() != 2) refuse(file_.name(), label_, "text of 2 dimensions", shape_text(shape), "reshape it");
    const std::uint64_t rows = shape[0], cols = shape[1];
    if (rows > budget / kLeastOfString) refuse(file_.name(), label_, "fewer strings", std::to_string(rows));
    if (empty || rows == 0 || cols == 0) return *char_rows({}, rows, cols);
    const std::size_t width = H5Tget_size(type_.get());
    if (H5Tget_class(type_.get()) != H5T_INTEGER || (width != 1 && width != 2 && width != 4))
      refuse(file_.name(), label_, "characters of 1, 2 or 4 bytes", kind_of_type(type_.get()));
    const auto count = checked_mul(rows, cols);
    if (!count || *count > budget / width) refuse(file_.name(), label_, "less text", shape_text(shape) + " characters");
    budget -= *count * width;
    const auto code = width == 1 ? CharCode::latin1 : width == 2 ? CharCode::utf16 : CharCode::utf32;
    auto out = char_rows(*decode_chars(code, order_of(type_.get()), raw_data().read_all()), rows, cols);
    if (!out) refuse(file_.name(), label_, "valid characters", "malformed ones");
    return std::move(*out);
  }

  std::uint64_t cells() override {
    if (empty || std::ranges::find(extent_, 0u) != extent_.end()) return 0;
    if (H5Tequal(type_.get(), H5T_STD_REF_OBJ) <= 0)
      refuse(file_.name(), label_, "references to the cells", kind_of_type(type_.get()));
    RawData raw = raw_data();
    if (raw.size() > file_.size() / 8) refuse(file_.name(), label_, "fewer cells", shape_text(shape));
    addresses_ = raw.read_all();
    unchecked_ = file_.size();
    return raw.size();
  }

  std::uint64_t identity_of_cell(std::uint64_t i) override {
    std::uint64_t address = 0;
    for (std::size_t b = 8; b-- > 0;) address = address << 8 | addresses_[8 * i + b];
    return address;
  }

  std::unique_ptr<Array> cell(std::uint64_t i, const std::string& label) override {
    const std::uint64_t address = identity_of_cell(i);
    check_.object(address, label, nullptr, &unchecked_);
    const hobj_ref_t reference = address;
    Hdf5Handle object(H5Rdereference2(id_.get(), H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose);
    if (!object || H5Iget_type(object.get()) != H5I_DATASET)
      refuse(file_.name(), label, "text", object ? "another object" : hdf5_reason());
    return std::make_unique<V73Array>(file_, check_, std::move(object), label);
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
      refuse(file_.name(), label_, "a valid HDF5 dataset", hdf5_reason());
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
    if (std::ranges::find(shape, 0u) == shape.end())
      refuse(file_.name(), label_, "the shape of an empty array", "something else");
  }

  RawData raw_data() const { return {file_, check_, id_.get(), type_.get(), extent_, label_}; }

  Hdf5Guard guard_;
  InputFile& file_;
  Hdf5Check& check_;
  Hdf5Handle id_, type_;
  std::string label_;
  std::vector<hsize_t> extent_;  // as HDF5 has it, in C order: MATLAB's reversed
  std::optional<RawData> raw_;
  std::vector<unsigned char> addresses_;  // of cells
  std::uint64_t unchecked_ = 0;           // bytes that they may still take
};

/// Of one object, by hard links. More would have the same bytes checked again and again.
constexpr std::uint64_t kMostNames = 8;

struct Link {
  std::string name;
  std::uint64_t address = 0;
};

class MatV73Reader final : public MatFile {
 public:
  explicit MatV73Reader(const std::filesystem::path& path) : MatFile(path.string()), raw_(path), check_(raw_) {
    const Hdf5Guard guard;
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access.get(), false, true);  // so that read-only disks work
    file_ = Hdf5Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!file_) refuse(name_, "HDF5 header", "a valid HDF5 file", hdf5_reason());
    for (const auto& link : root_links()) list_object(link);
  }

 private:
  std::vector<Link> root_links() const {
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

  void list_object(const Link& link) {
    const std::string& name = link.name;
    const auto text = decode_chars(CharCode::utf8, std::endian::native,
                                   {reinterpret_cast<const unsigned char*>(name.data()), name.size()});
    if (!text || std::ranges::any_of(*text, [](char32_t c) { return c < 0x20 || c == 0x7f; }))
      refuse(name_, "list of variables", "printable names", "other bytes");
    check_.object(link.address, name, nullptr, &unchecked_);
    Hdf5Handle object = open_object(link.address, name);
    const H5I_type_t what = H5Iget_type(object.get());
    if (what != H5I_DATASET && what != H5I_GROUP) return;
    const V73Array array(raw_, check_, std::move(object), name);
    std::optional<std::uint64_t> cols = 1;
    for (std::size_t i = 1; i < array.shape.size() && cols; ++i) cols = checked_mul(*cols, array.shape[i]);
    if (!cols) refuse(name_, name, "fewer values", shape_text(array.shape));
    variables_.push_back({name, array.kind, array.shape[0], *cols});
    addresses_.push_back(link.address);
  }

  /// By address, not by name: a name might lead elsewhere than what was checked.
  Hdf5Handle open_object(std::uint64_t address, const std::string& label) const {
    Hdf5Handle object(H5Oopen_by_addr(file_.get(), address), H5Oclose);
    if (!object) refuse(name_, label, "a valid HDF5 object", hdf5_reason());
    return object;
  }

  std::unique_ptr<Array> open_array(std::size_t index) override {
    const Hdf5Guard guard;
    const std::string& label = variables_[index].name;
    return std::make_unique<V73Array>(raw_, check_, open_object(addresses_[index], label), label);
  }

  InputFile raw_;
  Hdf5Check check_;
  Hdf5Handle file_;
  std::uint64_t unchecked_ = kMostNames * raw_.size();  // bytes that variables may still take
  std::vector<std::uint64_t> addresses_;                // of variables_
};

}  // namespace

std::unique_ptr<MatFile> open_v73(const std::filesystem::path& path) { return std::make_unique<MatV73Reader>(path); }

}  // namespace parsnets::mat
