#pragma once
// Looks at candidate options on validation classes, and chooses.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsnets/training.hpp"
#include "train/choose_field.hpp"
#include "train/fitter.hpp"
#include "train/validation.hpp"

namespace parsnets {

struct GridAxis {
  std::string option;
  std::vector<std::string> values;
};

/// The parts of a text between separators, empty ones left out.
std::vector<std::string> split_list(const std::string& text, char separator);

/// "name=v1,v2;name=v1" as axes. Throws usage for an unknown option or an invalid value. `option`: the one that `text`
/// was given to.
std::vector<GridAxis> parse_grid(const std::string& text, const TrainOptions& options,
                                 std::string_view option = "grid");

/// The axes that are searched: those of search.grid, or what the method's table tries, without the options that have
/// other values than by default. Throws as above.
std::vector<GridAxis> search_grid(const TrainOptions& options, const Dataset& data);

struct Candidate {
  TrainOptions options;
  SelectionStep result;               ///< its choice; after Candidates::evaluate its figures, mean over the folds
  double gamma = 0, temperature = 1;  ///< its calibration, mean over the folds
  std::vector<double> merits = {};    ///< after Candidates::evaluate: SelectionStep::merit() on each fold
};

/// All combinations of the axes, the first axis slowest, set on top of `options` (not validated).
std::vector<Candidate> combinations(const TrainOptions& options, const std::vector<GridAxis>& axes);

/// Fits candidates on every fold, one fold after the other: memory does not grow with their number. Those of
/// class space that differ in refine-steps alone are points of one path and share their fit, and so do those without
/// refinement that differ in the class prototypes alone. Refers to everything it is given.
class Candidates {
 public:
  /// While candidates are compared, the processes of `place` share the fits if samples are kept in memory; otherwise,
  /// and for the one that was chosen, they share the samples of every fit. `keeps_folds`: what fits on a fold have in
  /// common stays in memory for the next candidates.
  Candidates(const Dataset& data, const std::vector<Fold>& folds, ThreadPool& pool, ProgressObserver* progress,
             SamplePlace place = {}, bool keeps_folds = false);
  /// Once `stop` says so no further path is begun on the first fold, and the candidates without figures are removed.
  /// Throws usage for an impossible combination, cancelled by the observer.
  void evaluate(std::vector<Candidate>& candidates, const std::filesystem::path& checkpoint = {},
                const std::function<bool()>& stop = {});
  /// The same for the one that was chosen, with its temperature and its settings of learning in the field.
  std::optional<FieldChoice> evaluate_winner(Candidate& winner, const std::filesystem::path& checkpoint = {});
  /// Whether any process says so: processes must not decide by clocks of their own. A collective call.
  bool any_process(bool says) const;

 private:
  Fitter& fitter(std::size_t fold);
  bool shares_fits() const;
  FoldResult evaluate_one(const Candidate& candidate, std::size_t fold, const std::filesystem::path& checkpoint);
  std::vector<FoldResult> evaluate_path(std::span<const Candidate* const> path, std::size_t fold, bool quick,
                                        const std::filesystem::path& checkpoint);

  const Dataset& data_;
  const std::vector<Fold>& folds_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  const SamplePlace place_;
  struct FoldFitter {
    std::unique_ptr<Fitter> fitter;
    bool alone = false;  ///< has all samples of the fold
  };
  std::vector<FoldFitter> fitters_;  ///< by fold; those of other folds leave unless they are kept
  const bool keeps_folds_;
  bool alone_ = false;                             ///< the present path needs all samples of the fold
  std::vector<FieldFold>* field_folds_ = nullptr;  ///< filled while the winner is evaluated
};

struct Selected {
  Candidate winner;
  std::vector<SelectionStep> trace;   ///< every candidate, in the order looked at
  std::vector<std::string> left_out;  ///< what the time budget cut off the automatic search
  std::optional<FieldChoice> field;   ///< of class space alone
  ValidationRecord validation;        ///< what the automatic search compared
};

/// Grid search, automatic search, or the one candidate that `options` is. The highest mean of ZSL accuracy and harmonic
/// mean wins, the earlier candidate in a tie.
Selected select_options(const Dataset& data, const TrainOptions& options, const std::vector<Fold>& folds,
                        ThreadPool& pool, ProgressObserver* progress, SamplePlace place = {});

/// Search auto, on validation classes: one group of choices at a time, from the closed form of class space to refined,
/// gated networks. Each round looks at a small grid around the best candidate so far, leaving options that are set
/// alone. The best candidate replaces the default options where that gains more than one standard error over the folds.
/// Of many candidates the best is better on its own folds by chance: the gain on a fold is that of the candidate that
/// is best on the others. Once search.time_budget is used up no further path is begun, but for that of the default
/// options.
Selected search_automatically(Candidates& evaluator, const Dataset& data, const TrainOptions& options,
                              ProgressObserver* progress);

// The weights of several tables of semantics, chosen on validation classes.

using TableWeights = std::vector<double>;

/// What tables have whose weights are not chosen.
TableWeights equal_weights(std::size_t tables);
/// As a value of a grid: "0.1:0.9".
std::string weights_text(const TableWeights& weights);

/// Candidates around `start` (two or more weights that sum to 1): each share from 0.05 to 0.95 for one table, the rest
/// for the others in their proportions. Of two tables the first alone takes them, which says everything.
std::vector<TableWeights> weights_around(const TableWeights& start);

struct ChosenWeights {
  TableWeights weights;              ///< sum to 1
  std::string choice;                ///< of the winner, as in the trace
  std::vector<SelectionStep> trace;  ///< every candidate, in the order looked at
};

/// Figures of each of the weights, in their order.
using WeightsJudge = std::function<std::vector<SelectionStep>(const std::vector<TableWeights>&)>;

/// From equal weights, the best candidate around the best so far, until none is better.
ChosenWeights search_weights(std::size_t tables, const WeightsJudge& judge);

/// The same by the closed form of class space on the folds, whatever `resolved` trains: weights change the places of
/// classes alone there, so that a fold is fitted once for all of them. Throws as train().
ChosenWeights choose_semantic_weights(const Dataset& data, const TrainOptions& resolved, const std::vector<Fold>& folds,
                                      ThreadPool& pool, ProgressObserver* progress, SamplePlace place = {});

}  // namespace parsnets
