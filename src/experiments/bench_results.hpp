#pragma once
// The file of `bench --out`: written after every run, so that nothing finished is lost.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/dataset.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// CRC-32 of features, labels, semantics and split.
std::string data_checksum(const Dataset& data);

/// What all rows have in common: version, data set, split, checksum, seeds.
nlohmann::ordered_json bench_info(const Dataset& data, std::uint64_t seed, std::uint64_t seeds);

/// What such a file holds. Throws bad_input unless it is an object with rows, runs and seeds.
nlohmann::ordered_json read_bench_results(const std::filesystem::path& file);

class BenchResults {
 public:
  /// `info`: what all rows have in common, the start of the file. An empty path keeps the rows in memory alone. With
  /// `resume` the runs of an earlier file are there to be taken over; throws bad_input when its start differs.
  BenchResults(nlohmann::ordered_json info, std::filesystem::path file, bool resume);

  /// A row with the earlier runs of the same options and of seeds from `first` to first + count − 1. Runs of other
  /// seeds stay in the file as "other_runs"; nothing is computed from them.
  void begin_row(const std::string& label, const nlohmann::ordered_json& asked, const std::string& note,
                 std::uint64_t first, std::uint64_t count);
  bool has_run(std::uint64_t seed) const;
  void add_run(nlohmann::ordered_json run);
  void fail_row(const std::string& reason);
  /// Adds {"intervals", "versus": {"method", ...}} to the row: intervals of its results over seeds, and the paired
  /// comparison with the first row. What needs runs that do not say which test samples were right is left out.
  void add_uncertainty(const Dataset& data, ThreadPool& pool);

  const nlohmann::ordered_json& row() const { return json_["methods"].back(); }
  const nlohmann::ordered_json& json() const { return json_; }

 private:
  void save() const;

  nlohmann::ordered_json json_, earlier_;
  std::filesystem::path file_;
};

}  // namespace parsnets
