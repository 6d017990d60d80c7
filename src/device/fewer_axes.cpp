#include "device/fewer_axes.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "model/field_em.hpp"
#include "model/prediction.hpp"

namespace parsnets {

namespace {

/// The `count` principal axes of the rows, about zero; count x n.
Matrix<float> principal_axes(const Matrix<float>& rows, std::size_t count, ThreadPool& pool) {
  Matrix<double> gram(rows.cols(), rows.cols(), 0.0);
  add_gram_of_columns(pool, rows.view(), 1, gram.view());
  return to_float(largest_eigenpairs(gram.view(), count).vectors.view());
}

/// Rows become their coordinates on the axes.
void move(MatrixView<const float> rows, const Matrix<float>& axes, Matrix<float>& out, ThreadPool& pool) {
  if (!rows.empty()) out = product(pool, Trans::no, rows, Trans::yes, axes);
}

void move(std::vector<float>& row, const Matrix<float>& axes, ThreadPool& pool) {
  Matrix<float> out;
  move({row.data(), row.empty() ? 0u : 1u, row.size()}, axes, out, pool);
  row.assign(out.values().begin(), out.values().end());
}

/// Of maps one below the other, each with a row for every input and one for the offset: inputs become those on the
/// axes.
Matrix<float> with_inputs(const Matrix<float>& maps, const Matrix<float>& axes, bool offset_first, ThreadPool& pool) {
  const std::size_t n = axes.cols(), kept = axes.rows(), o = maps.cols(), first = offset_first ? 1 : 0;
  const std::size_t count = maps.rows() / (n + 1);
  Matrix<float> out(count * (kept + 1), o);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * (n + 1), to = i * (kept + 1);
    std::ranges::copy(maps.row(offset_first ? from : from + n), out.row(offset_first ? to : to + kept).begin());
    multiply<float>(pool, Trans::no, axes.view(), Trans::no, {maps.row(from + first).data(), n, o},
                    {out.row(to + first).data(), kept, o});
  }
  return out;
}

void keep_outputs(Model& out, std::size_t count, ThreadPool& pool) {
  Matrix<float> unit = out.class_vectors();
  unit_rows(unit.view());
  const Matrix<float> axes = principal_axes(unit, count, pool);
  for (Matrix<float>* rows : {&out.networks, &out.shared, &out.prototypes.weights, &out.classes.means,
                              &out.classes.taught.sums, &out.classes.adapted.sums})
    move(rows->view(), axes, *rows, pool);
  move(out.bias, axes, pool);
  move(out.semantic_centre, axes, pool);
  out.attribute_head = with_inputs(out.attribute_head, axes, false, pool);
  out.field.least_length = 0;  // of vectors with all axes
}

void keep_encoding(Model& out, std::size_t count, ThreadPool& pool) {
  const Matrix<float> axes = principal_axes(out.gates.anchors, count, pool);
  move(out.gates.anchors.view(), axes, out.gates.anchors, pool);
  out.encoder.weights = product(pool, Trans::no, axes, Trans::no, out.encoder.weights);
  if (out.networks_see_encoding) out.networks = with_inputs(out.networks, axes, true, pool);
}

}  // namespace

bool can_lose_outputs(const Model& model) { return model.targets == Targets::classes && model.rejection.empty(); }

bool can_lose_encoding(const Model& model) { return !model.encoder.is_identity() && !model.gates.anchors.empty(); }

Model with_fewer_axes(const Model& model, const ExportCandidate& shares, ThreadPool& pool) {
  const auto part = [](double share, std::size_t all) {
    return static_cast<std::size_t>(std::ceil(share * static_cast<double>(all)));
  };
  Model out = shared_copy(model);
  if (shares.class_space < 1 && can_lose_outputs(model))
    keep_outputs(out, part(shares.class_space, model.outputs()), pool);
  if (shares.encoding < 1 && can_lose_encoding(model))
    keep_encoding(out, part(shares.encoding, model.encoder.weights.rows()), pool);
  return out;
}

}  // namespace parsnets
