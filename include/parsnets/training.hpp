#pragma once
// Training: options in, a Model and its record out. Every choice that is not given is made on validation classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// One candidate that selection looked at.
struct SelectionStep {
  std::string choice;                             ///< "lambda=3 semantic-scaling=l2"
  double zsl = 0;                                 ///< per-class top-1 on validation classes, mean over the folds
  double h = 0;                                   ///< harmonic mean at the best gamma on the same folds
  double merit() const { return (zsl + h) / 2; }  ///< what the choice is made by
};

/// What is said of a run but not stored in the model, since it differs between machines.
struct TrainRun {
  double seconds = 0;
  double flops = 0, bytes = 0;      ///< of the SVR's hot loops
  std::vector<double> svr_seconds;  ///< since the start of the last solve, one per entry of its trace in the record
  std::uint64_t peak_memory = 0;
};

/// Trains on the trainval samples of `data`. The same data, options and seed give the same bytes for any number of
/// threads (preset automatic: unless its time budget cuts the search). Throws usage for impossible options, bad_input
/// for unusable data, cancelled by `progress`.
Model train(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr,
            TrainRun* run = nullptr);

/// Removes the files that training with this checkpoint has left. Never throws: left-over ones do no harm.
void remove_checkpoints(const std::filesystem::path& checkpoint);

/// How many test samples of class `label` were taken for class `predicted`; both are places in the data set's classes.
struct Confusion {
  std::int32_t label = 0, predicted = 0;
  std::uint32_t samples = 0;
};

/// Everything the protocol asks of a model on a data set's test samples.
struct TestReport {
  Accuracy zsl;  ///< unseen test samples among the unseen classes
  bool has_gzsl = false;
  Gzsl gzsl;                          ///< among all classes, at the model's gamma
  std::vector<Confusion> confusion;   ///< pairs that occur, by label: all test samples among all classes, with gamma
  std::vector<std::string> warnings;  ///< which figures mean nothing, and why
  std::int64_t trained_samples = 0;   ///< test samples that the model was trained on; -1: some, the number is not known
};
/// Classes are matched by name; throws bad_input when the model lacks a test class, when the data set was loaded with
/// other semantics than the model's, and when it was trained on test samples unless `allow_trained_samples`.
TestReport evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress = nullptr,
                    bool allow_trained_samples = false);

/// Sets gamma and temperature by samples (n x d, labels are places in the class bank) that training did not see, of
/// seen and of unseen classes: the best harmonic mean, then the best likelihood. Throws bad_input, and changes nothing
/// then, without samples of both kinds.
void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool);

}  // namespace parsnets
