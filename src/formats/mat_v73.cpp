// HDF5 handles and the lock around the library.

#include "formats/mat_v73.hpp"

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

}  // namespace parsnets::mat
