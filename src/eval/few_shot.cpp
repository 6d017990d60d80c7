// Evaluation of copies that were taught examples of the unseen classes.

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.hpp"
#include "data/rows.hpp"
#include "eval/counts.hpp"
#include "eval/field_rows.hpp"
#include "eval/model_data.hpp"
#include "model/copy.hpp"
#include "model/teaching.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

namespace {

void check(const FewShotOptions& options, const Model& model) {
  if (options.draws < 1 || options.examples.empty() ||
      std::ranges::any_of(options.examples, [](int n) { return n < 1; }))
    throw Error(ErrorCode::usage, "few-shot evaluation: expected numbers of examples and of draws from 1 up");
  if (is_adapted(model) || std::ranges::any_of(model.classes.taught.samples, [](float n) { return n > 0; }))
    throw Error(BadInput{"the model", "samples after training", "none", "a model that has been taught or adapted",
                         "use the model as it was trained"});
  if (model.targets != Targets::classes)
    throw Error(ErrorCode::usage, fmt::format("learning in the field needs a model of class space ({})",
                                              option_name("targets", "classes")));
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
  std::vector<std::string> others;
  const auto unseen = data.unseen_classes();
  for (const auto& name : model.classes.names)
    if (std::ranges::none_of(unseen,
                             [&](std::int32_t c) { return data.class_names[static_cast<std::size_t>(c)] == name; }))
      others.push_back(name);
  if (!others.empty()) out.model.remove_classes(others);
  std::vector<std::int32_t> place(data.classes(), -1);
  for (const auto c : unseen) {
    const auto& names = out.model.classes.names;
    place[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(
        std::ranges::find(names, data.class_names[static_cast<std::size_t>(c)]) - names.begin());
    out.classes.push_back(static_cast<std::int32_t>(out.classes.size()));
  }
  out.members.resize(unseen.size());
  for (const auto row : data.split.test_unseen) {
    const auto c = place[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(row)])];
    out.members[static_cast<std::size_t>(c)].push_back(static_cast<std::int32_t>(out.labels.size()));
    out.labels.push_back(c);
  }
  out.f = predict_rows(out.model, blocks_of(data.features, data.split.test_unseen),
                       data.loaded ? data.loaded->memory_limit : 0, pool);
  return out;
}

/// Percent, of the rows of f that are no examples.
double zsl(const Unseen& unseen, const std::vector<std::int32_t>& rows, ThreadPool& pool) {
  std::vector<std::int32_t> labels;
  for (const auto r : rows) labels.push_back(unseen.labels[static_cast<std::size_t>(r)]);
  AccuracyCount count(unseen.classes.size(), labels, unseen.classes);
  const Matrix<float> f = gather_rows(unseen.f.view(), rows);
  unseen.model.visit_prediction_scores(
      f.view(), unseen.model.prepare_classes(pool), pool,
      [&](std::size_t first, MatrixView<const float> scores) { count.add(first, scores); });
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

}  // namespace parsnets
