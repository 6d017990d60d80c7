// The processes of an MPI job as a group: a module that the command line loads when it was started by mpirun, so that
// it needs no MPI otherwise.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "base/processes.hpp"
#include "mpi_module.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 26;  ///< of one call: MPI counts in int

class MpiProcesses final : public Processes {
 public:
  MpiProcesses() {
    int provided = 0, rank = 0, size = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &farewell_);
    rank_ = static_cast<std::size_t>(rank);
    size_ = static_cast<std::size_t>(size);
  }
  ~MpiProcesses() override { MPI_Finalize(); }

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  void sum(std::span<double> values) override { add(values, MPI_DOUBLE); }
  void sum(std::span<float> values) override { add(values, MPI_FLOAT); }
  void sum(std::span<std::uint64_t> values) override { add(values, MPI_UINT64_T); }

  void broadcast(std::string& text, std::size_t root) override {
    if (size_ == 1) return;
    std::uint64_t length = text.size();
    MPI_Bcast(&length, 1, MPI_UINT64_T, static_cast<int>(root), MPI_COMM_WORLD);
    text.resize(length);
    for (std::size_t at = 0; at < length; at += kMostValues)
      MPI_Bcast(text.data() + at, static_cast<int>(std::min(kMostValues, length - at)), MPI_CHAR,
                static_cast<int>(root), MPI_COMM_WORLD);
    count(length);
  }

  std::vector<std::string> gather(const std::string& text) override {
    if (size_ == 1) return {text};
    count(text.size());
    std::uint64_t length = text.size();
    std::vector<std::uint64_t> lengths(size_);
    MPI_Gather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    std::vector<std::string> all;
    if (rank_ > 0) {
      for (std::size_t at = 0; at < length; at += kMostValues)
        MPI_Send(text.data() + at, static_cast<int>(std::min<std::size_t>(kMostValues, length - at)), MPI_CHAR, 0, 0,
                 MPI_COMM_WORLD);
      return all;
    }
    all.resize(size_);
    all[0] = text;
    for (std::size_t r = 1; r < size_; ++r) {
      all[r].resize(lengths[r]);
      for (std::size_t at = 0; at < lengths[r]; at += kMostValues)
        MPI_Recv(all[r].data() + at, static_cast<int>(std::min<std::size_t>(kMostValues, lengths[r] - at)), MPI_CHAR,
                 static_cast<int>(r), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return all;
  }

  /// Whether all processes come here within a while: then all have failed in the same way.
  bool all_come() const {
    const auto patience = std::chrono::seconds(bytes() == 0 ? 30 : 2);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(farewell_, &request);
    const auto start = std::chrono::steady_clock::now();
    for (int done = 0; std::chrono::steady_clock::now() - start < patience;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  // To process 0 and back: with an all-reduce, MPI leaves it open whether all processes get the same bits.
  template <class T>
  void add(std::span<T> values, MPI_Datatype type) {
    if (size_ == 1) return;
    count(values.size_bytes());
    for (std::size_t at = 0; at < values.size(); at += kMostValues) {
      T* part = values.data() + at;
      const int length = static_cast<int>(std::min(kMostValues, values.size() - at));
      MPI_Reduce(rank_ == 0 ? MPI_IN_PLACE : part, part, length, type, MPI_SUM, 0, MPI_COMM_WORLD);
      MPI_Bcast(part, length, type, 0, MPI_COMM_WORLD);
    }
  }

  std::size_t rank_ = 0, size_ = 1;
  MPI_Comm farewell_ = MPI_COMM_NULL;
};

MpiProcesses* group = nullptr;  // MPI itself is one per process

}  // namespace

extern "C" {

Processes* parsnets_mpi_start() {
  if (group == nullptr) group = new MpiProcesses();
  return group;
}

int parsnets_mpi_all_fail() { return group->all_come() ? 1 : 0; }

void parsnets_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void parsnets_mpi_end() {
  delete group;
  group = nullptr;
}

const char* parsnets_mpi_library() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);  // may be called without MPI_Init
  return text;
}
}

}  // namespace parsnets
