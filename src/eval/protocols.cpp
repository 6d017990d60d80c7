// Protocols that learn in the field, and learning from samples that need not be in memory together.

#include "eval/protocols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/machine.hpp"
#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "eval/model_data.hpp"
#include "eval/scoring.hpp"
#include "model/field_em.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

// Learning from samples that need not be in memory together.

namespace {

/// Samples to predict at a time: all where they fit into half of what the limit leaves.
std::size_t rows_at_a_time(const Model& model, std::size_t samples, std::uint64_t memory_limit) {
  if (memory_limit == 0) return samples;
  const auto each = 16 * static_cast<double>(model.dimensions) + 16 * static_cast<double>(model.outputs());
  const double room =
      static_cast<double>(memory_limit) - static_cast<double>(held_memory()) - field_bytes(model, samples);
  const auto fitting = static_cast<std::size_t>(std::max(0.0, room / 2 / each));
  return fitting >= samples ? samples : std::max(kScoredRows, fitting / kScoredRows * kScoredRows);
}

/// What Model::predict() gives for `count` samples from `begin` on, n x o; messages count from the first of all on.
Matrix<float> predict_rows(const Model& model, const RowBlocks<float>& samples, std::size_t begin, std::size_t count,
                           std::uint64_t memory_limit, ThreadPool& pool) {
  const std::size_t most = std::min(count, rows_at_a_time(model, count, memory_limit));
  const Predictor predictor(model, nullptr);
  Matrix<float> f(count, model.outputs());
  for (std::size_t first = 0; first < count; first += most) {
    const auto block = samples.block(begin + first, std::min(most, count - first));
    predictor.predict(block, pool, {f.row(first).data(), block.rows(), f.cols()}, {}, begin + first);
  }
  return f;
}

}  // namespace

Adaptation adapt_rows(Model& model, const RowBlocks<float>& samples, const AdaptOptions& options,
                      std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress) {
  const auto predict = [&](std::size_t first, std::size_t count) {
    return predict_rows(model, samples, first, count, memory_limit, pool);
  };
  return adapt_in_batches(model, samples.rows, predict, options, pool, progress);
}

void teach_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, std::uint64_t memory_limit,
                ThreadPool& pool) {
  check_field_samples(model, examples.rows, "examples");
  const std::size_t c = index_of_class(model, name);
  teach_predicted(model, c, predict_rows(model, examples, 0, examples.rows, memory_limit, pool));
}

void add_class_by_rows(Model& model, const std::string& name, const RowBlocks<float>& examples,
                       std::uint64_t memory_limit, ThreadPool& pool) {
  check_field_samples(model, examples.rows, "examples");
  add_class_predicted(model, name, predict_rows(model, examples, 0, examples.rows, memory_limit, pool));
}

double field_bytes(const Model& model, std::size_t samples) {
  const auto outputs = static_cast<double>(model.outputs());
  return scoring_bytes(model.classes.names.size(), model.outputs(), model.dimensions, kScoredRows) +
         static_cast<double>(samples) * (8 * outputs + 48);
}

// Evaluation of copies that were taught examples of the unseen classes.

namespace {

void check(const FewShotOptions& options, const Model& model) {
  if (options.draws < 1 || options.examples.empty() ||
      std::ranges::any_of(options.examples, [](int n) { return n < 1; }))
    throw Error(ErrorCode::usage, "few-shot evaluation: expected numbers of examples and of draws from 1 up");
  if (is_adapted(model) || is_taught(model))
    throw Error(BadInput{"the model", "samples after training", "none", "a model that has been taught or adapted",
                         "use the model as it was trained"});
  if (model.targets != Targets::classes)
    throw Error(ErrorCode::usage, fmt::format("learning in the field needs a model of class space ({})",
                                              option_name("method", "parsnets")));
}

/// The unseen classes of a data set: a model of them alone and their test samples, predicted once.
struct Unseen {
  Model model;                                     ///< its bank is in the order of the classes
  Matrix<float> f;                                 ///< n x o
  std::vector<std::int32_t> labels, classes;       ///< n, places in the bank; 0, 1, ...
  std::vector<std::vector<std::int32_t>> members;  ///< rows of f by class
};

Unseen unseen_of(const Model& model, const Dataset& data, ThreadPool& pool) {
  Unseen out{shared_copy(model), {}, {}, {}, {}};
  const auto unseen = data.unseen_classes();
  std::vector<std::string> others = model.classes.names;
  std::erase_if(others, [&](const std::string& name) {
    return std::ranges::any_of(unseen, [&](auto c) { return data.class_names[static_cast<std::size_t>(c)] == name; });
  });
  if (!others.empty()) out.model.remove_classes(others);
  const auto place = bank_places(out.model.classes.names, data);
  out.classes.resize(unseen.size());
  std::iota(out.classes.begin(), out.classes.end(), 0);
  out.members.resize(unseen.size());
  for (const auto row : data.split.test_unseen) {
    const auto c = place[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(row)])];
    out.members[static_cast<std::size_t>(c)].push_back(static_cast<std::int32_t>(out.labels.size()));
    out.labels.push_back(c);
  }
  out.f = predict_rows(out.model, blocks_of(data.features, data.split.test_unseen), 0, out.labels.size(),
                       data.loaded ? data.loaded->memory_limit : 0, pool);
  return out;
}

/// Percent, of the rows of f that are no examples.
double zsl(const Unseen& unseen, const std::vector<std::int32_t>& rows, ThreadPool& pool) {
  std::vector<std::int32_t> labels;
  for (const auto r : rows) labels.push_back(unseen.labels[static_cast<std::size_t>(r)]);
  AccuracyCount count(unseen.classes.size(), labels, unseen.classes);
  const Matrix<float> f = gather_rows(unseen.f.view(), rows);
  Predictor(unseen.model, pool).compare(f.view(), pool, [&](std::size_t first, MatrixView<const float> scores) {
    count.add(first, scores);
  });
  return count.result().top1_per_class;
}

}  // namespace

FewShotEvaluation evaluate_few_shot(const Model& model, const Dataset& data, const FewShotOptions& options,
                                    ThreadPool& pool, ProgressObserver* progress) {
  check(options, model);
  FewShotEvaluation result;
  result.descriptions_alone = evaluate(model, data, pool, progress).zsl.top1_per_class;
  Unseen unseen = unseen_of(model, data, pool);
  const auto most = static_cast<std::size_t>(std::ranges::max(options.examples));
  for (std::size_t c = 0; c < unseen.members.size(); ++c)
    if (unseen.members[c].size() <= most)
      throw Error(BadInput{data.name, "class '" + unseen.model.classes.names[c] + "'",
                           fmt::format("more than {} test samples", most), std::to_string(unseen.members[c].size()),
                           "draw fewer examples (" + option_name("few-shot") + ")"});
  const std::vector<std::uint8_t> described(unseen.classes.size(), 1), by_examples(unseen.classes.size(), 0);
  std::vector<std::vector<double>> taught(options.examples.size()), alone(options.examples.size());
  for (int draw = 0; draw < options.draws; ++draw) {
    report(progress, {"few-shot", static_cast<std::size_t>(draw), static_cast<std::size_t>(options.draws), "draws"});
    auto members = unseen.members;
    Rng rng(options.seed, static_cast<std::uint64_t>(draw));
    for (auto& rows : members) rng.shuffle(rows);
    for (std::size_t k = 0; k < options.examples.size(); ++k) {
      const auto examples = static_cast<std::size_t>(options.examples[k]);
      unseen.model.classes.taught = {};
      std::vector<std::int32_t> others;
      for (std::size_t c = 0; c < members.size(); ++c) {
        const std::span<const std::int32_t> rows(members[c]);
        teach_predicted(unseen.model, c, gather_rows(unseen.f.view(), rows.first(examples)));
        others.insert(others.end(), rows.begin() + static_cast<std::ptrdiff_t>(examples), rows.end());
      }
      unseen.model.classes.described = described;
      taught[k].push_back(zsl(unseen, others, pool));
      unseen.model.classes.described = by_examples;
      alone[k].push_back(zsl(unseen, others, pool));
    }
  }
  for (std::size_t k = 0; k < options.examples.size(); ++k)
    result.rows.push_back({options.examples[k], confidence_interval(taught[k]), confidence_interval(alone[k])});
  return result;
}

// Evaluation of a copy that has adapted to the test samples.

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
