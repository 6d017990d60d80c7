#pragma once
// How long a list of trainings will still take, by what finished ones took.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parsnets {

/// One training that is still to be run.
struct PlannedRun {
  std::string method;
  std::string data;         ///< name of the data set
  std::size_t samples = 0;  ///< that it trains on
};

/// Not thread-safe.
class TimeLeft {
 public:
  void add(const PlannedRun& run, double seconds);
  /// Seconds. A run takes as long as the same method took on the same data; failing that, as the method takes per
  /// sample on others; failing that, its rough share compared with methods that ran. Nothing before the first run.
  std::optional<double> of(const std::vector<PlannedRun>& runs) const;

 private:
  struct Sum {
    double seconds = 0, samples = 0;
    std::size_t runs = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> by_data_;
  std::map<std::string, Sum> by_method_;
};

}  // namespace parsnets
