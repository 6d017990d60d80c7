#pragma once
// Training in progress on disk: refinement after its last step, and folds that are done. Any number of processes can go
// on from there. Files are written atomically by the first process; all processes read them.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/options.hpp"
#include "solvers/descent.hpp"
#include "train/choose_field.hpp"

namespace parsnets {

/// Says whose state a file is: classes, semantics and labels of the data, the samples of the fit (their numbers, and
/// the features of some of them), those it is `judged` by, and the options that steer it.
std::string fit_fingerprint(const Dataset& data, const std::vector<std::int32_t>& rows, const TrainOptions& options,
                            const std::vector<std::int32_t>& judged = {});

/// How far refinement has come, with the networks of `model`.
void save_refinement(const std::filesystem::path& file, const std::string& fingerprint, const DescentPlace& place,
                     const Model& model);
/// Sets the networks of `model`, which have their shapes. Throws bad_input for a damaged file or that of another fit.
DescentPlace load_refinement(const std::filesystem::path& file, const std::string& fingerprint, Model& model);

struct FoldState {
  FoldResult result;
  std::optional<FieldFold> field;
};
void save_fold(const std::filesystem::path& file, const std::string& fingerprint, const FoldState& state);
/// Throws as load_refinement().
FoldState load_fold(const std::filesystem::path& file, const std::string& fingerprint);

/// Whether the first process finds the file. A collective call.
bool first_process_has(const std::filesystem::path& file, Processes* group);

}  // namespace parsnets
