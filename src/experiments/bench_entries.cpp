#include "experiments/bench_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/text.hpp"
#include "train/selection.hpp"

namespace parsnets {

namespace {

/// "scln:gates=anchor:active=100" is method scln with two options set; auto is parsnets with its automatic search.
/// Options of `base` that the method does not have are left out.
Entry parse_entry(const std::string& text, const TrainSettings& base) {
  TrainSettings settings = base;
  const OptionTable table = train_option_table(settings);
  const auto assign = [&](const std::string& name, const std::string& value) {
    const Option* option = table.find(name);
    if (option == nullptr)
      throw Error(ErrorCode::usage, fmt::format("{}: expected an option of training, found '{}' in '{}'{}",
                                                option_name("methods"), name, text, table.suggestion(name)));
    if (const auto expected = option->assign(value))
      throw Error(ErrorCode::usage, fmt::format("{}: {}: expected {}, found '{}'{}", option_name("methods"), name,
                                                *expected, value, did_you_mean(value, option->choices)));
  };
  const auto parts = split_list(text, ':');
  const std::string method = parts.empty() ? "" : parts.front();
  assign("method", method == "default" || method == "auto" ? "parsnets" : method);
  if (method == "auto") assign("search", "auto");
  TrainOptions probe = settings.options_of_method();
  const OptionTable own = train_option_table(probe);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    const std::string name = parts[i].substr(0, equals);
    assign(name, equals == std::string::npos ? "true" : parts[i].substr(equals + 1));
    if (own.find(name) == nullptr)
      throw Error(ErrorCode::usage, fmt::format("{}: {} does not have {}", option_name("methods"),
                                                option_name("method", method), option_name(name)));
  }
  return {text, settings.options_of_method()};
}

}  // namespace

std::vector<Entry> method_entries(const std::string& text, const TrainSettings& base) {
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

std::vector<Entry> ablation_entries(const TrainSettings& base) {
  if (base.search.kind != Search::none || !base.search.grid.empty())
    throw Error(ErrorCode::usage, fmt::format("{} conflicts with {} and {}", option_name("methods", "ablation"),
                                              option_name("search"), option_name("grid")));
  // The paper's parts with the squared loss, which takes seconds where the SVR takes minutes.
  const std::string fit = ":fit=ridge:joint-steps=10";
  const std::pair<std::string, std::string> parts[] = {
      {"linear map", "ridge"},
      {"scln", "scln" + fit},
      {"mmg", "mmg" + fit},
      {"scln + mmg", "paper" + fit},
      {"class space", "parsnets:networks=0:refine-steps=0:attribute-steps=0"},
      {"class space + attribute weights", "parsnets:networks=0:refine-steps=0"},
      {"class space + refinement", "parsnets:networks=0"},
      {"class space + refinement + gates", "parsnets:networks=100"},
      {"default model", "parsnets"}};
  std::vector<Entry> entries;
  for (const auto& [label, text] : parts) {
    Entry entry = parse_entry(text, base);
    entry.label = label;
    // Each row of the paper's parts searches what was not given.
    if (!std::holds_alternative<ParsNetsOptions>(entry.options.method) &&
        !changed_options(entry.options).contains("lambda")) {
      entry.options.search.kind = Search::grid;
      entry.options.search.grid = "lambda=0.3,1,5,20";
    }
    entries.push_back(std::move(entry));
  }
  entries.back().note = "what training gives with these options";
  return entries;
}

std::vector<Entry> sweep_entries(const std::string& text, const std::vector<Entry>& entries) {
  const bool sparsity = text == "k";
  std::vector<Entry> swept;
  for (const auto& entry : entries) {
    TrainOptions start = entry.options;
    if (sparsity) train_option_table(start).find("networks")->assign("200");
    if (!sparsity && (text.find('=') == std::string::npos || text.find(';') != std::string::npos))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected k, or one option of training with values such as lambda=1,5,20, found '{}'",
                              option_name("sweep"), text));
    const auto axes = parse_grid(sparsity ? "active=10,20,30,40,80,120,160,200" : text, start, "sweep");
    for (auto& candidate : combinations(start, axes))
      swept.push_back({entry.label + " " + candidate.result.choice, std::move(candidate.options)});
  }
  return swept;
}

void run_entry(const Entry& entry, const RunEntry& how, const Dataset& data, ThreadPool& pool,
               ProgressObserver* progress, BenchResults& results) {
  TrainOptions asked = entry.options;  // what decides a row's results beside data and seed
  asked.run.memory_limit = 0;
  results.begin_row(entry.label, {{"options", train_option_table(asked).to_json()}}, entry.note, how.first_seed,
                    how.seeds);
  try {
    for (std::uint64_t i = 0; i < how.seeds; ++i) {
      TrainOptions options = entry.options;
      options.run.seed = how.first_seed + i;
      if (results.has_run(options.run.seed)) continue;
      if (how.before) how.before(options.run.seed);
      results.add_run(bench_run(data, options, pool, progress, how.keep));
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    results.fail_row(how.message ? how.message(error) : error.what());
  } catch (const std::bad_alloc&) {
    results.fail_row("not enough memory");
  }
  results.add_uncertainty(data, pool);
}

}  // namespace parsnets
