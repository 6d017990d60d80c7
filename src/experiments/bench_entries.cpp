#include "experiments/bench_entries.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/did_you_mean.hpp"
#include "parsnets/error.hpp"
#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// "scln:gates=anchor:open=100" is method scln with two options set.
Entry parse_entry(const std::string& text, const TrainOptions& base) {
  Entry entry{text, base};
  OptionTable table = train_option_table(entry.options);
  std::size_t start = 0;
  bool first = true;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(':', start), text.size());
    const std::string part = text.substr(start, end - start);
    start = end + 1;
    const auto equals = part.find('=');
    const std::string name = first ? "method" : part.substr(0, equals), value = first ? part
                                                                                : equals == std::string::npos
                                                                                    ? "true"
                                                                                    : part.substr(equals + 1);
    first = false;
    const Option* option = table.find(name);
    if (option == nullptr)
      throw Error(ErrorCode::usage, fmt::format("{}: expected an option of training, found '{}' in '{}'{}",
                                                option_name("methods"), name, text, table.suggestion(name)));
    if (const auto expected = option->assign(value))
      throw Error(ErrorCode::usage, fmt::format("{}: {}: expected {}, found '{}'{}", option_name("methods"), name,
                                                *expected, value, did_you_mean(value, option->choices)));
  }
  return entry;
}

/// What training gives with `base`.
Entry default_entry(const TrainOptions& base) {
  Entry entry = parse_entry("parsnets", base);
  entry.label = "default model";
  entry.note = "what training gives with these options";
  return entry;
}

/// The parts of the method in class space, one after the other; nothing is searched but the weight of the second head.
std::vector<Entry> class_space_entries(const TrainOptions& base) {
  const std::pair<const char*, const char*> parts[] = {
      {"class space", "parsnets:targets=classes:gates=always:mmg=0:refine-steps=0"},
      {"class space + refinement", "parsnets:targets=classes:gates=always:mmg=0"},
      {"class space + refinement + gates", "parsnets:targets=classes:gates=anchor:mmg=0"},
      {"class space + refinement + gates + mmg", "parsnets:targets=classes:gates=anchor:mmg=0.1"}};
  std::vector<Entry> entries;
  for (const auto& [label, text] : parts) {
    entries.push_back(parse_entry(text, base));
    entries.back().label = label;
  }
  Entry heads = parse_entry("parsnets:targets=classes:mmg=0", base);
  heads.label = "two heads";
  heads.options.search.select = !base.class_space.semantic_head;
  if (heads.options.search.select) heads.options.search.grid = "semantic-head=0.15,0.4,1";
  entries.push_back(std::move(heads));
  return entries;
}

}  // namespace

std::vector<Entry> method_entries(const std::string& text, const TrainOptions& base) {
  std::vector<Entry> entries;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    entries.push_back(parse_entry(text.substr(start, end - start), base));
    start = end + 1;
  }
  if (entries.empty())
    throw Error(ErrorCode::usage, option_name("methods") + ": expected at least one method, found none");
  return entries;
}

std::vector<Entry> ablation_entries(const TrainOptions& base) {
  if (base.preset == Preset::automatic || base.search.select || !base.search.grid.empty())
    throw Error(ErrorCode::usage,
                fmt::format("{} conflicts with {}, {} and {}", option_name("ablation"), option_name("preset", "auto"),
                            option_name("select"), option_name("grid")));
  const std::pair<const char*, const char*> parts[] = {{"linear map", "parsnets:gates=always:mmg=0:joint-steps=0"},
                                                       {"scln", "parsnets:mmg=0"},
                                                       {"mmg", "mmg"},
                                                       {"scln + mmg", "parsnets"}};
  const bool svr = base.fit.kind == Fit::svr;
  std::vector<Entry> entries;
  for (const bool refined : {false, true})
    for (const auto& [label, text] : parts) {
      const bool linear = std::string_view(label) == "linear map";
      Entry entry = parse_entry(text, base);
      entry.options.class_space.targets = Targets::semantics;
      entry.label = fmt::format("{}{}", label, refined ? " + refinement" : "");
      if (linear) {
        entry.options.fit.kind = Fit::ridge;
      } else if (!svr) {
        entry.options.geometry.joint_steps = refined ? 0 : 10;  // the geometry is part of refinement, else of the fit
      }
      // Each row searches what was not given; refinement or its absence is what the row is about.
      std::string& grid = entry.options.search.grid;
      if (entry.options.method == Method::mmg) entry.options.gates.open.reset();
      if (!base.fit.lambda) grid = svr && !linear ? "lambda=5;" : "lambda=0.3,1,5,20;";
      if (!refined) entry.options.refinement.steps = 0;
      if (refined && !base.refinement.steps) grid += "refine-steps=3,6,9,12,15,20;";
      if (!base.class_space.prototype_width) entry.options.class_space.prototype_width = 0;
      entry.options.search.select = !grid.empty();
      entries.push_back(std::move(entry));
    }
  if (!svr && base.preset != Preset::paper && base.class_space.targets != Targets::semantics)
    for (auto& entry : class_space_entries(base)) entries.push_back(std::move(entry));
  entries.push_back(default_entry(base));
  return entries;
}

std::vector<Entry> sweep_entries(const std::string& text, const std::vector<Entry>& entries) {
  const bool sparsity = text == "k";
  std::vector<Entry> swept;
  for (const auto& entry : entries) {
    TrainOptions start = entry.options;
    if (sparsity) start.gates.networks = 200;
    if (!sparsity && (text.find('=') == std::string::npos || text.find(';') != std::string::npos))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected k, or one option of training with values such as lambda=1,5,20, found '{}'",
                              option_name("sweep"), text));
    const auto axes = parse_grid(sparsity ? "open=10,20,30,40,80,120,160,200" : text, start, "sweep");
    for (auto& candidate : combinations(start, axes))
      swept.push_back({entry.label + " " + candidate.result.choice, std::move(candidate.options)});
  }
  return swept;
}

}  // namespace parsnets
