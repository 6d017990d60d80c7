#include "parsnets/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/linalg.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/composite.hpp"
#include "model/fit_gates.hpp"
#include "model/scoring.hpp"
#include "parsnets/error.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets {

namespace {

/// Preprocessed rows of raw input.
Matrix<float> prepared(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  if (x.cols() != model.dimensions)
    throw Error(BadInput{"input", "features", fmt::format("{} per sample, as in training", model.dimensions),
                         std::to_string(x.cols()), "use the features of the training data"});
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x.data()[i]))
      throw Error(BadInput{"input", fmt::format("sample {}, feature {}", i / x.cols(), i % x.cols()), "a finite number",
                           fmt::format("{}", x.data()[i]), "remove or replace the value"});
  Matrix<float> rows = Matrix<float>::copy_of(x);
  pool.parallel_for(rows.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r = begin; r < end; ++r) model.feature_preprocess.apply(rows.row(r));
  });
  return rows;
}

struct Encoded {
  Matrix<float> x, e;  ///< e is empty when the encoder is the identity
  MatrixView<const float> embedding() const { return e.empty() ? x.view() : e.view(); }
};

Encoded encode_all(const Model& model, MatrixView<const float> x, ThreadPool& pool) {
  Encoded out;
  out.x = prepared(model, x, pool);
  if (!model.encoder.is_identity()) out.e = encoded(model.encoder, out.x.view(), pool);
  return out;
}

MatrixView<const float> network_input(const Model& model, const Encoded& encoded) {
  return model.networks_see_encoding ? encoded.embedding() : encoded.x.view();
}

struct Predicted {
  Matrix<float> f;             ///< n x m
  Matrix<std::uint16_t> open;  ///< n x k
};

Predicted predict_encoded(const Model& model, const Encoded& input, ThreadPool& pool) {
  Predicted out;
  out.open = open_networks(model.gates, input.embedding(), pool);
  out.f = compose(network_input(model, input), out.open.view(), model.gates.networks, model.networks.view(), model.bias,
                  model.relu, pool);
  if (!model.shared.empty())
    multiply(pool, Trans::no, input.x.view(), Trans::no, model.shared.view(), out.f.view(), 1, 1);
  return out;
}

/// Subtracts the model's semantic centre from every row, for cosine alone.
void centre_rows(const Model& model, MatrixView<float> rows) {
  if (model.similarity != Similarity::cosine || model.semantic_centre.empty()) return;
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t a = 0; a < rows.cols(); ++a) rows(r, a) -= model.semantic_centre[a];
}

/// Rows of class space as rows of attribute space.
Matrix<float> expanded(const Model& model, Matrix<float> rows) {
  if (model.semantic_preprocess.whitening.empty()) return rows;
  Matrix<float> out(rows.rows(), model.attributes());
  for (std::size_t r = 0; r < rows.rows(); ++r) model.semantic_preprocess.expand(rows.row(r), out.row(r));
  return out;
}

/// What each attribute of class c, as prepared, gives to its score; `rest` is what the prototypes add.
std::vector<double> attribute_terms(const Model& model, std::span<const float> f, const Matrix<float>& bank,
                                    std::size_t c, double& rest) {
  const std::size_t m = model.attributes();
  std::vector<float> in_attributes(m), vector(m);
  model.semantic_preprocess.expand(f, in_attributes);
  model.semantic_preprocess.expand(bank.row(c), vector);
  std::vector<double> terms = similarity_terms(model.similarity, in_attributes, vector);
  rest = 0;
  if (model.similarity != Similarity::cosine) return terms;
  double score = 0;
  for (const double t : terms) score += t;
  // Before prototypes the class vector is linear in the attributes: b = U(a − centre), so fᵀb = Σ_j (Uᵀf)_j (a −
  // centre)_j.
  std::vector<float> a(model.classes.semantics.row(c).begin(), model.classes.semantics.row(c).end()), b(f.size());
  model.semantic_preprocess.apply(a);
  model.semantic_preprocess.whiten(a, b);
  centre_rows(model, {b.data(), 1, b.size()});
  const auto& whitening = model.semantic_preprocess.whitening;
  const double lengths = std::sqrt(dot(f, f) * dot(b, b)) *
                         (model.prototypes.support.empty() ? 1 : std::sqrt(dot(bank.row(c), bank.row(c))));
  if (lengths == 0) return terms;
  rest = score;
  for (std::size_t j = 0; j < m; ++j) {
    double weight = whitening.empty() ? f[j] : 0;
    for (std::size_t i = 0; !whitening.empty() && i < f.size(); ++i)
      weight += static_cast<double>(f[i]) * whitening[i * m + j];
    const float centre = !whitening.empty()              ? model.semantic_preprocess.whitening_centre[j]
                         : model.semantic_centre.empty() ? 0.0f
                                                         : model.semantic_centre[j];
    rest -= terms[j] = weight * (static_cast<double>(a[j]) - centre) / lengths;
  }
  return terms;
}

/// What predictions are compared with, of some rows of the class bank.
Matrix<float> class_vectors_of(const Model& model, MatrixView<const float> semantics) {
  Matrix<float> bank = preprocessed_semantics(model.semantic_preprocess, semantics);
  if (model.direction != Direction::forward) return bank;
  centre_rows(model, bank.view());
  for (std::size_t c = 0; c < bank.rows(); ++c) model.prototypes.apply(bank.row(c));
  return bank;
}

/// Prototypes of all classes in feature space: A R + r.
Matrix<float> feature_prototypes(const Model& model, MatrixView<const float> semantics, ThreadPool& pool) {
  const std::size_t m = model.outputs();
  Matrix<float> out(semantics.rows(), model.reverse.cols());
  const auto offset = model.reverse.row(m);
  for (std::size_t c = 0; c < out.rows(); ++c) std::copy(offset.begin(), offset.end(), out.row(c).begin());
  multiply(pool, Trans::no, semantics, Trans::no, {model.reverse.data(), m, model.reverse.cols()}, out.view(), 1, 1);
  return out;
}

void check_prepared(const Model& model, const PreparedClasses& prepared) {
  if (prepared.vectors.rows() != model.classes.names.size() || prepared.squares.size() != model.classes.names.size())
    throw Error(ErrorCode::usage, "the prepared classes do not belong to this model; prepare them again");
}

/// Rows of scores against so many classes that are made at a time: some 32 MB of them.
std::size_t rows_at_a_time(std::size_t classes) {
  constexpr std::size_t kBytes = std::size_t{32} << 20, kFewest = 2 * kMultiplyRows;
  return std::max(kFewest, kBytes / sizeof(float) / std::max<std::size_t>(classes, 1) / kMultiplyRows * kMultiplyRows);
}

void require_finite(const Matrix<float>& scores) {
  for (const float s : scores.values())
    if (!std::isfinite(s))
      throw Error(BadInput{"the model", "weights", "finite scores for finite features", fmt::format("{}", s),
                           "train it again"});
}

/// similarities() to the bit, some rows at a time.
template <class Check>
void visit_similarities(Similarity kind, MatrixView<const float> rows, const PreparedClasses& prepared,
                        ThreadPool& pool, const ScoreVisitor& visit, const Check& check) {
  const std::size_t most = rows_at_a_time(prepared.vectors.rows());
  for (std::size_t first = 0; first < rows.rows(); first += most) {
    const MatrixView<const float> some(rows.row(first).data(), std::min(most, rows.rows() - first), rows.cols());
    const Matrix<float> scores = similarities(kind, some, prepared.vectors.view(), prepared.squares, pool);
    check(scores);
    visit(first, scores.view());
  }
}

/// Scores of predicted class vectors (n x q).
Matrix<float> compare(const Model& model, MatrixView<const float> f, const PreparedClasses& prepared,
                      ThreadPool& pool) {
  Matrix<float> centred = Matrix<float>::copy_of(f);
  centre_rows(model, centred.view());
  Matrix<float> scores =
      similarities(model.similarity, centred.view(), prepared.vectors.view(), prepared.squares, pool);
  require_finite(scores);
  return scores;
}

}  // namespace

void Prototypes::apply(std::span<float> a) const {
  const double length = std::sqrt(dot(a, a));
  if (support.empty() || length == 0) return;
  std::vector<double> sum(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) sum[j] = a[j] / length;
  for (std::size_t s = 0; s < support.rows(); ++s) {
    const double likeness = std::exp((dot(a, support.row(s)) / length - 1) / (width * width));
    for (std::size_t j = 0; j < a.size(); ++j) sum[j] += likeness * weights(s, j);
  }
  for (std::size_t j = 0; j < a.size(); ++j) a[j] = static_cast<float>(sum[j]);
}

Matrix<float> Model::predict(MatrixView<const float> x, ThreadPool& pool) const {
  if (direction != Direction::forward)
    throw Error(ErrorCode::usage, "this model maps semantics to features and cannot predict semantics");
  return predict_encoded(*this, encode_all(*this, x, pool), pool).f;
}

Matrix<float> Model::predict_semantics(MatrixView<const float> x, ThreadPool& pool) const {
  return expanded(*this, predict(x, pool));
}

Matrix<float> Model::class_vectors() const { return class_vectors_of(*this, classes.semantics.view()); }

PreparedClasses Model::prepare_classes(ThreadPool& pool) const {
  PreparedClasses prepared;
  prepared.vectors = class_vectors();
  if (direction != Direction::forward) prepared.vectors = feature_prototypes(*this, prepared.vectors.view(), pool);
  prepared.squares = squared_lengths(prepared.vectors.view());
  return prepared;
}

PreparedClasses Model::prepare_added_classes(const PreparedClasses& before, ThreadPool& pool) const {
  const std::size_t known = before.vectors.rows(), all = classes.names.size(), m = attributes();
  // Reverse models multiply matrices, whose last bits depend on how many rows there are.
  if (direction != Direction::forward || known > all) return prepare_classes(pool);
  const Matrix<float> added = class_vectors_of(*this, {classes.semantics.data() + known * m, all - known, m});
  PreparedClasses prepared{Matrix<float>(all, outputs()), before.squares};
  std::ranges::copy(before.vectors.values(), prepared.vectors.data());
  std::ranges::copy(added.values(), prepared.vectors.data() + before.vectors.size());
  for (const float square : squared_lengths(added.view())) prepared.squares.push_back(square);
  return prepared;
}

Matrix<float> Model::score_predictions(MatrixView<const float> f, ThreadPool& pool) const {
  return compare(*this, f, prepare_classes(pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, ThreadPool& pool) const {
  return scores(x, prepare_classes(pool), pool);
}

Matrix<float> Model::scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool) const {
  check_prepared(*this, prepared);
  if (direction == Direction::forward) return compare(*this, predict(x, pool).view(), prepared, pool);
  const Encoded input = encode_all(*this, x, pool);
  return similarities(similarity, network_input(*this, input), prepared.vectors.view(), prepared.squares, pool);
}

void Model::visit_scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool,
                         const ScoreVisitor& visit) const {
  check_prepared(*this, prepared);
  if (direction == Direction::forward) return visit_prediction_scores(predict(x, pool).view(), prepared, pool, visit);
  const Encoded input = encode_all(*this, x, pool);
  visit_similarities(similarity, network_input(*this, input), prepared, pool, visit, [](const Matrix<float>&) {});
}

void Model::visit_prediction_scores(MatrixView<const float> f, const PreparedClasses& prepared, ThreadPool& pool,
                                    const ScoreVisitor& visit) const {
  check_prepared(*this, prepared);
  Matrix<float> centred = Matrix<float>::copy_of(f);
  centre_rows(*this, centred.view());
  visit_similarities(similarity, centred.view(), prepared, pool, visit, require_finite);
}

void Model::add_class(const std::string& name, std::span<const float> semantics) {
  add_classes({&name, 1}, {semantics.data(), 1, semantics.size()});
}

void Model::add_classes(std::span<const std::string> names, MatrixView<const float> semantics) {
  std::unordered_set<std::string_view> known(classes.names.begin(), classes.names.end());
  for (std::size_t c = 0; c < names.size(); ++c) {
    const std::string& name = names[c];
    if (name.empty() || !known.insert(name).second)
      throw Error(BadInput{"class '" + name + "'", "name", "a new, non-empty name",
                           name.empty() ? "none" : "a class of that name",
                           "choose another name or remove the class first"});
    if (semantics.cols() != attributes())
      throw Error(BadInput{"class '" + name + "'", "attributes", fmt::format("{} values", attributes()),
                           std::to_string(semantics.cols()), ""});
    for (std::size_t a = 0; a < semantics.cols(); ++a)
      if (!std::isfinite(semantics(c, a)))
        throw Error(BadInput{"class '" + name + "'",
                             a < attribute_names.size() ? attribute_names[a] : fmt::format("attribute {}", a + 1),
                             "a finite number", fmt::format("{}", semantics(c, a)), ""});
  }
  const std::size_t before = classes.names.size(), after = before + names.size();
  Matrix<float> grown(after, attributes());
  std::ranges::copy(classes.semantics.values(), grown.data());
  std::ranges::copy(semantics.values(), grown.data() + classes.semantics.size());
  std::vector<std::string> all;
  all.reserve(after);
  classes.seen.reserve(after);
  all = classes.names;
  all.insert(all.end(), names.begin(), names.end());  // the last step that can fail
  classes.names = std::move(all);
  classes.seen.resize(after, 0);
  classes.semantics = std::move(grown);
}

void Model::remove_class(const std::string& name) { remove_classes({&name, 1}); }

void Model::remove_classes(std::span<const std::string> names) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t c = 0; c < classes.names.size(); ++c) places.emplace(classes.names[c], c);
  std::vector<std::uint8_t> goes(classes.names.size(), 0);
  for (const auto& name : names) {
    const auto found = places.find(name);
    if (found == places.end())
      throw Error(BadInput{"class '" + name + "'", "name", "a class of the model", "none of that name",
                           "check the names of the model's classes"});
    if (places.size() == 1)
      throw Error(BadInput{"class '" + name + "'", "", "a model that keeps at least one class", "its last class", ""});
    goes[found->second] = 1;
    places.erase(found);
  }
  Matrix<float> shrunk(places.size(), attributes());
  ClassBank left;
  for (std::size_t c = 0; c < goes.size(); ++c) {
    if (goes[c]) continue;
    std::ranges::copy(classes.semantics.row(c), shrunk.row(left.names.size()).begin());
    left.names.push_back(classes.names[c]);
    left.seen.push_back(classes.seen[c]);
  }
  left.semantics = std::move(shrunk);
  classes = std::move(left);
}

Explanation explain(const Model& model, std::span<const float> x, ThreadPool& pool) {
  return explain(model, x, model.prepare_classes(pool), pool);
}

Explanation explain(const Model& model, std::span<const float> x, const PreparedClasses& prepared, ThreadPool& pool) {
  check_prepared(model, prepared);
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage, "only models that predict semantics can be explained by attribute");
  const MatrixView<const float> sample(x.data(), 1, x.size());
  const Encoded input = encode_all(model, sample, pool);
  auto [f, open] = predict_encoded(model, input, pool);
  const Matrix<float>& bank = prepared.vectors;
  std::vector<float> predicted(model.attributes());
  model.semantic_preprocess.expand(f.row(0), predicted);
  centre_rows(model, f.view());
  Matrix<float> scores = similarities(model.similarity, f.view(), bank.view(), prepared.squares, pool);
  RankedClass best[2];
  const std::size_t ranked = Ranking(model).best(scores.row(0), best);
  Explanation result;
  const RankedClass& second = best[ranked > 1 ? 1 : 0];
  result.winner = best[0].class_index;
  result.runner_up = second.class_index;
  result.winner_score = best[0].score;
  result.runner_up_score = second.score;
  const auto penalty = [&](std::int32_t c) {
    return model.classes.seen[static_cast<std::size_t>(c)] ? model.gamma : 0.0;
  };
  result.calibration = penalty(result.runner_up) - penalty(result.winner);
  result.predicted = std::move(predicted);
  result.open_networks.assign(open.row(0).begin(), open.row(0).end());
  double own = 0, other = 0;
  const auto win = attribute_terms(model, f.row(0), bank, static_cast<std::size_t>(result.winner), own),
             lose = attribute_terms(model, f.row(0), bank, static_cast<std::size_t>(result.runner_up), other);
  result.prototypes = own - other;
  for (std::size_t a = 0; a < win.size(); ++a) result.attributes.push_back({a, win[a] - lose[a]});
  std::stable_sort(
      result.attributes.begin(), result.attributes.end(),
      [](const Contribution& a, const Contribution& b) { return std::abs(a.amount) > std::abs(b.amount); });
  return result;
}

}  // namespace parsnets
