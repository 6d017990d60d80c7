#include "train/train_options.hpp"

#include <fmt/format.h>

#include "model/names.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

const std::vector<std::pair<std::string, Method>>& method_names() {
  static const std::vector<std::pair<std::string, Method>> names{{"parsnets", Method::parsnets},
                                                                 {"scln", Method::scln},
                                                                 {"mmg", Method::mmg},
                                                                 {"ridge", Method::ridge},
                                                                 {"reverse-ridge", Method::reverse_ridge},
                                                                 {"eszsl", Method::eszsl},
                                                                 {"sae", Method::sae},
                                                                 {"sae-reverse", Method::sae_reverse},
                                                                 {"dap", Method::dap}};
  return names;
}

OptionTable train_option_table(TrainOptions& o) {
  OptionTable table;
  table
      .choice("method", o.method, method_names(),
              "parsnets: gated linear networks with maximal margin geometry; scln: gated networks alone; mmg: geometry "
              "alone; the others are baselines")
      .choice("preset", o.preset, {{"none", Preset::none}, {"auto", Preset::automatic}, {"paper", Preset::paper}},
              "paper: the published settings; auto: search every option that is not given on validation classes")
      .choice("feature-scaling", o.preprocessing.feature_scaling, feature_scaling_names(), "scaling of samples")
      .automatic("sqrt-l2; targets classes: l2 if features are negative")
      .flag_value("centre", o.preprocessing.centre, "subtract the training mean from the scaled features")
      .choice("semantic-scaling", o.preprocessing.semantic_scaling, semantic_scaling_names(),
              "scaling of class attributes")
      .automatic("l2; dap: binary")
      .number("semantic-whitening", o.preprocessing.semantic_whitening, 0, 1,
              "exponent of the partial whitening of class attributes; 0: none")
      .automatic("targets classes: 0.35; parsnets, mmg: 0.25; otherwise 0")
      .positive_numbers("semantic-weights", o.preprocessing.semantic_weights,
                        "weight of each table of class attributes, if there are several; only their ratio matters")
      .automatic("chosen on validation classes; one table: 1")
      .choice("similarity", o.class_space.similarity, similarity_names(), "similarity of predictions and classes")
      .automatic("cosine; dap and unrefined eszsl: dot")
      .choice("targets", o.class_space.targets, targets_names(),
              "what the networks predict: the semantics of a class, or its place in class space")
      .automatic("parsnets: classes; otherwise semantics")
      .number("shrinkage", o.class_space.shrinkage, 1e-6, 1e6,
              "class space: ridge of the covariance within classes, in units of its mean eigenvalue")
      .automatic("10 times the dimensions per training sample; 2.9 on CUB")
      .number("lambda", o.fit.lambda, 1e-9, 1e9, "ridge regularisation, relative to the scale of the data")
      .automatic("targets classes: 1; parsnets, mmg: 20; otherwise 1")
      .number("semantic-lambda", o.fit.semantic_lambda, 1e-9, 1e9, "eszsl: regularisation of the semantics")
      .automatic("1")
      .integer("encoding", o.encoder.dimensions, 1, 1000000, "h, dimensions of the encoder")
      .automatic("depends on the data; 64 on CUB (targets semantics: 128); scln and preset paper: 400")
      .choice("rotation", o.encoder.rotation, {{"identity", Rotation::identity}, {"random", Rotation::random}},
              "basis of the encoder's subspace")
      .automatic("parsnets, mmg: identity; otherwise random")
      .choice("gates", o.gates.kind, gate_names(), "rule by which each sample selects its networks")
      .automatic(
          "parsnets, mmg: anchor (targets classes: always with fewer than 64 seen classes); scln and preset paper: "
          "energy")
      .integer("networks", o.gates.networks, 1, 65535, "K, number of networks")
      .automatic("depends on the data; 100 on CUB (targets semantics: 200); mmg: at most 32")
      .integer("open", o.gates.open, 1, 65535, "k, networks active per sample")
      .automatic(
          "depends on the data; 10 on CUB (targets semantics: 20); scln: 40; mmg: all; preset paper: 30, 40 or 80 by "
          "data set")
      .choice("anchors", o.gates.anchors, {{"samples", AnchorChoice::samples}, {"kmeans", AnchorChoice::kmeans}},
              "origin of the anchors of anchor gates")
      .choice("input", o.fit.input, {{"encoding", NetworkInput::encoding}, {"features", NetworkInput::features}},
              "input of the networks: the encoding or the features")
      .flag_value("shared", o.fit.shared, "add an always-active network on the features")
      .automatic("true for ridge fits of gated networks; otherwise false")
      .flag_value("relu", o.fit.relu, "gated networks output max(0, Wx + b); trained in the primal")
      .choice("fit", o.fit.kind, {{"ridge", Fit::ridge}, {"svr", Fit::svr}},
              "parsnets, scln, mmg: squared loss or epsilon-insensitive loss")
      .automatic("ridge; scln and preset paper: svr")
      .number("mmg", o.geometry.weight, 0, 1e6, "weight of the maximal margin geometry; 0: none")
      .automatic("targets semantics of parsnets, mmg: 0.1; otherwise 0")
      .number("mmg-floor", o.geometry.floor, 0, 1e9, "classes with a smaller nuclear norm get no gradient")
      .choice("mmg-samples", o.geometry.samples, {{"active", MmgSamples::active}, {"all", MmgSamples::all}},
              "samples in each network's MMG term")
      .automatic("active; mmg: all")
      .integer("joint-steps", o.geometry.joint_steps, 0, 100000, "steps on fit and geometry before refinement")
      .automatic("10 without refinement; preset paper: 3; otherwise 0")
      .integer("refine-steps", o.refinement.steps, 0, 100000, "steps of discriminative refinement")
      .automatic("targets classes: 3; parsnets, mmg: 15; otherwise 0")
      .number("refine-lambda", o.refinement.lambda, 0, 1e9, "refinement: ridge of the preconditioner; 0: lambda")
      .number("refine-rate", o.refinement.rate, 1e-6, 100, "refinement: step length")
      .automatic("1")
      .number("refine-sharpness", o.refinement.sharpness, 1e-3, 1e3, "refinement: scale of the cosines in the softmax")
      .automatic("targets classes: 20; otherwise 10")
      .number("gate-weight", o.refinement.gate_weight, 0, 1e3,
              "refinement: step length of gated networks relative to the shared one")
      .automatic("targets classes: 3; otherwise 0.3")
      .number("balance", o.refinement.balance, 0, 1, "refinement: 0 weights samples equally, 1 weights classes equally")
      .automatic("0")
      .number("prototype-width", o.class_space.prototype_width, 0, 1e3,
              "width of the kernel of class attributes that places classes; 0: targets classes: the cosine itself; "
              "targets semantics: no correction")
      .automatic("targets classes: 1.2; parsnets, mmg: 1.4; otherwise 0")
      .number("prototype-lambda", o.class_space.prototype_lambda, 1e-9, 1e9, "ridge regularisation of that kernel")
      .automatic("targets classes: 0.3; otherwise 0.1")
      .integer("attribute-steps", o.class_space.attribute_steps, 0, 1000,
               "class space: steps of learning weights of attributes by leaving one class out; 0: equal weights")
      .automatic("targets classes: one per 10 seen classes, at most 8; otherwise 0")
      .number("prior-samples", o.class_space.prior_samples, 1e-6, 1e9,
              "class space: number of samples that the place predicted from the attributes counts as")
      .automatic("300")
      .number("semantic-head", o.class_space.semantic_head, 0, kMostHeadWeight,
              "class space: weight of a second head that predicts the attributes, relative to class space; 0: none")
      .automatic("0; preset auto: chosen on validation classes")
      .number("c", o.fit.c, 1e-12, 1e12, "SVR: bound of the dual variables, for targets of unit variance")
      .automatic("0.1")
      .number("epsilon", o.fit.epsilon, 0, 1e6, "SVR: half-width of the tube, for targets of unit variance")
      .number("tolerance", o.fit.tolerance, 1e-9, 0.5, "SVR: relative duality gap at which to stop")
      .integer("max-passes", o.fit.max_passes, 1, 10000000, "SVR: maximum number of passes")
      .flag_value("calibrate", o.calibration.enabled, "choose gamma and temperature on validation classes")
      .share_or_none("false-accept", o.calibration.false_accept,
                     "calibrate rejection and prediction sets on held-out classes, so that this share of unknown "
                     "samples is accepted; 0: do not calibrate them")
      .flag("select", o.search.select,
            "search the method's grid on validation classes; options that are given stay fixed")
      .text("grid", o.search.grid, "grid to search instead of the method's own: \"name=v1,v2;name=v1,v2\"")
      .integer("folds", o.search.folds, 0, 100,
               "validation folds, the first from the split's own validation classes; 0: one if the split names some "
               "(class space: two), otherwise three to twelve; auto: four")
      .number("time-budget", o.search.time_budget, 0, 1e9,
              "seconds after which preset auto starts no new candidate; 0: no limit")
      .bytes(
          "memory-limit", o.run.memory_limit,
          "maximum memory of the process: samples that do not fit are prepared in blocks, the SVR takes smaller ones; "
          "fails before starting if the work does not fit");
  return table;
}

void validate(const TrainOptions& o) {
  std::string problems;
  const auto complain = [&](const std::string& what) { problems += (problems.empty() ? "" : "; ") + what; };
  const bool networks = o.method == Method::scln || o.method == Method::parsnets || o.method == Method::mmg;
  const bool reverse = o.method == Method::reverse_ridge || o.method == Method::sae_reverse;
  if (networks && o.fit.relu && *o.fit.kind == Fit::svr)
    complain(fmt::format("{} requires {}: ReLU networks have no exact dual", option_name("relu"),
                         option_name("fit", "ridge")));
  if ((*o.refinement.steps > 0 || *o.class_space.prototype_width > 0) &&
      (reverse || *o.class_space.similarity != Similarity::cosine))
    complain(fmt::format("{} and {} require a forward method and {}", option_name("refine-steps"),
                         option_name("prototype-width"), option_name("similarity", "cosine")));
  if (o.calibration.false_accept > 0 && (reverse || *o.class_space.similarity != Similarity::cosine))
    complain(fmt::format("{} requires a forward method and {}", option_name("false-accept"),
                         option_name("similarity", "cosine")));
  if (networks && *o.fit.kind == Fit::ridge && *o.gates.kind != GateKind::always && !*o.fit.shared)
    complain(fmt::format("{} conflicts with {}: gated networks correct the shared one", option_name("shared", "false"),
                         option_name("fit", "ridge")));
  if (*o.class_space.targets == Targets::classes && (!networks || *o.class_space.similarity != Similarity::cosine))
    complain(fmt::format("{} requires method parsnets, scln or mmg and {}", option_name("targets", "classes"),
                         option_name("similarity", "cosine")));
  if (*o.class_space.semantic_head > 0 && *o.class_space.targets != Targets::classes)
    complain(fmt::format("{} requires {}", option_name("semantic-head"), option_name("targets", "classes")));
  if (*o.class_space.semantic_head > 0 && *o.class_space.semantic_head < kLeastHeadWeight)
    complain(fmt::format("{}: expected 0 or at least {}, found {}", option_name("semantic-head"), kLeastHeadWeight,
                         *o.class_space.semantic_head));
  if (o.method == Method::mmg && *o.gates.open != *o.gates.networks)
    complain(fmt::format("{}: expected {}, the number of networks, for method mmg, found {}", option_name("open"),
                         *o.gates.networks, *o.gates.open));
  if (*o.class_space.prototype_width > 0 && *o.class_space.prototype_width < 0.05)
    complain(fmt::format("{}: expected 0 or at least 0.05, found {}", option_name("prototype-width"),
                         *o.class_space.prototype_width));
  if (o.method == Method::dap && *o.preprocessing.semantic_whitening > 0)
    complain(option_name("semantic-whitening") + ": expected 0 for method dap");
  if (!networks && (o.fit.relu || *o.fit.shared || *o.geometry.joint_steps > 0))
    complain(fmt::format("{}, {} and {} require method parsnets, scln or mmg", option_name("relu"),
                         option_name("shared"), option_name("joint-steps")));
  if (networks) {
    if (*o.gates.kind != GateKind::always && *o.gates.open > *o.gates.networks)
      complain(fmt::format("{}: expected at most {} ({}), found {}", option_name("open"), option_name("networks"),
                           *o.gates.networks, *o.gates.open));
    if (*o.gates.kind == GateKind::energy && *o.encoder.dimensions % *o.gates.networks != 0)
      complain(fmt::format("{}: expected a multiple of {} ({}) for energy gates, found {}", option_name("encoding"),
                           option_name("networks"), *o.gates.networks, *o.encoder.dimensions));
  }
  if (o.method == Method::dap && *o.preprocessing.semantic_scaling != SemanticScaling::binary)
    complain(option_name("semantic-scaling") + ": expected binary for method dap");
  if (o.method == Method::dap && *o.class_space.similarity != Similarity::dot)
    complain(option_name("similarity") + ": expected dot for method dap");
  if (!o.search.grid.empty() && !o.search.select) complain(option_name("grid") + " requires " + option_name("select"));
  if (o.run.resume && o.run.checkpoint.empty())
    complain(option_name("resume") + " requires " + option_name("checkpoint"));
  if (!problems.empty()) throw Error(ErrorCode::usage, problems);
}

}  // namespace parsnets
