#pragma once
// Fits models on fixed rows of a data set. Stages that two option sets have in common (preprocessing, encoder, gates,
// Gram matrices) are kept, and the SVR starts from its last solution along a path of C.

#include <cstdint>
#include <memory>
#include <vector>

#include "parsnets/training.hpp"
#include "solvers/descent.hpp"
#include "train/sample_place.hpp"

namespace parsnets {

class Fitter {
 public:
  /// Refers to everything it is given. `rows` are samples of `data`, those of all processes.
  Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
         SamplePlace place = {});
  ~Fitter();

  /// A model whose bank holds all classes of the data set, `seen` set for those with rows; no calibration yet. Its
  /// record has the certificate and the statistics of the fit alone. `checkpoint` overrides the options' path.
  /// `observer` sees the model at 0 and after each of options.refine_steps steps of refinement, before prototypes are
  /// fitted. A semantic head is fitted after that, and neither observed nor kept in a checkpoint.
  Model fit(const TrainOptions& options, const std::filesystem::path& checkpoint = {}, TrainRun* run = nullptr,
            const DescentObserver& observer = {});

  /// The semantic head beside class space with these options, on semantics that are prepared for that.
  Model fit_head(const TrainOptions& options);
  /// How the semantics of a fit with these options are prepared.
  const SemanticPreprocess& semantics(const TrainOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parsnets
