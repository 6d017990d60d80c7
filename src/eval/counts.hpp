#pragma once
// The functions of metrics.hpp for scores that come some rows at a time. Errors are those of metrics.hpp.

#include <cstdint>
#include <span>
#include <vector>

#include "eval/metrics.hpp"
#include "eval/score_source.hpp"

namespace parsnets {

/// accuracy_among(). Refers to the labels and candidates.
class AccuracyCount {
 public:
  AccuracyCount(std::size_t classes, std::span<const std::int32_t> labels, std::span<const std::int32_t> candidates);
  void add(std::size_t first, MatrixView<const float> scores);
  Accuracy result() const;
  const std::vector<std::uint8_t>& correct() const { return correct_; }  ///< per label; 1: its class came first

 private:
  std::span<const std::int32_t> labels_, candidates_;
  std::vector<std::uint8_t> correct_;
  std::vector<std::size_t> truth_, samples_, right_;
  std::size_t first_ = 0, among_five_ = 0;
};

/// GzslScores without the scores.
struct GzslLabels {
  struct Side {
    std::span<const std::int32_t> labels, classes;
  };
  Side unseen, seen;
};

/// GzslScores with scores that come some rows at a time.
struct GzslSources {
  struct Side {
    const ScoreSource& scores;
    std::span<const std::int32_t> labels, classes;
  };
  Side unseen, seen;
};

/// evaluate_gzsl() and best_gamma(). Refers to the labels and lists of classes.
class GzslCount {
 public:
  GzslCount(std::size_t classes, const GzslLabels& labels);
  void add_unseen(std::size_t first, MatrixView<const float> scores);
  void add_seen(std::size_t first, MatrixView<const float> scores);
  double best_gamma() const;
  Gzsl at(double gamma) const;
  std::vector<std::uint8_t> correct_unseen(double gamma) const;  ///< per label; 1: at() counts the sample as right
  std::vector<std::uint8_t> correct_seen(double gamma) const;

 private:
  struct Flip {
    double gamma = 0;          ///< where the sample's prediction changes side
    std::uint32_t place = 0;   ///< its class
    std::uint32_t sample = 0;  ///< its label's place
  };
  /// The test samples of the unseen (or of the seen) classes.
  struct Side {
    const char* what = "";
    std::span<const std::int32_t> labels, classes;
    std::vector<std::size_t> truth;    ///< per sample, the place of its class
    std::vector<std::size_t> samples;  ///< per class
    std::vector<Flip> flips;           ///< of the samples that can be right
  };
  using Counts = std::vector<std::size_t>;

  static void add(Side& own, const Side& other, bool own_is_seen, std::size_t first, MatrixView<const float> scores);
  static std::vector<Flip> by_gamma(const Side& side);
  static double mean_over_classes(const Side& side, const Counts& right);
  static std::vector<ClassAccuracy> per_class(const Side& side, const Counts& right);
  std::vector<TradeOff> curve() const;

  Side unseen_, seen_;
};

/// fit_temperature() over all classes; visits the scores some dozens of times.
double fit_temperature(const GzslSources& sources, double gamma);

}  // namespace parsnets
