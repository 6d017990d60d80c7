#pragma once
// Statistics: the sums over samples that the closed-form fit in class space needs, and all that it reads of them.
// Statistics of parts of a data set add up to those of the whole, in any order, up to rounding.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/processes.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/model_parts.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// What statistics keep beyond the sums of the fit, for calibration. Statistics that are merged must agree in it.
struct StatisticsOptions {
  FeatureScaling scaling = FeatureScaling::sqrt_l2;  ///< of each sample on its own: not standardize
  std::size_t groups = 1;     ///< G: classes fall into G groups by their names, with products of each; 1: no groups
  std::size_t kept_rows = 0;  ///< raw samples kept of each class, those with the smallest hashes of their values
  bool operator==(const StatisticsOptions&) const = default;  ///< every field
};

/// A raw sample that is kept.
struct KeptRow {
  std::uint64_t hash = 0;                           ///< of its values
  double weight = 0;                                ///< of all samples with these values
  std::vector<float> values;                        ///< d
  bool operator==(const KeptRow&) const = default;  ///< every field
};

/// Sums over scaled samples x of weight w: Σ w per class, Σ w·x per class, Σ w·xxᵀ per group of classes. Products of up
/// to 1024 samples are formed in float32; everything is added up in float64. Not safe to change from two threads at
/// once.
///
/// Kept rows are those with the smallest (hash, values) among the different samples of a class. The same samples added
/// in any order, or merged from any parts, keep the same rows.
class Statistics {
 public:
  /// The parts of a Statistics.
  struct Parts {
    StatisticsOptions options;               ///< as given
    std::uint64_t samples = 0;               ///< number of samples, whatever their weight
    std::vector<std::string> class_names;    ///< C, all different
    std::vector<double> class_weights;       ///< C: Σ w
    Matrix<double> class_sums;               ///< C x d: Σ w·x
    std::vector<Matrix<double>> products;    ///< G, d x d each: Σ w·xxᵀ
    std::vector<std::vector<KeptRow>> kept;  ///< C lists, each ascending by (hash, values)
    std::optional<FeatureSource> source;     ///< what made the features; none: not known
  };

  Statistics() = default;
  /// Nothing added yet. FeatureScaling::standardize is not possible here (throws usage): it depends on all samples.
  Statistics(const StatisticsOptions& options, std::vector<std::string> class_names, std::size_t dimensions);
  /// The same with no groups and no kept rows.
  Statistics(FeatureScaling scaling, std::vector<std::string> class_names, std::size_t dimensions)
      : Statistics(StatisticsOptions{scaling, 1, 0}, std::move(class_names), dimensions) {}

  /// Adds rows of `features` (N x d, raw) with the classes `labels` (N, places in class_names). `weights` (as many as
  /// rows) may be empty: 1 each; samples of weight 0 are left out. Throws bad_input for a non-finite value or an
  /// unknown class; nothing is added then.
  void add(MatrixView<const float> features, std::span<const std::int32_t> labels, std::span<const std::int32_t> rows,
           ThreadPool& pool, std::span<const double> weights = {}) {
    accumulate(features, labels, rows, weights, 1, pool);
  }
  /// Removes what add() added. Each entry keeps the rounding error of the sums before: about 1e-7 of their size.
  /// Removed rows are no longer kept, and others do not take their place.
  void remove(MatrixView<const float> features, std::span<const std::int32_t> labels,
              std::span<const std::int32_t> rows, ThreadPool& pool, std::span<const double> weights = {}) {
    accumulate(features, labels, rows, weights, -1, pool);
  }
  /// Adds the sums of `other`; classes are matched by name, new ones are appended. Throws bad_input unless options,
  /// dimensions and, where both are known, what made the features agree.
  void merge(const Statistics& other);
  /// The sums of x − by (d values) from now on, exact but for rounding.
  void move_origin(std::span<const double> by, ThreadPool& pool);
  /// Replaces the sums by those over all processes, which have the same classes, dimensions and options: sends
  /// 8·(G·d² + C·d + C + 1) bytes. Throws usage where rows are kept. A collective call.
  void sum_over(Processes& processes);
  /// The same without the classes of one group: exact, since their sums are left out.
  Statistics without_group(std::size_t group) const;

  const StatisticsOptions& options() const { return p_.options; }                 ///< as given
  FeatureScaling scaling() const { return p_.options.scaling; }                   ///< of the samples
  std::size_t dimensions() const { return p_.class_sums.cols(); }                 ///< d
  std::uint64_t samples() const { return p_.samples; }                            ///< as in Parts, like all below
  double weight() const;                                                          ///< Σ w of all classes
  const std::vector<std::string>& class_names() const { return p_.class_names; }  ///< C
  const std::vector<double>& class_weights() const { return p_.class_weights; }   ///< C
  const Matrix<double>& class_sums() const { return p_.class_sums; }              ///< C x d
  /// Where the parts of a sum differ in knowing it, what is known counts.
  const std::optional<FeatureSource>& source() const { return p_.source; }
  /// Says what made the features that were or will be added.
  void set_source(std::optional<FeatureSource> source) { p_.source = std::move(source); }
  /// d x d, symmetric: the sum over all groups.
  Matrix<double> products() const;
  const std::vector<Matrix<double>>& group_products() const { return p_.products; }  ///< G
  const std::vector<std::vector<KeptRow>>& kept_rows() const { return p_.kept; }     ///< C

  /// The group of a class: from its name alone, so that parts made in different places agree.
  static std::size_t group_of(const std::string& class_name, std::size_t groups);
  /// A copy of everything.
  Statistics copy() const;

  /// Hashes are computed anew. Throws bad_input when shapes do not agree, a value is not finite, or kept rows are not
  /// as promised above.
  static Statistics from_parts(Parts parts);

 private:
  void accumulate(MatrixView<const float> features, std::span<const std::int32_t> labels,
                  std::span<const std::int32_t> rows, std::span<const double> weights, double sign, ThreadPool& pool);
  void keep(std::size_t label, KeptRow row, double sign);

  Parts p_;
};

/// Reads and fully validates a statistics file (docs/format.md). Throws bad_input.
Statistics load_statistics(const std::filesystem::path& file);
/// Writes atomically. The bytes depend on the statistics alone.
void save_statistics(const Statistics& statistics, const std::filesystem::path& file);
/// Whether a file says that it is a statistics file; throws bad_input unless it is a safetensors file.
bool is_statistics_file(const std::filesystem::path& file);

}  // namespace parsnets
