#pragma once
// Two protocols that learn in the field and are kept apart from the zero-shot protocol: transductive and few-shot.

#include <cstdint>
#include <string>
#include <vector>

#include "base/row_blocks.hpp"
#include "eval/metrics.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/field.hpp"

namespace parsnets {

/// Which test samples a model adapts to before it is evaluated on them. Labels are never used.
enum class TransductiveProtocol {
  unseen,  ///< those of unseen classes alone: the model is told that no sample is of a seen class
  mixed    ///< all
};

/// Results of the transductive protocol.
struct TransductiveEvaluation {
  TransductiveProtocol protocol = TransductiveProtocol::mixed;  ///< what it adapted to
  Adaptation adaptation;                                        ///< what moved
  Evaluation before, after;                                     ///< of the model as given, and of its adapted copy
};
/// Adapts a copy of the model to test samples and evaluates it; the model stays as it is. Throws as evaluate() and
/// adapt(), and bad_input for a model that has been adapted or, with mixed, without test samples of seen classes.
TransductiveEvaluation evaluate_transductive(const Model& model, const Dataset& data, ThreadPool& pool,
                                             TransductiveProtocol protocol, ProgressObserver* progress = nullptr);

/// How many examples of each unseen class a model is taught.
struct FewShotOptions {
  std::vector<int> examples = {1, 2, 5, 10};  ///< each at least 1
  int draws = 20;                             ///< of examples, per number of them
  std::uint64_t seed = 1;                     ///< of the draws
};

/// ZSL accuracy (top-1 per class) on the samples that are no examples, over the draws. With one draw sd is nan.
struct FewShotAccuracy {
  int examples = 0;         ///< of each class
  Interval taught;          ///< descriptions and examples
  Interval examples_alone;  ///< the classes known by examples alone: the nearest mean in class space
};

/// Results of the few-shot protocol.
struct FewShotEvaluation {
  double descriptions_alone = 0;      ///< ZSL accuracy without examples, on all unseen test samples
  std::vector<FewShotAccuracy> rows;  ///< in the order of the options
};
/// Teaches a copy of the model examples drawn from the unseen test samples and evaluates it on the others; the model
/// stays as it is. Of one draw, the examples of a smaller number are among those of a larger one. Throws as evaluate()
/// and teach(), usage for options out of range, and bad_input for a model that has been taught or adapted and for
/// unseen classes with too few test samples.
FewShotEvaluation evaluate_few_shot(const Model& model, const Dataset& data, const FewShotOptions& options,
                                    ThreadPool& pool, ProgressObserver* progress = nullptr);

// Learning in the field from samples that need not be in memory together. Without a memory limit (bytes, 0: none), and
// where all samples fit into it, results are those of parsnets/field.hpp to the bit; else they are the same up to
// rounding, since samples are predicted in blocks.

/// As adapt().
Adaptation adapt_rows(Model& model, const RowBlocks<float>& samples, const AdaptOptions& options,
                      std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress = nullptr);
/// As teach().
void teach_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, std::uint64_t memory_limit,
                ThreadPool& pool);
/// As add_class_by_examples().
void add_class_by_rows(Model& model, const std::string& name, const RowBlocks<float>& examples,
                       std::uint64_t memory_limit, ThreadPool& pool);

/// Bytes that these need at least for so many samples.
double field_bytes(const Model& model, std::size_t samples);

}  // namespace parsnets
