#include "train/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "model/names.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

const std::vector<std::pair<std::string, Method>>& method_names() {
  static const std::vector<std::pair<std::string, Method>> names{
      {"scln", Method::scln},   {"ridge", Method::ridge}, {"reverse-ridge", Method::reverse_ridge},
      {"eszsl", Method::eszsl}, {"sae", Method::sae},     {"sae-reverse", Method::sae_reverse},
      {"dap", Method::dap}};
  return names;
}

OptionTable train_option_table(TrainOptions& o) {
  OptionTable table;
  table
      .choice("method", o.method, method_names(),
              "scln: sparse composite linear networks fitted by SVR; the others are baselines")
      .choice("preset", o.preset, {{"none", Preset::none}, {"paper", Preset::paper}},
              "a set of options by name; options given on the command line win")
      .choice("feature-scaling", o.feature_scaling, feature_scaling_names(),
              "preprocessing of samples, stored in the model")
      .flag_value("centre", o.centre, "subtract the training mean from the scaled features")
      .choice("semantic-scaling", o.semantic_scaling, semantic_scaling_names(),
              "preprocessing of class attributes, stored in the model")
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
      .number("c", o.c, 1e-12, 1e12, "SVR: bound of the dual variables, for targets of unit variance")
      .number("epsilon", o.epsilon, 0, 1e6, "SVR: half-width of the tube, for targets of unit variance")
      .number("tolerance", o.tolerance, 1e-9, 0.5, "SVR: stops at this relative duality gap")
      .integer("max-passes", o.max_passes, 1, 10000000, "SVR: stops after so many passes all the same")
      .flag_value("calibrate", o.calibrate, "choose gamma and temperature on validation classes")
      .flag("select", o.select,
            "search the method's grid on validation classes; options given on the command line stay as they are")
      .text("grid", o.grid, "grid to search in place of the method's own: \"name=v1,v2;name=v1,v2\"")
      .integer("folds", o.folds, 0, 100,
               "validation folds where the split names no validation classes; 0: three where that is cheap")
      .bytes("memory-limit", o.memory_limit,
             "memory the process may use; the solver takes smaller steps to stay within");
  return table;
}

void apply_preset(TrainOptions& o, const std::string& data_name) {
  const auto set = [&](const char* name, auto& field, auto value) {
    if (std::find(o.pinned.begin(), o.pinned.end(), name) != o.pinned.end()) return;
    field = value;
    o.pinned.push_back(name);  // a preset is a choice, too: selection leaves it alone
  };
  if (o.method == Method::dap) set("semantic-scaling", o.semantic_scaling, SemanticScaling::binary);
  // Their scores are products with the class vector by construction.
  if (o.method == Method::dap || o.method == Method::eszsl) set("similarity", o.similarity, Similarity::dot);
  if (o.preset != Preset::paper) return;
  std::string name = data_name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const int open = name.starts_with("awa") || name.starts_with("apy") ? 30 : name.starts_with("sun") ? 80 : 40;
  set("gates", o.gates, GateKind::energy);
  set("networks", o.networks, 200);
  set("encoding", o.encoding, 400);
  set("open", o.open, open);
}

void validate(const TrainOptions& o) {
  std::string problems;
  const auto complain = [&](const std::string& what) { problems += (problems.empty() ? "" : "; ") + what; };
  if (o.method == Method::scln) {
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
