// The raw values of an HDF5 dataset. libhdf5 describes it; the values are read, inflated and unshuffled here, because
// libhdf5 1.10 does not check that a chunk has its full size, and reads past it when it does not.

#include "formats/mat_v73_data.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.hpp"
#include "formats/mat_common.hpp"

namespace parsnets::mat {

namespace {

constexpr std::uint64_t kBufferBytes = 256 << 10;

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
  const std::uint64_t fit = std::max<std::uint64_t>(kBufferBytes / value_bytes_, 1);
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
