// Evaluation of a copy that has adapted to the test samples.

#include "eval/field_rows.hpp"
#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

TransductiveEvaluation evaluate_transductive(const Model& model, const Dataset& data, ThreadPool& pool,
                                             TransductiveProtocol protocol, ProgressObserver* progress) {
  if (is_adapted(model))
    throw Error(BadInput{"the model", "unlabelled samples", "none: it adapts to the test samples alone",
                         "a model that has been adapted", "undo the adaptation or use the model as it was trained"});
  if (protocol == TransductiveProtocol::mixed && data.split.test_seen.empty())
    throw Error(BadInput{data.name, "split", "test samples of seen classes", "none",
                         "use " + option_name("transductive", "unseen")});
  TransductiveEvaluation result{protocol, {}, evaluate(model, data, pool, progress), {}};
  std::vector<std::int32_t> rows = data.split.test_unseen;
  if (protocol == TransductiveProtocol::mixed)
    rows.insert(rows.end(), data.split.test_seen.begin(), data.split.test_seen.end());
  Model copy = shared_copy(model);
  report(progress, {"adapt", 0, rows.size(), "samples"});
  result.adaptation =
      adapt_rows(copy, blocks_of(data.features, rows), {}, data.loaded ? data.loaded->memory_limit : 0, pool);
  result.after = evaluate(copy, data, pool, progress);
  result.after.warnings = result.before.warnings;  // that it was adapted is what the protocol says
  return result;
}

}  // namespace parsnets
