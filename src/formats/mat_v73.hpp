#pragma once
// HDF5 for the v7.3 MAT reader and writer: handles that close themselves, one lock, quiet errors. Internal.

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace parsnets::mat {

/// While one lives, this thread alone uses HDF5 (whose Debian build is not thread-safe) and HDF5 prints nothing.
/// May be nested.
class Hdf5Guard {
 public:
  Hdf5Guard();
  ~Hdf5Guard();
  Hdf5Guard(const Hdf5Guard&) = delete;
  Hdf5Guard& operator=(const Hdf5Guard&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// Owns an HDF5 identifier.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  ~Hdf5Handle() { close(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      close();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }

  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }
  /// False when HDF5 reports a failure.
  bool close();

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// What HDF5 said last went wrong, at its origin.
std::string hdf5_reason();
/// Access properties for files: no locks on them, so that read-only disks work.
Hdf5Handle file_access();

inline constexpr const char *kClassAttribute = "MATLAB_class", *kEmptyAttribute = "MATLAB_empty",
                            *kDecodeAttribute = "MATLAB_int_decode", *kSparseAttribute = "MATLAB_sparse",
                            *kReferences = "#refs#";

}  // namespace parsnets::mat
