#include "train/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "parsnets/error.hpp"
#include "train/fitter.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

constexpr double kSelectionTolerance = 5e-3;

std::vector<std::string> split_list(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Axes from the slowest to the fastest: what is expensive to change comes first, C (warm-started) last.
std::vector<GridAxis> default_grid(const TrainOptions& options) {
  const GridAxis features{"feature-scaling", {"sqrt-l2", "l2", "standardize"}},
      semantics{"semantic-scaling", {"l2", "centre-l2"}};
  const GridAxis lambda{"lambda", {"0.03", "0.1", "0.3", "1", "3", "10", "30", "100"}};
  const auto share = [&](int part) { return std::to_string(std::max(1, options.networks / part)); };
  switch (options.method) {
    case Method::scln:
      return {{"gates", {"energy", "anchor"}}, {"open", {share(5), share(2)}}, {"c", {"0.03", "0.1", "0.3", "1"}}};
    case Method::eszsl:
      return {
          features, semantics, {"lambda", {"0.1", "1", "10", "100"}}, {"semantic-lambda", {"0.01", "0.1", "1", "10"}}};
    case Method::dap: return {{"feature-scaling", {"sqrt-l2", "standardize"}}, {"lambda", {"0.1", "1", "10", "100"}}};
    case Method::sae:
    case Method::sae_reverse:
      return {
          {"feature-scaling", {"sqrt-l2", "l2"}}, semantics, {"lambda", {"0.001", "0.01", "0.1", "1", "10", "100"}}};
    case Method::ridge:
    case Method::reverse_ridge: break;
  }
  return {features, semantics, lambda};
}

}  // namespace

std::vector<GridAxis> search_grid(const TrainOptions& options) {
  std::vector<GridAxis> axes;
  if (options.grid.empty()) {
    for (auto& axis : default_grid(options))
      if (std::find(options.pinned.begin(), options.pinned.end(), axis.option) == options.pinned.end())
        axes.push_back(std::move(axis));
  } else {
    for (const auto& part : split_list(options.grid, ';')) {
      const auto equals = part.find('=');
      if (equals == std::string::npos)
        throw Error(ErrorCode::usage, fmt::format("--grid: expected name=v1,v2, found '{}'", part));
      axes.push_back({part.substr(0, equals), split_list(part.substr(equals + 1), ',')});
    }
  }
  TrainOptions probe = options;
  const OptionTable table = train_option_table(probe);
  for (const auto& axis : axes) {
    const Option* option = table.find(axis.option);
    if (option == nullptr || axis.values.empty())
      throw Error(ErrorCode::usage,
                  fmt::format("--grid: expected an option of 'train' with values, found '{}'", axis.option));
    for (const auto& value : axis.values)
      if (const auto expected = option->assign(value))
        throw Error(ErrorCode::usage,
                    fmt::format("--grid: {}: expected {}, found '{}'", axis.option, *expected, value));
  }
  return axes;
}

Selected select_options(const Dataset& data, const TrainOptions& options, const std::vector<Fold>& folds,
                        ThreadPool& pool, ProgressObserver* progress) {
  const auto axes = options.select ? search_grid(options) : std::vector<GridAxis>{};
  std::size_t count = 1;
  for (const auto& axis : axes) count *= axis.values.size();

  std::vector<TrainOptions> candidates;
  Selected best;
  for (std::size_t i = 0; i < count; ++i) {
    TrainOptions candidate = options;
    OptionTable table = train_option_table(candidate);
    SelectionStep step;
    std::size_t rest = i, block = count;
    for (const auto& axis : axes) {
      block /= axis.values.size();
      const std::string& value = axis.values[rest / block];
      rest %= block;
      table.find(axis.option)->assign(value);
      step.choice += (step.choice.empty() ? "" : " ") + axis.option + "=" + value;
    }
    validate(candidate);
    candidates.push_back(std::move(candidate));
    best.trace.push_back(std::move(step));
  }
  std::vector<FoldResult> sums(count, FoldResult{0, 0, 0, 0});
  const double share = 1.0 / static_cast<double>(folds.size());
  for (std::size_t f = 0; f < folds.size(); ++f) {
    Fitter fitter(data, folds[f].fit, pool, progress);
    for (std::size_t i = 0; i < count; ++i) {
      report(progress, {"select", f * count + i, folds.size() * count, "fits"});
      nlohmann::ordered_json unused;
      const auto checkpoint = options.select || options.checkpoint.empty()
                                  ? std::filesystem::path()
                                  : std::filesystem::path(options.checkpoint.string() + ".fold" + std::to_string(f));
      // Candidates are told apart well before the final certificate's precision.
      TrainOptions quick = candidates[i];
      if (count > 1) quick.tolerance = std::max(quick.tolerance, kSelectionTolerance);
      const FoldResult result = evaluate_fold(fitter.fit(quick, unused, checkpoint), data, folds[f], pool);
      sums[i].zsl += share * result.zsl;
      sums[i].h += share * result.h;
      sums[i].gamma += share * result.gamma;
      sums[i].temperature += share * result.temperature;
      if (options.select)
        report_message(progress, fmt::format("fold {}/{}  {:>5.2f} ZSL  {:>5.2f} H  {}", f + 1, folds.size(),
                                             result.zsl, result.h, best.trace[i].choice));
    }
  }
  std::size_t winner = 0;
  for (std::size_t i = 0; i < count; ++i) {
    best.trace[i].zsl = sums[i].zsl;
    best.trace[i].h = sums[i].h;
    if (sums[i].zsl > sums[winner].zsl) winner = i;
  }
  best.options = candidates[winner];
  best.gamma = sums[winner].gamma;
  best.temperature = sums[winner].temperature;
  best.zsl = sums[winner].zsl;
  best.h = sums[winner].h;
  return best;
}

}  // namespace parsnets
