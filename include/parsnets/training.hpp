#pragma once
// Training: options in, a Model and its record out. Every choice that is not given is made on validation classes.

#include <cstdint>
#include <filesystem>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct TrainRun;  // train/train_run.hpp
class Processes;  // base/processes.hpp

/// Trains on the trainval samples of `data`. The same data, options and seed give the same bytes for any number of
/// threads (preset automatic: unless its time budget cuts the search). Throws usage for impossible options, bad_input
/// for unusable data, cancelled by `progress`.
///
/// With a memory limit that the samples do not fit, they are prepared in blocks whenever they are needed, and features
/// of a mapped file stay on disk. With `processes` every process calls train() with the same data, options and seed;
/// each takes a part of the samples, and all get the same model: closed forms up to rounding the one of a single
/// process.
Model train(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr,
            TrainRun* run = nullptr, Processes* processes = nullptr);

/// How a model is calibrated for unknown samples.
struct OpenSetOptions {
  double false_accept = 0.05;      ///< share of unknown samples that may be accepted, between 0 and 1
  int folds = 16;                  ///< fits, each without a part of the seen classes; at most one per two classes
  std::uint64_t seed = 1;          ///< of the folds
  std::uint64_t memory_limit = 0;  ///< bytes for the whole process; 0: that of training
};

/// Sets Model::rejection, Model::sets and the record of it; nothing else changes. The model's options are fitted again
/// without a part of the seen classes and a twentieth of the samples of the others, once per fold. In each fold one
/// half of the classes left out is unknown; the other half is described by its semantics alone, as are the unseen
/// classes of the bank. Then the halves change places. Without unseen classes in the bank, all of them are unknown.
/// `data` is the set that the model was trained on. Returns what rejection reached on the held-out classes, each judged
/// by weights that were fitted without its fold. The same data, options and seed give the same bits for any number of
/// threads. Throws usage for options out of range and for a model that is reverse or does not compare by cosine,
/// bad_input for another data set, fewer than four seen classes with samples or too few samples, cancelled by
/// `progress`.
RejectionRecord calibrate_open_set(Model& model, const Dataset& data, const OpenSetOptions& options, ThreadPool& pool,
                                   ProgressObserver* progress = nullptr);

/// Removes the files that training with this checkpoint has left. Never throws: left-over ones do no harm.
void remove_checkpoints(const std::filesystem::path& checkpoint);

}  // namespace parsnets
