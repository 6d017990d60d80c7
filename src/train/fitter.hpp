#pragma once
// Fits models on fixed rows of a data set. Stages that two option sets have in common (prepared features, class space,
// encoder, gates) are kept.

#include <cstdint>
#include <vector>

#include "train/fit_methods.hpp"

namespace parsnets {

class Fitter {
 public:
  /// Refers to everything it is given. `rows` are samples of `data`, those of all processes.
  Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
         SamplePlace place = {})
      : stages_(data, std::move(rows), pool, progress, place) {}

  /// A model whose class set holds all classes of the data set, `seen` set for those with rows; no calibration yet. Its
  /// record has the certificate and the statistics of the fit alone. `checkpoint` overrides the options' path.
  /// `observer` sees a model of class space at 0 and after each step of refinement; other methods do not call it.
  /// Throws as train().
  Model fit(const TrainOptions& resolved, const std::filesystem::path& checkpoint = {}, TrainRun* run = nullptr,
            const DescentObserver& observer = {});

 private:
  Stages stages_;
  PaperFitter paper_{stages_};
};

/// The options and the seed that a model was trained with, without checkpoints. Throws bad_input for damaged ones.
TrainOptions options_of(const Model& model);

/// A model with these options, fitted to the given rows of `data` without calibration.
Model refit(const TrainOptions& options, const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool,
            ProgressObserver* progress);

}  // namespace parsnets
