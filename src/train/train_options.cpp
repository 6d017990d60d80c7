#include "train/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>

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
              "parsnets: gated linear networks, fitted with maximal margin geometry; scln: without it; mmg: without "
              "gates; the "
              "others are baselines")
      .choice("preset", o.preset, {{"none", Preset::none}, {"auto", Preset::automatic}, {"paper", Preset::paper}},
              "a set of options by name, or auto: every choice by search on validation classes; options given on the "
              "command line win")
      .choice("feature-scaling", o.feature_scaling, feature_scaling_names(),
              "preprocessing of samples, stored in the model")
      .flag_value("centre", o.centre, "subtract the training mean from the scaled features")
      .choice("semantic-scaling", o.semantic_scaling, semantic_scaling_names(),
              "preprocessing of class attributes, stored in the model")
      .number("semantic-whitening", o.semantic_whitening, 0, 1,
              "exponent of the partial whitening of the class space; 0: none")
      .choice("similarity", o.similarity, similarity_names(), "how predictions are compared with classes")
      .number("lambda", o.lambda, 1e-9, 1e9, "weight of ridge, eszsl, sae and dap, in units of the data's own scale")
      .number("semantic-lambda", o.semantic_lambda, 1e-9, 1e9, "eszsl: weight on the side of the semantics")
      .integer("encoding", o.encoding, 1, 1000000, "h, dimensions of the encoder")
      .choice("rotation", o.rotation, {{"identity", Rotation::identity}, {"random", Rotation::random}},
              "basis of the encoder's subspace")
      .choice("gates", o.gates, gate_names(), "how each sample chooses its networks")
      .integer("networks", o.networks, 1, 65535, "K, how many networks there are")
      .integer("open", o.open, 1, 65535, "k, how many are open for a sample")
      .choice("anchors", o.anchors, {{"samples", AnchorChoice::samples}, {"kmeans", AnchorChoice::kmeans}},
              "where the anchors of anchor gates come from")
      .choice("input", o.input, {{"encoding", NetworkInput::encoding}, {"features", NetworkInput::features}},
              "what the networks see: z = e or z = x")
      .flag_value("shared", o.shared, "an always-open network on the features beside the gated ones")
      .flag_value("relu", o.relu, "gated networks give max(0, output); trained in the primal")
      .choice("fit", o.fit, {{"ridge", Fit::ridge}, {"svr", Fit::svr}},
              "parsnets, scln, mmg: loss that the networks are fitted by")
      .number("mmg", o.mmg, 0, 1e6, "weight of the maximal margin geometry; 0: none")
      .number("mmg-floor", o.mmg_floor, 0, 1e9, "nuclear norms of classes below it are left alone")
      .choice("mmg-samples", o.mmg_samples, {{"active", MmgSamples::active}, {"all", MmgSamples::all}},
              "samples whose geometry each network answers for")
      .integer("joint-steps", o.joint_steps, 0, 100000, "steps on fit + mmg together, before refinement")
      .integer("refine-steps", o.refine_steps, 0, 100000, "steps of discriminative refinement after any forward method")
      .number("refine-lambda", o.refine_lambda, 0, 1e9, "refinement: ridge of its preconditioner; 0: as lambda")
      .number("refine-rate", o.refine_rate, 1e-6, 100, "refinement: length of a step")
      .number("refine-sharpness", o.refine_sharpness, 1e-3, 1e3, "refinement: factor of the cosine in its softmax")
      .number("gate-weight", o.gate_weight, 0, 1e3, "refinement: how far gated networks move beside the shared one")
      .number("balance", o.balance, 0, 1, "refinement: 0 every sample weighs the same, 1 every class")
      .number("prototype-width", o.prototype_width, 0, 1e3,
              "width of the kernel that moves class vectors to where training samples lie; 0: they stay")
      .number("prototype-lambda", o.prototype_lambda, 1e-9, 1e9, "ridge of that kernel")
      .number("c", o.c, 1e-12, 1e12, "SVR: bound of the dual variables, for targets of unit variance")
      .number("epsilon", o.epsilon, 0, 1e6, "SVR: half-width of the tube, for targets of unit variance")
      .number("tolerance", o.tolerance, 1e-9, 0.5, "SVR: stops at this relative duality gap")
      .integer("max-passes", o.max_passes, 1, 10000000, "SVR: stops after so many passes all the same")
      .flag_value("calibrate", o.calibrate, "choose gamma and temperature on validation classes")
      .flag("select", o.select,
            "search the method's grid on validation classes; options given on the command line stay as they are")
      .text("grid", o.grid, "grid to search in place of the method's own: \"name=v1,v2;name=v1,v2\"")
      .integer(
          "folds", o.folds, 0, 100,
          "validation folds, the first by the split's own validation classes; 0: one if it names some (auto: two), "
          "else three where that is cheap, up to twelve to calibrate with few classes (auto: four)")
      .number("time-budget", o.time_budget, 0, 1e9,
              "seconds after which preset auto looks at no further candidate; 0: no limit")
      .bytes("memory-limit", o.memory_limit,
             "memory the process may use; the SVR takes smaller steps to stay within, other work that does not fit is "
             "refused");
  return table;
}

int most_networks(const Dataset& data) {
  return static_cast<int>(std::clamp<std::size_t>(data.split.trainval.size() / 8, 2, 200));
}

int most_encoding(const Dataset& data) {
  return static_cast<int>(
      std::clamp<std::size_t>(std::min(data.features.cols(), data.split.trainval.size() / 4), 1, 128));
}

namespace {

bool pins(const TrainOptions& o, const char* name) {
  return std::find(o.pinned.begin(), o.pinned.end(), name) != o.pinned.end();
}

/// The widest encoding that `networks` energy gates divide equally.
int divisible_encoding(int dimensions, int networks) { return networks * std::max(1, dimensions / networks); }

}  // namespace

std::string reduced_preset(const TrainOptions& given, const TrainOptions& applied, const Dataset& data) {
  if (given.preset != Preset::paper || pins(given, "encoding") || applied.encoding >= TrainOptions().encoding)
    return "";
  return fmt::format(
      "preset paper: the features have {} dimensions, fewer than its encoding of {}: this model has encoding {}, {} "
      "networks, {} open, and is not comparable with the paper's",
      data.features.cols(), TrainOptions().encoding, applied.encoding, applied.networks, applied.open);
}

void apply_preset(TrainOptions& o, const Dataset& data) {
  const TrainOptions defaults;
  const auto dimensions = static_cast<int>(data.features.cols());
  const bool narrow = dimensions < defaults.encoding;
  const auto suit = [&](const char* name, auto field, auto value) {
    const bool free = !pins(o, name);
    if (free && o.*field == defaults.*field) o.*field = value;
    return free;
  };
  // What a preset, or the nature of a method, prescribes is a choice, too: selection leaves it alone.
  const auto set = [&](const char* name, auto field, auto value) {
    if (suit(name, field, value)) o.pinned.push_back(name);
  };
  if (o.method == Method::dap) set("semantic-scaling", &TrainOptions::semantic_scaling, SemanticScaling::binary);
  // Their scores are products with the class vector by construction.
  if (o.method == Method::dap || (o.method == Method::eszsl && o.refine_steps == 0 && o.prototype_width == 0))
    set("similarity", &TrainOptions::similarity, Similarity::dot);
  if (o.preset == Preset::automatic) {
    suit("encoding", &TrainOptions::encoding, most_encoding(data));
    suit("networks", &TrainOptions::networks, most_networks(data));
    suit("open", &TrainOptions::open, std::min(20, o.networks));
    return;
  }
  if (o.method == Method::scln) {
    if (dimensions < o.encoding && o.preset != Preset::paper) {
      suit("networks", &TrainOptions::networks, std::min(most_networks(data), dimensions));
      suit("encoding", &TrainOptions::encoding, divisible_encoding(dimensions, o.networks));
      suit("open", &TrainOptions::open, std::min(40, o.networks));
    }
    suit("fit", &TrainOptions::fit, Fit::svr);
    if (o.fit == Fit::ridge) {
      suit("shared", &TrainOptions::shared, true);
      if (o.refine_steps == 0) suit("joint-steps", &TrainOptions::joint_steps, 10);
    }
  }
  if (o.method == Method::mmg) {  // every network answers for every sample
    suit("gates", &TrainOptions::gates, GateKind::anchor);
    suit("networks", &TrainOptions::networks, std::min(32, most_networks(data)));
    if (!pins(o, "open")) o.open = o.networks;
    suit("mmg-samples", &TrainOptions::mmg_samples, MmgSamples::all);
  }
  if (o.method == Method::parsnets || o.method == Method::mmg) {
    const bool paper = o.preset == Preset::paper;
    suit("fit", &TrainOptions::fit, paper ? Fit::svr : Fit::ridge);
    suit("mmg", &TrainOptions::mmg, 0.1);
    if (!paper) {
      suit("shared", &TrainOptions::shared, true);
      suit("gates", &TrainOptions::gates, GateKind::anchor);
      const bool energy = o.gates == GateKind::energy;  // its parts are equal
      suit("networks", &TrainOptions::networks,
           energy ? std::min(most_networks(data), most_encoding(data)) : most_networks(data));
      suit("encoding", &TrainOptions::encoding,
           energy ? divisible_encoding(most_encoding(data), o.networks) : most_encoding(data));
      suit("rotation", &TrainOptions::rotation, Rotation::identity);
      suit("open", &TrainOptions::open, std::min(20, o.networks));
      suit("lambda", &TrainOptions::lambda, 20.0);
      suit("semantic-whitening", &TrainOptions::semantic_whitening, 0.25);
      suit("refine-steps", &TrainOptions::refine_steps, 15);
      suit("prototype-width", &TrainOptions::prototype_width, 1.4);
    }
    // The geometry is part of refinement; without that it is joined to the fit.
    suit("joint-steps", &TrainOptions::joint_steps, paper ? 3 : o.refine_steps == 0 ? 10 : 0);
  }
  if (o.preset != Preset::paper) return;
  const std::string& set_name = data.known_as;
  const int open = set_name.starts_with("AWA") || set_name == "APY" ? 30 : set_name == "SUN" ? 80 : 40;
  set("gates", &TrainOptions::gates, GateKind::energy);
  set("networks", &TrainOptions::networks, narrow ? std::min(most_networks(data), dimensions) : 200);
  set("encoding", &TrainOptions::encoding, narrow ? divisible_encoding(dimensions, o.networks) : 400);
  set("open", &TrainOptions::open, std::min(open, o.networks));
}

void validate(const TrainOptions& o) {
  std::string problems;
  const auto complain = [&](const std::string& what) { problems += (problems.empty() ? "" : "; ") + what; };
  const bool networks = o.method == Method::scln || o.method == Method::parsnets || o.method == Method::mmg;
  const bool reverse = o.method == Method::reverse_ridge || o.method == Method::sae_reverse;
  if (networks && o.relu && o.fit == Fit::svr) complain("--relu: expected --fit ridge, since it has no exact dual");
  if ((o.refine_steps > 0 || o.prototype_width > 0) && (reverse || o.similarity != Similarity::cosine))
    complain("--refine-steps, --prototype-width: expected a forward method and similarity cosine");
  if (networks && o.fit == Fit::ridge && o.gates != GateKind::always && !o.shared)
    complain("--shared: expected true with --fit ridge, where gated networks correct the shared one");
  if (o.method == Method::mmg && o.open != o.networks)
    complain(fmt::format("--open: expected all {} networks for mmg, found {}", o.networks, o.open));
  if (o.prototype_width > 0 && o.prototype_width < 0.05)
    complain(fmt::format("--prototype-width: expected 0 or at least 0.05, found {}", o.prototype_width));
  if (o.method == Method::dap && o.semantic_whitening > 0) complain("--semantic-whitening: expected 0 for dap");
  if (!networks && (o.relu || o.shared || o.joint_steps > 0))
    complain("--relu, --shared, --joint-steps: expected method parsnets, scln or mmg");
  if (networks) {
    if (o.gates != GateKind::always && o.open > o.networks)
      complain(fmt::format("--open: expected at most --networks ({}), found {}", o.networks, o.open));
    if (o.gates == GateKind::energy && o.encoding % o.networks != 0)
      complain(fmt::format("--encoding: expected a multiple of --networks ({}) for energy gates, found {}", o.networks,
                           o.encoding));
  }
  if (o.method == Method::dap && o.semantic_scaling != SemanticScaling::binary)
    complain("--semantic-scaling: expected binary for dap");
  if (o.method == Method::dap && o.similarity != Similarity::dot) complain("--similarity: expected dot for dap");
  if (!o.grid.empty() && !o.select) complain("--grid: expected together with --select");
  if (o.resume && o.checkpoint.empty()) complain("--resume: expected together with --checkpoint");
  if (!problems.empty()) throw Error(ErrorCode::usage, problems);
}

}  // namespace parsnets
