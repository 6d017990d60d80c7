// Writer of v7.3 MAT files (HDF5 with MATLAB's header and attributes), on libhdf5. No times are kept: the same values
// make the same bytes.

#include <algorithm>
#include <array>
#include <span>

#include "base/file.hpp"
#include "formats/mat_common.hpp"
#include "formats/mat_v73.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

namespace {

constexpr hsize_t kUserBlock = 512;
constexpr std::uint64_t kChunkBytes = 512 << 10;  // fits into HDF5's chunk cache of 1 MB
constexpr std::uint64_t kPlainBytes = 64 << 10;   // up to this, compression is not worth it
constexpr unsigned kLevel = 3;

class MatV73Writer final : public MatWriter {
 public:
  explicit MatV73Writer(const std::filesystem::path& path) : path_(path.string()), file_(path) {
    Hdf5Guard guard;
    const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_userblock(creation.get(), kUserBlock);
    H5Pset_obj_track_times(creation.get(), false);
    hdf5_ =
        Hdf5Handle(H5Fcreate(file_.temporary().c_str(), H5F_ACC_TRUNC, creation.get(), file_access().get()), H5Fclose);
    require(static_cast<bool>(hdf5_));
  }

  void write_blocks(std::string_view name, const RowBlocks<float>& values, ProgressObserver* progress) override {
    write_numeric(name, values, "single", H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, progress);
  }
  void write_columns(std::string_view name, MatrixView<const double> values) override {
    write_numeric(name, blocks_of(values), "double", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, nullptr);
  }

  void write_strings(std::string_view name, const std::vector<std::string>& values) override {
    Hdf5Guard guard;
    std::vector<std::vector<std::uint16_t>> texts;
    for (const auto& text : values) {
      const auto units = to_utf16(require_utf8(name, text));
      texts.emplace_back(units.begin(), units.end());
    }
    begin(name);
    if (texts.empty()) {
      write_empty(hdf5_.get(), std::string(name), "cell", 0, 1);
      return end();
    }
    if (!references_) {
      const Hdf5Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
      H5Pset_obj_track_times(creation.get(), false);
      references_ =
          Hdf5Handle(H5Gcreate2(hdf5_.get(), kReferences, H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose);
      require(static_cast<bool>(references_));
    }
    std::vector<hobj_ref_t> references(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string key = std::to_string(cells_++);
      if (texts[i].empty()) {
        write_empty(references_.get(), key, "char", 0, 0);
      } else {
        const std::array<hsize_t, 2> extent{texts[i].size(), 1};
        const auto data = create(references_.get(), key, "char", H5T_STD_U16LE, extent);
        require(H5Dwrite(data.get(), H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts[i].data()) >= 0);
        set_number(data.get(), kDecodeAttribute, H5T_STD_I32LE, 2);
      }
      require(H5Rcreate(&references[i], references_.get(), key.c_str(), H5R_OBJECT, -1) >= 0);
    }
    const std::array<hsize_t, 2> extent{1, texts.size()};
    const auto data = create(hdf5_.get(), std::string(name), "cell", H5T_STD_REF_OBJ, extent);
    require(H5Dwrite(data.get(), H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) >= 0);
    end();
  }

  void commit() override {
    if (broken_) throw_broken();
    {
      Hdf5Guard guard;
      require(references_.close());
      require(hdf5_.close());
    }
    std::array<char, 128> header{};
    std::fill_n(header.begin(), 116, ' ');
    constexpr std::string_view kText = "MATLAB 7.3 MAT-file, written by parsnets HDF5 schema 1.00 .";
    std::copy(kText.begin(), kText.end(), header.begin());
    header[124] = 0x00;
    header[125] = 0x02;
    header[126] = 'I';
    header[127] = 'M';
    file_.write_at(0, header.data(), header.size());
    file_.commit();
  }

 private:
  void require(bool ok) const {
    if (!ok) throw Error(ErrorCode::failure, "cannot write " + path_ + ": " + hdf5_reason());
  }
  [[noreturn]] void throw_broken() const {
    throw Error(ErrorCode::usage, "writing a variable to this MAT file failed: create the file again");
  }

  void begin(std::string_view name) {
    if (broken_) throw_broken();
    claim_name(name, names_);
    broken_ = true;
  }
  void end() { broken_ = false; }

  void set_class(hid_t object, std::string_view matlab_class) {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
    require(H5Tset_size(type.get(), matlab_class.size()) >= 0);
    const Hdf5Handle attribute(H5Acreate2(object, kClassAttribute, type.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
    require(attribute && H5Awrite(attribute.get(), type.get(), matlab_class.data()) >= 0);
  }

  void set_number(hid_t object, const char* name, hid_t type, int value) {
    const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle attribute(H5Acreate2(object, name, type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    require(attribute && H5Awrite(attribute.get(), H5T_NATIVE_INT, &value) >= 0);
  }

  // A dataset with its MATLAB class; chunked and compressed when `chunk` is given.
  Hdf5Handle create(hid_t where, const std::string& name, std::string_view matlab_class, hid_t type,
                    std::span<const hsize_t> extent, std::span<const hsize_t> chunk = {}) {
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(creation.get(), false);
    if (!chunk.empty()) {
      require(H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0);
      require(H5Pset_deflate(creation.get(), kLevel) >= 0);
    }
    const Hdf5Handle space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
    Hdf5Handle data(H5Dcreate2(where, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                    H5Dclose);
    require(space && data);
    set_class(data.get(), matlab_class);
    return data;
  }

  // MATLAB's way to say that an array has no values: its shape instead.
  void write_empty(hid_t where, const std::string& name, std::string_view matlab_class, std::uint64_t rows,
                   std::uint64_t cols) {
    const std::array<hsize_t, 1> extent{2};
    const std::array<std::uint64_t, 2> shape{rows, cols};
    const auto data = create(where, name, matlab_class, H5T_STD_U64LE, extent);
    require(H5Dwrite(data.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, shape.data()) >= 0);
    set_number(data.get(), kEmptyAttribute, H5T_STD_U8LE, 1);
    if (matlab_class == "char") set_number(data.get(), kDecodeAttribute, H5T_STD_I32LE, 2);
  }

  template <class T>
  void write_numeric(std::string_view name, const RowBlocks<T>& values, std::string_view matlab_class, hid_t memory,
                     hid_t stored, ProgressObserver* progress) {
    Hdf5Guard guard;
    const std::uint64_t rows = values.rows, cols = values.cols;
    begin(name);
    if (values.size() == 0) {
      write_empty(hdf5_.get(), std::string(name), matlab_class, cols, rows);
      return end();
    }
    const std::array<hsize_t, 2> extent{rows, cols};
    std::array<hsize_t, 2> tile;
    tile[1] = std::min<hsize_t>(cols, kChunkBytes / sizeof(T));
    tile[0] = std::clamp<hsize_t>(kChunkBytes / sizeof(T) / tile[1], 1, rows);
    const bool chunked = values.size() * sizeof(T) > kPlainBytes;
    const auto data = create(hdf5_.get(), std::string(name), matlab_class, stored, extent,
                             chunked ? std::span<const hsize_t>(tile) : std::span<const hsize_t>());
    ByteProgress told(progress, "save " + std::string(name), values.size() * sizeof(T));
    const Hdf5Handle file_space(H5Screate_simple(2, extent.data(), nullptr), H5Sclose);
    // Whole tiles to a block, so that each is compressed once.
    const std::uint64_t most = std::max<std::uint64_t>(1, rows_of_a_block(cols * sizeof(T)) / tile[0]) * tile[0];
    for (std::uint64_t r = 0; r < rows; r += most) {
      const MatrixView<const T> block = values.block(r, std::min(most, rows - r));
      const std::array<hsize_t, 2> shape{block.rows(), cols};
      const Hdf5Handle memory_space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
      for (std::uint64_t i = 0; i < block.rows(); i += tile[0]) {
        for (std::uint64_t c = 0; c < cols; c += tile[1]) {
          const std::array<hsize_t, 2> start{r + i, c}, inside{i, c};
          const std::array<hsize_t, 2> count{std::min<hsize_t>(tile[0], block.rows() - i),
                                             std::min<hsize_t>(tile[1], cols - c)};
          const auto select = [&](hid_t space, const std::array<hsize_t, 2>& from) {
            require(H5Sselect_hyperslab(space, H5S_SELECT_SET, from.data(), nullptr, count.data(), nullptr) >= 0);
          };
          select(file_space.get(), start);
          select(memory_space.get(), inside);
          require(H5Dwrite(data.get(), memory, memory_space.get(), file_space.get(), H5P_DEFAULT, block.data()) >= 0);
          told.advance(count[0] * count[1] * sizeof(T));
        }
      }
    }
    told.finish();
    end();
  }

  std::string path_;
  AtomicFile file_;
  Hdf5Handle hdf5_, references_;  // closed before the temporary file goes
  std::vector<std::string> names_;
  std::uint64_t cells_ = 0;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<MatWriter> create_v73(const std::filesystem::path& path) {
  return std::make_unique<MatV73Writer>(path);
}

}  // namespace parsnets::mat
