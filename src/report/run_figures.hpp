#pragma once
// The figures of one run, as the page wants them. Shapes of the JSON: docs/report.md.

#include <nlohmann/json.hpp>
#include <optional>

#include "parsnets/evaluation.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/training.hpp"
#include "report/report.hpp"

namespace parsnets {

/// A class or sample number as an index.
inline std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

using Json = nlohmann::ordered_json;

/// What the figures of a run share, computed once.
struct RunSamples {
  std::vector<std::int32_t> bank;          ///< class of the data set to its place in the model's bank, or -1
  std::vector<std::int32_t> rows, labels;  ///< test samples, unseen first, and their classes in the data set
  std::size_t unseen = 0;                  ///< how many of them are of unseen classes
  Matrix<float> prepared;                  ///< n x d features as the model prepares them
  Matrix<float> mapped;            ///< n x q predicted class vectors, centred as scoring does; empty: reverse model
  Matrix<float> scores;            ///< n x C of the model's bank
  std::optional<Ranking> ranking;  ///< of the classes that compete in the evaluation
  std::vector<std::int32_t> predicted;  ///< best class of the bank
};
/// To four digits, as the page wants its numbers.
double rounded(double value);

/// Of at most `most` test samples, evenly spread over both lists; 0: all.
RunSamples run_samples(const Model& model, const Dataset& data, std::size_t most, ThreadPool& pool,
                       ProgressObserver* progress);

/// `options`: those of the model; `recorded`: run.json.
Json summary_json(const Model& model, const Dataset& data, const Evaluation& test, const Json& options,
                  const Json& recorded);
/// At most `most` points of the trade-off curve; the first, the last and the one in force at gamma are kept.
Json curve_json(const Gzsl& gzsl, std::size_t most);
Json per_class_json(const Evaluation& test, const Dataset& data);
Json confusion_json(const Evaluation& test, const Model& model, const Dataset& data, const RunSamples& samples);
/// Null without gates.
Json gates_json(const Model& model, const Dataset& data, const RunSamples& samples, ThreadPool& pool);
/// With the times of the SVR's passes, which are in run.json.
Json training_json(const Model& model, const Json& recorded);
/// Null for reverse models, which predict no attributes.
Json attributes_json(const Model& model, const Dataset& data, const RunSamples& samples, ThreadPool& pool);
Json explanations_json(const Model& model, const Dataset& data, const RunSamples& samples, int count, ThreadPool& pool);

// Unseen classes where the model expects them, beside where their test samples lie. Test labels are read to show this,
// after training.

struct UnseenPlaces {
  std::vector<std::int32_t> classes;  ///< u, unseen classes of the data set that have test samples, ascending
  Matrix<float> places;               ///< u x o, class vectors of the model
  Matrix<float> means;                ///< u x o, means of the mapped test samples
};
/// Nothing (u = 0) for models that do not compare class vectors by cosine.
UnseenPlaces unseen_places(const Model& model, const RunSamples& samples);

/// Cosines of each mean with its own place and with the nearest places of other classes. Null for u = 0.
Json places_json(const Model& model, const Dataset& data, const RunSamples& samples, const UnseenPlaces& unseen);

}  // namespace parsnets
