#include "train/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "data/sample_set.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

double mean_eigenvalue(MatrixView<const float> x) {
  std::vector<double> mean(x.cols(), 0.0);
  double squares = 0;
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < x.cols(); ++c) {
      mean[c] += x(r, c);
      squares += static_cast<double>(x(r, c)) * x(r, c);
    }
  for (const double sum : mean) squares -= sum * sum / static_cast<double>(x.rows());
  return std::max(squares, 1e-12) / static_cast<double>(x.cols());
}

namespace {

/// The same from sums.
double mean_eigenvalue(const Statistics& s) {
  double squares = 0;
  for (std::size_t j = 0; j < s.dimensions(); ++j) {
    double square = 0, sum = 0;
    for (const auto& products : s.group_products()) square += products(j, j);
    for (std::size_t c = 0; c < s.class_sums().rows(); ++c) sum += s.class_sums()(c, j);
    squares += square - sum * sum / s.weight();
  }
  return std::max(squares, 1e-12) / static_cast<double>(s.dimensions());
}

/// Blocks of neighbouring rows are read from a file in one go.
std::vector<std::int32_t> own_rows(std::vector<std::int32_t> rows, const SamplePlace& place) {
  if (place.kept && place.size() == 1) return rows;
  std::ranges::sort(rows);
  if (place.size() == 1) return rows;
  const Share own = place.group->share(rows.size());
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(own.first);
  return {first, first + static_cast<std::ptrdiff_t>(own.count)};
}

}  // namespace

Stages::Stages(const Dataset& d, std::vector<std::int32_t> r, ThreadPool& p, ProgressObserver* o, SamplePlace where,
               Stages* whole)
    : data(d),
      place(where),
      all_rows(std::move(r)),
      rows(own_rows(all_rows, where)),
      labels(labels_of(data, rows)),
      classes(distinct(labels_of(data, all_rows))),
      pool(p),
      progress(o),
      whole_(whole) {
  if (classes.size() < 2)
    throw Error(BadInput{data.name, "split", "training samples of at least two classes",
                         fmt::format("{} samples of {} classes", all_rows.size(), classes.size()), "check the split"});
  if (all_rows.size() < place.size())
    throw Error(BadInput{data.name, "split",
                         fmt::format("at least one training sample for each of {} processes", place.size()),
                         fmt::format("{} samples", all_rows.size()), "use fewer processes"});
  if (whole_ == nullptr || !place.kept || place.size() > 1) return;
  std::vector<std::int32_t> own = all_rows, all = whole_->all_rows;
  std::ranges::sort(own);
  std::ranges::sort(all);
  std::ranges::set_difference(all, own, std::back_inserter(missing_));
  if (missing_.size() > own.size() / 2) missing_.clear();  // to add the own ones costs little more
}

void Stages::require_all_samples(std::string_view option, std::string_view value) const {
  if (!place.kept || place.size() > 1)
    throw Error(ErrorCode::usage,
                fmt::format("{} requires all samples in the memory of one process", option_name(option, value)));
}

void Stages::release_inputs() {
  class_space_.drop();
  inputs_.drop();
}

Matrix<float> Stages::prepared(FeatureScaling scaling, std::span<const std::int32_t> some_rows) {
  return preprocessed_rows(inputs(scaling).preprocess, data.features.view(), some_rows, pool);
}

Inputs Stages::without_missing(FeatureScaling scaling) {
  const Inputs& all = whole_->inputs(scaling);
  Inputs made{all.preprocess, {}, all.sums.copy()};
  std::vector<std::int32_t> every(missing_.size());
  std::iota(every.begin(), every.end(), 0);
  const Matrix<float> left_out = preprocessed_rows(all.preprocess, data.features.view(), missing_, pool);
  made.sums.remove(left_out.view(), labels_of(data, missing_), every, pool);
  std::vector<double> moved(data.features.cols());
  const Matrix<double>& sums = made.sums.class_sums();
  for (std::size_t j = 0; j < moved.size(); ++j) {
    double sum = 0;
    for (const auto c : classes) sum += sums(static_cast<std::size_t>(c), j);
    const float before = made.preprocess.mean[j];
    made.preprocess.mean[j] = static_cast<float>(before + sum / made.sums.weight());
    moved[j] = static_cast<double>(made.preprocess.mean[j]) - before;
  }
  made.sums.move_origin(moved, pool);
  made.x = preprocessed_rows(made.preprocess, data.features.view(), rows, pool);
  made.scale = mean_eigenvalue(made.sums);
  return made;
}

const Inputs& Stages::inputs(FeatureScaling scaling) {
  return inputs_.get(scaling, [&] {
    report(progress, {"prepare features", 0, 0, ""});
    // Where features are standardized, the factors differ, too.
    if (!missing_.empty() && scaling != FeatureScaling::standardize) return without_missing(scaling);
    const std::size_t size = place.kept ? rows.size() : place.block_rows;
    const ChosenRows raw = [&](const auto& take) {
      visit_row_blocks(data, rows, size, [&](std::size_t, std::span<const std::int32_t> block) { take(block); });
    };
    Inputs made{fit_feature_preprocess(scaling, data.features.view(), raw, place.group, pool),
                {},
                Statistics(FeatureScaling::none, data.class_names, data.features.cols())};
    visit_row_blocks(data, rows, size, [&](std::size_t first, std::span<const std::int32_t> block) {
      report(progress, {"statistics", first, rows.size(), "samples"});
      Matrix<float> x = preprocessed_rows(made.preprocess, data.features.view(), block, pool);
      std::vector<std::int32_t> all(block.size());
      std::iota(all.begin(), all.end(), 0);
      made.sums.add(x.view(), std::span(labels).subspan(first, block.size()), all, pool);
      if (place.kept) made.x = std::move(x);
    });
    if (place.group != nullptr) made.sums.sum_over(*place.group);
    made.scale = mean_eigenvalue(made.sums);
    return made;
  });
}

const ClassSpace& Stages::class_space(FeatureScaling scaling) {
  return class_space_.get(scaling, [&] { return ClassSpace(inputs(scaling).sums, pool); });
}

const ClassMap& Stages::class_map(FeatureScaling scaling, double shrinkage) {
  return class_map_.get({scaling, shrinkage}, [&] { return class_space(scaling).solve(shrinkage, pool); });
}

const Cholesky<float>& Stages::class_preconditioner(FeatureScaling scaling, double shrinkage) {
  return preconditioner_.get({scaling, shrinkage},
                             [&] { return class_space(scaling).preconditioner(shrinkage, pool); });
}

const Encoding& Stages::encoding(const EncoderRequest& request) {
  return encoding_.get(request, [&] {
    report(progress, {"encode", 0, 0, ""});
    const EncoderOptions options{
        .dimensions = request.dimensions, .random_rotation = request.random_rotation, .seed = request.seed};
    Encoding made{fit_encoder(options, all_rows.size(), class_space(request.scaling).products(pool).view(), pool), {}};
    if (!place.kept && !place.keeps_encodings) return made;
    made.e = Matrix<float>(rows.size(), made.encoder.weights.rows());
    blocks(request.scaling)([&](const SampleBlock& block) {
      Matrix<float> part = encoded(made.encoder, block.x, pool);
      if (part.rows() == made.e.rows())
        made.e = std::move(part);
      else
        std::ranges::copy(part.values(), made.e.row(block.first).begin());
    });
    return made;
  });
}

Gating& Stages::gating(const GateRequest& request) {
  return gating_.get(request, [&] {
    const Encoding& coded = encoding(request.encoder);
    const auto encodings = [&](std::span<const std::size_t> samples) {
      std::vector<std::int32_t> wanted;
      const bool here = place.size() == 1 && place.kept;
      for (const std::size_t i : samples) wanted.push_back(here ? static_cast<std::int32_t>(i) : all_rows[i]);
      return here ? gather_rows(coded.e.view(), wanted)
                  : encoded(coded.encoder, prepared(request.encoder.scaling, wanted).view(), pool);
    };
    Gating made{fit_gates(request.gates, all_rows.size(), coded.encoder.weights.rows(), encodings, pool), {}, {}};
    if (!coded.e.empty()) made.active = open_networks(made.gates, coded.e.view(), pool);
    return made;
  });
}

TargetVectors Stages::targets(const SemanticOptions& semantics) const {
  TargetVectors made;
  made.preprocess = fit_semantic_preprocess(semantics, data.semantics, classes, false);
  made.vectors = preprocessed_semantics(made.preprocess, data.semantics.values.view());
  for (std::size_t a = 0; a < made.vectors.cols(); ++a) {
    double sum = 0;
    for (const auto c : classes) sum += made.vectors(static_cast<std::size_t>(c), a);
    made.centre.push_back(static_cast<float>(sum / static_cast<double>(classes.size())));
  }
  return made;
}

SummedSamples Stages::sums(FeatureScaling scaling, const TargetVectors& targets) {
  return {inputs(scaling).sums, targets.vectors.view()};
}

SampleBlocks Stages::blocks(FeatureScaling scaling, const GateRequest* gates, bool z_is_x) {
  return [this, scaling, z_is_x, request = gates == nullptr ? std::nullopt : std::optional(*gates)](const auto& take) {
    const Inputs& in = inputs(scaling);
    std::vector<std::uint64_t> counts;
    if (request) counts.assign(gating(*request).gates.networks, 0);
    const auto hand_out = [&](std::size_t first, MatrixView<const float> x) {
      SampleBlock block{first, x, {}, {}, std::span(labels).subspan(first, x.rows())};
      if (!request) return take(block);
      const Encoding& coded = encoding(request->encoder);
      const Gating& chosen = gating(*request);
      Matrix<float> e;
      Matrix<std::uint16_t> active;
      if (coded.e.empty()) {
        e = encoded(coded.encoder, x, pool);
        active = open_networks(chosen.gates, e.view(), pool);
        block.open = active.view();
        block.z = e.view();
      } else {
        block.open = {chosen.active.row(first).data(), x.rows(), chosen.active.cols()};
        block.z = {coded.e.row(first).data(), x.rows(), coded.e.cols()};
      }
      if (z_is_x) block.z = x;
      for (const std::uint16_t i : block.open.values()) ++counts[i];
      take(block);
    };
    if (place.kept)
      hand_out(0, in.x.view());
    else
      visit_row_blocks(data, rows, place.block_rows, [&](std::size_t first, std::span<const std::int32_t> block) {
        hand_out(first, prepared(scaling, block).view());
      });
    if (request) gating(*request).per_network = std::move(counts);
  };
}

GateUsage Stages::usage(const GateRequest& request) {
  std::vector<std::uint64_t> counts = gating(request).per_network;
  if (counts.empty()) {
    blocks(request.encoder.scaling, &request)([](const SampleBlock&) {});
    counts = gating(request).per_network;
  }
  if (place.group != nullptr) place.group->sum(std::span<std::uint64_t>(counts));
  return gate_usage({counts.begin(), counts.end()}, all_rows.size());
}

}  // namespace parsnets
