#include "train/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/linalg.hpp"
#include "data/rows.hpp"
#include "data/visit_rows.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"
#include "train/fit_statistics.hpp"
#include "train/place_classes.hpp"

namespace parsnets {

namespace {

std::string input_key(const TrainOptions& o) {
  return fmt::format("{} {}", static_cast<int>(*o.preprocessing.feature_scaling), o.preprocessing.centre);
}

bool in_class_space(const TrainOptions& o) { return *o.class_space.targets == Targets::classes; }

std::string class_map_key(const TrainOptions& o) {
  return in_class_space(o) ? fmt::format("{} {}", input_key(o), *o.class_space.shrinkage) : "";
}

std::string target_key(const TrainOptions& o) {
  const ClassSpaceOptions& places = o.class_space;
  return fmt::format(
      "{} {} {} {}{}", static_cast<int>(*o.preprocessing.semantic_scaling), *o.preprocessing.semantic_whitening,
      fmt::join(o.preprocessing.semantic_weights.value_or(std::vector<double>()), ","), class_map_key(o),
      in_class_space(o) && *places.attribute_steps > 0
          ? fmt::format(" {} {} {}", *places.attribute_steps, *places.prototype_lambda, *places.prototype_width)
          : "");
}

std::string both_keys(const TrainOptions& o) { return fmt::format("{} {}", input_key(o), target_key(o)); }

std::string encoding_key(const TrainOptions& o) {
  return fmt::format("{} {} {} {}", input_key(o), *o.encoder.dimensions, static_cast<int>(*o.encoder.rotation),
                     o.run.seed);
}

std::string gate_key(const TrainOptions& o) {
  return fmt::format("{} {} {} {} {}", encoding_key(o), static_cast<int>(*o.gates.kind), *o.gates.networks,
                     *o.gates.open, static_cast<int>(o.gates.anchors));
}

}  // namespace

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

std::vector<std::int32_t> sorted(std::vector<std::int32_t> rows) {
  std::ranges::sort(rows);
  return rows;
}

std::vector<std::int32_t> own_part(std::vector<std::int32_t> rows, const SamplePlace& place) {
  if (place.size() == 1) return rows;
  const Share own = place.group->share(rows.size());
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(own.first);
  return {first, first + static_cast<std::ptrdiff_t>(own.count)};
}

}  // namespace

// Blocks of neighbouring rows are read from the file in one go.
Stages::Stages(const Dataset& d, std::vector<std::int32_t> r, ThreadPool& p, ProgressObserver* o, SamplePlace where)
    : data(d),
      place(where),
      all_rows(std::move(r)),
      rows(by_sums() ? own_part(sorted(all_rows), where) : all_rows),
      labels(labels_of(data, rows)),
      classes(distinct(labels_of(data, all_rows))),
      pool(p),
      progress(o) {
  if (classes.size() < 2)
    throw Error(BadInput{data.name, "split", "training samples of at least two classes",
                         fmt::format("{} samples of {} classes", all_rows.size(), classes.size()), "check the split"});
  if (all_rows.size() < place.size())
    throw Error(BadInput{data.name, "split",
                         fmt::format("at least one training sample for each of {} processes", place.size()),
                         fmt::format("{} samples", all_rows.size()), "use fewer processes"});
}

void Stages::require_all_samples(std::string_view option, std::string_view value) const {
  if (by_sums())
    throw Error(ErrorCode::usage,
                fmt::format("{} requires all samples in the memory of one process", option_name(option, value)));
}

std::string Stages::network_key(const TrainOptions& o) { return fmt::format("{} {}", gate_key(o), target_key(o)); }

void Stages::drop_what_sees_inputs() {
  class_space_.drop();
  ridge_.drop();
  eszsl_.drop();
  sae_.drop();
  preconditioner_.drop();
}

void Stages::release_inputs() {
  drop_what_sees_inputs();
  inputs_.drop();
}

const Statistics& Stages::sums(const TrainOptions& o) {
  return sums_.get(input_key(o), [&] {
    if (!o.preprocessing.centre) require_all_samples("centre", "false");
    const FeatureScaling scaling = *o.preprocessing.feature_scaling;
    Statistics made(scaling == FeatureScaling::standardize ? FeatureScaling::none : scaling, data.class_names,
                    data.features.cols());
    visit_row_blocks(data, rows, place.block_rows, [&](std::size_t first, std::span<const std::int32_t> block) {
      report(progress, {"statistics", first, rows.size(), "samples"});
      made.add(data.features.view(), data.labels, block, pool);
    });
    if (place.group != nullptr) made.sum_over(*place.group);
    return made;
  });
}

Matrix<float> Stages::prepared(const TrainOptions& o, std::span<const std::int32_t> some_rows) {
  return preprocessed_rows(inputs(o).preprocess, data.features.view(), some_rows, pool);
}

Inputs& Stages::inputs(const TrainOptions& o) {
  return inputs_.get(input_key(o), [&] {
    drop_what_sees_inputs();
    report(progress, {"prepare features", 0, 0, ""});
    Inputs made;
    if (by_sums()) {
      const Statistics& s = sums(o);
      made.preprocess = feature_preprocess_of(s, *o.preprocessing.feature_scaling);
      made.scale = 0;
      for (std::size_t j = 0; j < s.dimensions(); ++j) {
        double square = 0, sum = 0;
        for (const auto& products : s.group_products()) square += products(j, j);
        for (std::size_t c = 0; c < s.class_sums().rows(); ++c) sum += s.class_sums()(c, j);
        const double factor = made.preprocess.factor.empty() ? 1.0 : static_cast<double>(made.preprocess.factor[j]);
        made.scale += (square - sum * sum / s.weight()) * factor * factor;
      }
      made.scale = std::max(made.scale, 1e-12) / static_cast<double>(s.dimensions());
      if (!place.streamed) made.x = preprocessed_rows(made.preprocess, data.features.view(), rows, pool);
      return made;
    }
    made.preprocess = fit_feature_preprocess(*o.preprocessing.feature_scaling, o.preprocessing.centre,
                                             data.features.view(), rows, pool);
    made.x = preprocessed_rows(made.preprocess, data.features.view(), rows, pool);
    made.scale = mean_eigenvalue(made.x.view());
    return made;
  });
}

TargetVectors& Stages::targets(const TrainOptions& o) {
  return targets_.get(target_key(o), [&] {
    eszsl_.drop();  // they look at the semantics
    sae_.drop();
    TargetVectors made;
    if (!in_class_space(o)) {
      made.preprocess = fit_semantic_preprocess(o.preprocessing, data.semantics, classes, false);
      made.vectors = preprocessed_semantics(made.preprocess, data.semantics.values.view());
      return made;
    }
    const ClassMap& map = class_map(o);
    made.preprocess = fit_place_semantics(
        o, data.semantics, {classes, class_space(o).weights(), Matrix<double>::copy_of(map.means.view())});
    const Matrix<float> means = to_float(map.means.view());
    made.vectors = Matrix<float>(data.classes(), means.cols(), 0.0f);
    for (std::size_t p = 0; p < classes.size(); ++p)
      std::ranges::copy(means.row(p), made.vectors.row(static_cast<std::size_t>(classes[p])).begin());
    return made;
  });
}

void Stages::set_targets(const TrainOptions& o, const SemanticPreprocess& preprocess) {
  eszsl_.drop();
  sae_.drop();
  targets_.drop();
  beside_class_space_ = true;
  targets_.get(target_key(o), [&] {
    return TargetVectors{preprocess, preprocessed_semantics(preprocess, data.semantics.values.view())};
  });
}

const ClassSpace& Stages::class_space(const TrainOptions& o) {
  return class_space_.get(input_key(o), [&] {
    if (by_sums()) return ClassSpace(sums(o), pool, inputs(o).preprocess.factor);
    report(progress, {"statistics", 0, 0, ""});
    Statistics of_x(FeatureScaling::none, data.class_names, data.features.cols());
    std::vector<std::int32_t> all(rows.size());
    std::iota(all.begin(), all.end(), 0);
    of_x.add(inputs(o).x.view(), labels, all, pool);
    return ClassSpace(of_x, pool);
  });
}

const ClassMap& Stages::class_map(const TrainOptions& o) {
  return class_map_.get(class_map_key(o), [&] { return class_space(o).solve(*o.class_space.shrinkage, pool); });
}

bool Stages::has_products(const TrainOptions& o) const {
  return by_sums() || ((in_class_space(o) || beside_class_space_) && o.preprocessing.centre);
}

Encoding& Stages::encoding(const TrainOptions& o) {
  return encoding_.get(fmt::format("{} {}", encoding_key(o), has_products(o)), [&] {
    report(progress, {"encode", 0, 0, ""});
    EncoderOptions options;
    options.dimensions = *o.encoder.dimensions;
    options.rotation = *o.encoder.rotation;
    options.seed = o.run.seed;
    Encoding made;
    Matrix<float> products;
    if (has_products(o)) products = class_space(o).products(pool);
    made.encoder = by_sums() ? fit_encoder(options, all_rows.size(), products.view(), pool)
                             : fit_encoder(options, inputs(o).x.view(), pool, products.view());
    if (!place.streamed) made.e = encoded(made.encoder, inputs(o).x.view(), pool);
    if (place.keeps_encodings) {
      made.e = Matrix<float>(rows.size(), made.encoder.weights.rows());
      visit_row_blocks(data, rows, place.block_rows, [&](std::size_t first, std::span<const std::int32_t> block) {
        const Matrix<float> part = encoded(made.encoder, prepared(o, block).view(), pool);
        std::ranges::copy(part.values(), made.e.row(first).begin());
      });
    }
    return made;
  });
}

Gating& Stages::gating(const TrainOptions& o) {
  return gating_.get(fmt::format("{} {}", gate_key(o), has_products(o)), [&] {
    GateOptions options;
    options.kind = *o.gates.kind;
    options.networks = *o.gates.kind == GateKind::always ? 1 : *o.gates.networks;
    options.open = *o.gates.kind == GateKind::always ? 1 : *o.gates.open;
    options.anchors = o.gates.anchors;
    options.seed = o.run.seed;
    Gating made;
    if (!by_sums()) {
      made.gates = fit_gates(options, encoding(o).e.view(), pool);
    } else {
      const auto encodings = [&](std::span<const std::size_t> samples) {
        std::vector<std::int32_t> wanted;
        for (const std::size_t i : samples) wanted.push_back(all_rows[i]);
        return encoded(encoding(o).encoder, prepared(o, wanted).view(), pool);
      };
      made.gates = fit_gates(options, all_rows.size(), encoding(o).encoder.weights.rows(), encodings, pool);
    }
    if (!encoding(o).e.empty()) made.open = open_networks(made.gates, encoding(o).e.view(), pool);
    return made;
  });
}

RidgePreconditioner& Stages::preconditioner(const TrainOptions& o, double weight) {
  return preconditioner_.get(fmt::format("{} {} {}", input_key(o), weight, class_map_key(o)), [&] {
    if (in_class_space(o)) return RidgePreconditioner(class_space(o).preconditioner(*o.class_space.shrinkage, pool));
    if (by_sums()) return RidgePreconditioner::of_products(class_space(o).products(pool).view(), weight, pool);
    return RidgePreconditioner(inputs(o).x.view(), weight, pool);
  });
}

Ridge& Stages::ridge(const TrainOptions& o) {
  return *ridge_.get(input_key(o), [&] {
    return by_sums() ? std::make_unique<Ridge>(
                           SummedSamples{sums(o), inputs(o).preprocess.factor, targets(o).vectors.view()}, pool)
                     : std::make_unique<Ridge>(samples(o), pool);
  });
}

Eszsl& Stages::eszsl(const TrainOptions& o) {
  return *eszsl_.get(both_keys(o), [&] {
    return by_sums() ? std::make_unique<Eszsl>(
                           SummedSamples{sums(o), inputs(o).preprocess.factor, targets(o).vectors.view()}, pool)
                     : std::make_unique<Eszsl>(samples(o), pool);
  });
}

Sae& Stages::sae(const TrainOptions& o) {
  return *sae_.get(both_keys(o), [&] {
    return by_sums() ? std::make_unique<Sae>(
                           SummedSamples{sums(o), inputs(o).preprocess.factor, targets(o).vectors.view()}, pool)
                     : std::make_unique<Sae>(samples(o), pool);
  });
}

TrainingSamples Stages::samples(const TrainOptions& o) {
  return {inputs(o).x.view(), labels, targets(o).vectors.view()};
}

GatedSamples Stages::gated_samples(const TrainOptions& o) {
  const Gating& gated = gating(o);
  return {o.fit.input == NetworkInput::encoding ? encoding(o).e.view() : inputs(o).x.view(), gated.open.view(),
          gated.gates.networks};
}

SampleBlocks Stages::blocks(const TrainOptions& o, bool gated) {
  return [this, o, gated](const std::function<void(const SampleBlock&)>& take) {
    inputs(o);
    std::vector<std::uint64_t> counts;
    if (gated) counts.assign(gating(o).gates.networks, 0);
    visit_row_blocks(data, rows, place.block_rows, [&](std::size_t first, std::span<const std::int32_t> block) {
      const Matrix<float> x = prepared(o, block);
      SampleBlock made{first, x.view(), {}, {}, std::span(labels).subspan(first, block.size())};
      if (!gated) return take(made);
      Encoding& coded = encoding(o);
      Gating& opened = gating(o);
      Matrix<float> e;
      Matrix<std::uint16_t> open;
      if (coded.e.empty()) {
        e = encoded(coded.encoder, x.view(), pool);
        open = open_networks(opened.gates, e.view(), pool);
        made.open = open.view();
        made.z = e.view();
      } else {
        made.open = {opened.open.row(first).data(), block.size(), opened.open.cols()};
        made.z = {coded.e.row(first).data(), block.size(), coded.e.cols()};
      }
      if (o.fit.input != NetworkInput::encoding) made.z = x.view();
      for (const std::uint16_t i : made.open.values()) ++counts[i];
      take(made);
    });
    if (gated) gating(o).per_network = std::move(counts);
  };
}

GateUsage Stages::usage(const TrainOptions& o) {
  Gating& gated = gating(o);
  if (!by_sums()) return gate_usage(gated.open.view(), gated.gates.networks);
  if (gated.open.empty() && gated.per_network.empty()) blocks(o, true)([](const SampleBlock&) {});
  std::vector<std::uint64_t> counts = gated.per_network;
  if (!gated.open.empty()) {
    const auto own = gate_usage(gated.open.view(), gated.gates.networks).samples;
    counts.assign(own.begin(), own.end());
  }
  if (place.group != nullptr) place.group->sum(std::span<std::uint64_t>(counts));
  return gate_usage({counts.begin(), counts.end()}, all_rows.size());
}

Matrix<float> Stages::sample_semantics(const TrainOptions& o) { return gather_rows(targets(o).vectors.view(), labels); }

}  // namespace parsnets
