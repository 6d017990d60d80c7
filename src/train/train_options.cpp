#include "train/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/finite.hpp"
#include "data/sample_set.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "train/fitter.hpp"

namespace parsnets {

namespace {

constexpr int kPaperEncoding = 400, kPaperNetworks = 200, kMmgNetworks = 32;

/// The default options of every method, in the order in which help lists them.
const Names<MethodOptions>& methods() {
  static const Names<MethodOptions> all = [] {
    Names<MethodOptions> made{{"parsnets", ParsNetsOptions()}};
    PaperOptions paper;
    for (const auto& [name, part] :
         {std::pair("paper", PaperPart::whole), {"scln", PaperPart::scln}, {"mmg", PaperPart::mmg}}) {
      paper.part = part;
      made.emplace_back(name, paper);
    }
    BaselineOptions baseline;
    for (std::size_t kind = 0; kind < baseline_names().size(); ++kind) {
      baseline.kind = static_cast<Baseline>(kind);
      made.emplace_back(baseline_names()[kind], baseline);
    }
    return made;
  }();
  return all;
}

/// What tells methods of the same family apart.
int kind_of(const ParsNetsOptions&) { return 0; }
int kind_of(const PaperOptions& o) { return static_cast<int>(o.part); }
int kind_of(const BaselineOptions& o) { return static_cast<int>(o.kind); }

void add_feature_scaling(OptionTable& table, FeatureScaling& field) {
  Names<FeatureScaling> names = feature_scaling_names();
  names.emplace_back("auto", FeatureScaling::by_sign);
  table.choice("feature-scaling", field, names, "scaling of samples; auto: sqrt-l2, or l2 if features are negative")
      .tries({"sqrt-l2", "l2"});
}

void add_semantics(OptionTable& table, SemanticOptions& semantics) {
  Names<SemanticScaling> names = semantic_scaling_names();
  std::erase_if(names, [](const auto& name) { return name.second == SemanticScaling::binary; });  // dap alone, always
  table.choice("semantic-scaling", semantics.scaling, names, "scaling of class descriptions")
      .advanced()
      .number("semantic-whitening", semantics.whitening, 0, 1,
              "exponent of the partial whitening of class descriptions; 0: none")
      .positive_numbers("semantic-weights", semantics.weights,
                        "weight of each table of class descriptions, if there are several; only their ratio matters")
      .automatic("chosen on validation classes")
      .advanced();
}

OptionTable method_table(ParsNetsOptions& o) {
  OptionTable table;
  table.group("Model");
  add_feature_scaling(table, o.feature_scaling);
  table
      .number_or_auto("shrinkage", o.shrinkage, 1e-6, 1e6,
                      "ridge of the covariance within classes, in units of its mean eigenvalue")
      .automatic("10 times the dimensions per training sample");
  add_semantics(table, o.semantics);
  table.find_row("semantic-whitening").tries = {"0.2", "0.35", "0.5"};
  table
      .number("prototype-width", o.prototype_width, 0, 1e3,
              "width of the kernel of class descriptions that predicts class prototypes; 0: the cosine itself")
      .number("prototype-lambda", o.prototype_lambda, 1e-9, 1e9, "ridge regularisation of that kernel")
      .advanced()
      .number("prior-samples", o.prior_samples, 1e-6, 1e9,
              "number of samples that the prototype predicted from the description counts as")
      .integer_or_auto("attribute-steps", o.attribute_steps, 0, 1000,
                       "steps of learning weights of attributes by leaving one class out; 0: equal weights")
      .automatic("one per 10 seen classes, at most 8")
      .integer_or_auto("networks", o.networks, 0, 65535, "K, number of gated networks; 0: none")
      .automatic("100, at most one per 8 samples; none below 64 seen classes")
      .integer_or_auto("active", o.active, 1, 65535, "k, networks active per sample")
      .automatic("10, at most all")
      .integer_or_auto("encoding", o.encoding, 1, 1000000, "h, dimensions of what gated networks see")
      .automatic("64, at most a quarter of the samples")
      .advanced()
      .integer("refine-steps", o.refine_steps, 0, 100000, "steps of discriminative refinement")
      .tries({"0", "1", "2", "3", "4", "6"})
      .number("refine-rate", o.refine_rate, 1e-6, 100, "refinement: step length")
      .advanced()
      .number("sharpness", o.sharpness, 1e-3, 1e3, "refinement: scale of the cosines in the softmax")
      .advanced()
      .number("gate-weight", o.gate_weight, 0, 1e3,
              "refinement: step length of gated networks relative to the shared one")
      .advanced();
  return table;
}

OptionTable method_table(PaperOptions& o) {
  OptionTable table;
  table.group("Model");
  add_feature_scaling(table, o.feature_scaling);
  add_semantics(table, o.semantics);
  table.find_row("feature-scaling").tries.clear();  // searches of these networks are costly
  table.integer_or_auto("encoding", o.encoding, 1, 1000000, "h, dimensions of the encoder")
      .automatic("400, or what features with fewer dimensions allow")
      .choice("rotation", o.random_rotation, {{"identity", false}, {"random", true}}, "basis of the encoder's subspace")
      .choice("gates", o.gates, {{"energy", GateKind::energy}, {"anchor", GateKind::anchor}},
              "rule by which each sample selects its networks")
      .tries({"energy", "anchor"})
      .integer_or_auto("networks", o.networks, 0, 65535, "K, number of networks, at least 1")
      .automatic("200, or what few features or samples allow; mmg: at most 32")
      .integer_or_auto("active", o.active, 1, 65535, "k, networks active per sample")
      .automatic("30, 40 or 80 by data set, as in the paper; mmg: all")
      .tries({"40", "100"})
      .choice("input", o.networks_see_encoding, {{"encoding", true}, {"features", false}},
              "input of the networks: the encoding or the features")
      .choice("fit", o.ridge, {{"svr", false}, {"ridge", true}},
              "epsilon-insensitive loss with a certificate, or squared loss beside a shared linear map")
      .number("lambda", o.lambda, 1e-9, 1e9, "ridge regularisation, relative to the scale of the data")
      .flag_value("relu", o.relu, "networks output max(0, Wx + b): a ridge fit, trained in the primal")
      .number("mmg", o.mmg, 0, 1e6, "weight of the maximal margin geometry; 0: none")
      .integer("joint-steps", o.joint_steps, 0, 100000, "steps on fit and geometry together")
      .choice("similarity", o.similarity, similarity_names(), "similarity of predictions and class descriptions")
      .number("c", o.c, 1e-12, 1e12, "SVR: bound of the dual variables, for targets of unit variance")
      .tries({"0.03", "0.1", "0.3", "1"})
      .number("epsilon", o.epsilon, 0, 1e6, "SVR: half-width of the tube, for targets of unit variance")
      .number("tolerance", o.tolerance, 1e-9, 0.5, "SVR: relative duality gap at which to stop")
      .integer("max-passes", o.max_passes, 1, 10000000, "SVR: maximum number of passes");
  return table;
}

OptionTable method_table(BaselineOptions& o) {
  OptionTable table;
  table.group("Model");
  add_feature_scaling(table, o.feature_scaling);
  table.find_row("feature-scaling").tries = {"sqrt-l2", "l2", "standardize"};
  add_semantics(table, o.semantics);
  table.find_row("semantic-scaling").tries = {"l2", "centre-l2"};
  table.number("lambda", o.lambda, 1e-9, 1e9, "ridge regularisation, relative to the scale of the data")
      .tries({"0.03", "0.1", "0.3", "1", "3", "10", "30", "100"})
      .number("semantic-lambda", o.semantic_lambda, 1e-9, 1e9, "eszsl: regularisation of the semantics");
  switch (o.kind) {
    case Baseline::eszsl:
      table.find_row("lambda").tries = {"0.1", "1", "10", "100"};
      table.find_row("semantic-lambda").tries = {"0.01", "0.1", "1", "10"};
      break;
    case Baseline::sae:
    case Baseline::sae_reverse:
      table.find_row("feature-scaling").tries = {"sqrt-l2", "l2"};
      table.find_row("lambda").tries = {"0.001", "0.01", "0.1", "1", "10", "100"};
      break;
    case Baseline::dap:
      table.find_row("feature-scaling").tries = {"sqrt-l2", "standardize"};
      table.find_row("semantic-scaling").tries.clear();
      table.find_row("lambda").tries = {"0.1", "1", "10", "100"};
      break;
    default: break;
  }
  return table;
}

/// What all methods have: calibration, search and run.
template <class Options>
void add_common(OptionTable& table, Options& o) {
  table.group("Calibration")
      .flag_value("calibrate", o.calibration.enabled, "choose gamma and temperature on validation classes")
      .share_or_none("false-accept", o.calibration.false_accept,
                     "calibrate rejection and prediction sets on held-out classes, so that this share of unknown "
                     "samples is accepted; 0: do not calibrate them")
      .integer("folds", o.calibration.folds, 0, 100,
               "validation folds, the first from the split's own validation classes; 0: one for the paper's networks "
               "and where the split names validation classes for a baseline, otherwise three to twelve")
      .choice("search", o.search.kind, {{"none", Search::none}, {"grid", Search::grid}, {"auto", Search::automatic}},
              "search options on validation classes; auto: stage by stage, for method parsnets; options that do not "
              "have their default values stay as they are")
      .text("grid", o.search.grid, "grid to search instead of the method's own: \"name=v1,v2;name=v1,v2\"")
      .advanced()
      .number("time-budget", o.search.time_budget, 0, 1e9,
              "seconds after which search auto starts no new candidate; 0: no limit")
      .advanced()
      .group("Run")
      .bytes("memory-limit", o.run.memory_limit,
             "maximum memory of the process: samples that do not fit are read in blocks, the SVR takes smaller ones; "
             "fails before starting if the work does not fit");
}

void add_method(OptionTable& table, const std::function<std::string()>& name,
                const std::function<bool(std::string_view)>& assign) {
  Option row;
  row.name = "method";
  row.help =
      "parsnets: class space with gated networks; paper: the published networks; scln, mmg: parts of those; the others "
      "are baselines";
  row.choices = method_names();
  row.expected = fmt::format("one of: {}", fmt::join(row.choices, ", "));
  row.assign = [assign, expected = row.expected](std::string_view text) {
    return assign(text) ? std::nullopt : std::optional(expected);
  };
  row.value = [name] { return nlohmann::json(name()); };
  table.group("Model").row(std::move(row));
}

bool is_method(std::string_view name) { return std::ranges::count(method_names(), name) > 0; }

bool has_negative_features(const Dataset& data) {
  constexpr std::size_t kRows = 8192;
  bool negative = false;
  if (data.features.empty()) return negative;
  visit_row_blocks(data, data.split.trainval, kRows, [&](std::size_t, std::span<const std::int32_t> rows) {
    negative = negative || std::ranges::any_of(rows, [&](std::int32_t r) {
                 return any_negative(data.features.row(static_cast<std::size_t>(r)));
               });
  });
  return negative;
}

template <class T>
void by_size(T& field, T value) {
  if (field == kBySize) field = value;
}

void resolve(ParsNetsOptions& o, const Dataset& data) {
  const std::size_t n = data.split.trainval.size(), d = data.features.cols(), seen = data.seen_classes().size();
  by_size(o.shrinkage, default_shrinkage(d, static_cast<double>(n)));
  by_size(o.attribute_steps, default_attribute_steps(seen));
  by_size(o.networks, default_networks(seen, n));
  by_size(o.active, std::clamp(o.networks, 1, 10));
  by_size(o.encoding, std::min(64, most_encoding(d, n)));
}

/// K and h follow from each other: energy gates divide an encoding into equal parts.
void resolve(PaperOptions& o, const Dataset& data) {
  const auto d = static_cast<int>(data.features.cols());
  const int most = most_networks(data.split.trainval.size());
  if (o.part == PaperPart::mmg) {
    by_size(o.networks, std::min(kMmgNetworks, most));
    by_size(o.active, o.networks);
    o.gates = GateKind::anchor;
  }
  by_size(o.networks, d < kPaperEncoding ? std::min(most, d) : kPaperNetworks);
  const int wide = std::min(d, kPaperEncoding);
  by_size(o.encoding,
          o.gates == GateKind::energy && o.networks > 0 ? o.networks * std::max(1, wide / o.networks) : wide);
  by_size(o.active, std::min(paper_active(data.known_as), o.networks));
  if (o.part == PaperPart::scln) o.mmg = o.joint_steps = 0;
}

void resolve(BaselineOptions&, const Dataset&) {}

using Complain = std::function<void(const std::string&)>;

void complain_of_active(int networks, int active, const Complain& complain) {
  if (active > networks)
    complain(fmt::format("{}: expected at most {} ({}), found {}", option_name("active"), option_name("networks"),
                         networks, active));
}

void complain_of(const ParsNetsOptions& o, const Complain& complain) {
  if (o.prototype_width > 0 && o.prototype_width < 0.05)
    complain(
        fmt::format("{}: expected 0 or at least 0.05, found {}", option_name("prototype-width"), o.prototype_width));
  if (o.networks > 0) complain_of_active(o.networks, o.active, complain);
}

void complain_of(const PaperOptions& o, const Complain& complain) {
  if (o.relu && !o.ridge)
    complain(fmt::format("{} requires {}: ReLU networks have no exact dual", option_name("relu"),
                         option_name("fit", "ridge")));
  if (o.part == PaperPart::mmg && o.active != o.networks)
    complain(fmt::format("{}: expected {}, the number of networks, for method mmg, found {}", option_name("active"),
                         o.networks, o.active));
  complain_of_active(o.networks, o.active, complain);
  if (o.networks < 1) complain(fmt::format("{}: expected at least 1, found {}", option_name("networks"), o.networks));
  if (o.gates == GateKind::energy && o.networks > 0 && o.encoding % o.networks != 0)
    complain(fmt::format("{}: expected a multiple of {} ({}) for energy gates, found {}", option_name("encoding"),
                         option_name("networks"), o.networks, o.encoding));
}

void complain_of(const BaselineOptions& o, const Complain& complain) {
  if (o.kind == Baseline::dap && o.semantics.whitening > 0)
    complain(option_name("semantic-whitening") + ": expected 0 for method dap");
}

}  // namespace

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : methods()) names.push_back(name);
  return names;
}

MethodOptions method_options(std::string_view name) {
  for (const auto& [known, method] : methods())
    if (known == name) return method;
  throw Error(ErrorCode::usage, fmt::format("{}: expected one of: {}, found '{}'", option_name("method"),
                                            fmt::join(method_names(), ", "), name));
}

std::string method_name(const MethodOptions& method) {
  const auto number = [](const MethodOptions& o) {
    return std::pair(o.index(), std::visit([](const auto& own) { return kind_of(own); }, o));
  };
  return std::ranges::find(methods(), number(method), [&](const auto& known) { return number(known.second); })->first;
}

OptionTable train_option_table(TrainOptions& o) {
  OptionTable table;
  add_method(
      table, [&o] { return method_name(o.method); },
      [&o](std::string_view text) { return text == method_name(o.method); });
  std::visit([&](auto& method) { table.append(method_table(method)); }, o.method);
  add_common(table, o);
  return table;
}

OptionTable train_option_table(TrainSettings& s) {
  OptionTable table;
  add_method(
      table, [&s] { return s.method; },
      [&s](std::string_view text) {
        if (is_method(text)) s.method = text;
        return is_method(text);
      });
  const auto families = std::make_shared<const std::vector<OptionTable>>(
      std::vector{method_table(s.parsnets), method_table(s.paper), method_table(s.baseline)});
  for (const OptionTable& of : *families)
    for (const Option& option : of.options()) {
      if (table.find(option.name) != nullptr) continue;
      Option row = option;
      row.assign = [families, &s, name = option.name](std::string_view text) {
        std::optional<std::string> expected;
        for (const OptionTable& family : *families)
          if (const Option* own = family.find(name))
            if (auto wanted = own->assign(text); wanted && !expected) expected = std::move(wanted);
        if (!expected) s.given.insert(name);
        return expected;
      };
      row.value = [families, &s, name = option.name] {
        const Option* own = (*families)[method_options(s.method).index()].find(name);
        for (std::size_t i = 0; own == nullptr; ++i) own = (*families)[i].find(name);
        return own->value();
      };
      table.row(std::move(row));
    }
  add_common(table, s);
  return table;
}

std::vector<MethodFamily> method_families() {
  static ParsNetsOptions parsnets;
  static PaperOptions paper;
  static BaselineOptions baseline;
  std::vector<MethodFamily> families{{"method parsnets", {}, method_table(parsnets)},
                                     {"methods paper, scln and mmg", {}, method_table(paper)},
                                     {"baselines", {}, method_table(baseline)}};
  for (const auto& [name, method] : methods()) families[method.index()].methods.push_back(name);
  return families;
}

TrainOptions TrainSettings::options_of_method() const {
  TrainOptions o{method_options(method), calibration, search, run};
  if (auto* own = std::get_if<PaperOptions>(&o.method)) {
    const PaperPart part = std::exchange(*own, paper).part;
    own->part = part;
  } else if (auto* compared = std::get_if<BaselineOptions>(&o.method)) {
    const Baseline kind = std::exchange(*compared, baseline).kind;
    compared->kind = kind;
  } else {
    o.method = parsnets;
  }
  return o;
}

TrainOptions TrainSettings::options() const {
  std::string foreign;
  for (const auto& name : options_of_others())
    if (given.contains(name)) foreign += (foreign.empty() ? "" : ", ") + option_name(name);
  if (!foreign.empty())
    throw Error(ErrorCode::usage, fmt::format("{} does not have {}", option_name("method", method), foreign));
  return options_of_method();
}

std::vector<std::string> TrainSettings::options_of_others() const {
  TrainOptions o = options_of_method();
  OptionTable known = train_option_table(o);
  std::vector<std::string> names;
  for (const auto& family : method_families())
    for (const Option& row : family.options.options()) {
      if (known.find(row.name) != nullptr) continue;
      names.push_back(row.name);
      known.row(row);
    }
  return names;
}

void TrainSettings::set(const TrainOptions& o) {
  method = method_name(o.method);
  if (const auto* own = std::get_if<ParsNetsOptions>(&o.method)) parsnets = *own;
  if (const auto* own = std::get_if<PaperOptions>(&o.method)) paper = *own;
  if (const auto* own = std::get_if<BaselineOptions>(&o.method)) baseline = *own;
  calibration = o.calibration;
  search = o.search;
  run = o.run;
}

std::string options_text(const TrainOptions& options) {
  TrainOptions o = options;
  return train_option_table(o).to_json().dump();
}

TrainOptions options_from_text(const std::string& text, const std::string& file) {
  const nlohmann::json object = nlohmann::json::parse(text.empty() ? "{}" : text);
  TrainOptions options;
  const std::string name = object.value("method", "parsnets");
  if (!is_method(name))
    throw Error(BadInput{file, "option method", fmt::format("one of: {}", fmt::join(method_names(), ", ")),
                         "'" + name + "'", "train the model again"});
  options.method = method_options(name);
  train_option_table(options).from_json(object, file);
  return options;
}

std::map<std::string, std::string> changed_options(const TrainOptions& options) {
  TrainOptions o = options, usual;
  usual.method = method_options(method_name(o.method));
  auto changed = train_option_table(o).different_from(train_option_table(usual));
  if (method_name(o.method) != "parsnets") changed["method"] = method_name(o.method);
  return changed;
}

FeatureScaling feature_scaling_of(const MethodOptions& method) {
  return std::visit([](const auto& o) { return o.feature_scaling; }, method);
}

SemanticOptions& semantics_of(MethodOptions& method) {
  return std::visit([](auto& o) -> SemanticOptions& { return o.semantics; }, method);
}

const SemanticOptions& semantics_of(const MethodOptions& method) {
  return semantics_of(const_cast<MethodOptions&>(method));
}

double default_shrinkage(std::size_t dimensions, double samples) {
  return std::clamp(10 * static_cast<double>(dimensions) / samples, 0.1, 300.0);
}

int default_attribute_steps(std::size_t seen_classes) {
  return static_cast<int>(std::min<std::size_t>(seen_classes / 10, 8));
}

int default_networks(std::size_t seen_classes, std::size_t samples) {
  return seen_classes < 64 ? 0 : std::min(100, most_networks(samples));
}

int most_networks(std::size_t samples) { return static_cast<int>(std::clamp<std::size_t>(samples / 8, 2, 200)); }

int most_encoding(std::size_t dimensions, std::size_t samples) {
  return static_cast<int>(std::clamp<std::size_t>(std::min(dimensions, samples / 4), 1, 128));
}

int paper_active(const std::string& known_as) {
  return known_as.starts_with("AWA") || known_as == "APY" ? 30 : known_as == "SUN" ? 80 : 40;
}

TrainOptions resolve_options(const TrainOptions& options, const Dataset& data) {
  TrainOptions o = options;
  std::visit(
      [&](auto& method) {
        if (method.feature_scaling == FeatureScaling::by_sign)
          method.feature_scaling = has_negative_features(data) ? FeatureScaling::l2 : FeatureScaling::sqrt_l2;
        resolve(method, data);
      },
      o.method);
  if (auto& weights = semantics_of(o.method).weights; data.semantics.tables.empty() && weights.empty()) weights = {1.0};
  return o;
}

std::string reduced_paper(const TrainOptions& resolved, const Dataset& data) {
  const auto* o = std::get_if<PaperOptions>(&resolved.method);
  if (o == nullptr || data.features.cols() >= kPaperEncoding) return "";
  return fmt::format(
      "method paper: the features have {} dimensions, fewer than its encoding of {}: this model has encoding {}, {} "
      "networks, {} active, and is not comparable with the paper's",
      data.features.cols(), kPaperEncoding, o->encoding, o->networks, o->active);
}

void validate(const TrainOptions& o) {
  std::string problems;
  const Complain complain = [&](const std::string& what) { problems += (problems.empty() ? "" : "; ") + what; };
  std::visit([&](const auto& method) { complain_of(method, complain); }, o.method);
  const auto* baseline = std::get_if<BaselineOptions>(&o.method);
  const auto* paper = std::get_if<PaperOptions>(&o.method);
  if (o.calibration.false_accept > 0 &&
      ((baseline != nullptr && baseline->kind != Baseline::ridge && baseline->kind != Baseline::sae) ||
       (paper != nullptr && paper->similarity != Similarity::cosine)))
    complain(fmt::format("{} requires a method that predicts class vectors and compares them by cosine",
                         option_name("false-accept")));
  if (!o.search.grid.empty() && o.search.kind != Search::grid)
    complain(option_name("grid") + " requires " + option_name("search", "grid"));
  if (o.search.kind == Search::automatic && !std::holds_alternative<ParsNetsOptions>(o.method))
    complain(fmt::format("{} requires {}", option_name("search", "auto"), option_name("method", "parsnets")));
  if (o.run.resume && o.run.checkpoint.empty())
    complain(option_name("resume") + " requires " + option_name("checkpoint"));
  if (!problems.empty()) throw Error(ErrorCode::usage, problems);
}

}  // namespace parsnets
