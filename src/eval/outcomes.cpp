#include "eval/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/rows.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint32_t kMostRuns = 65535;

void check_count(std::size_t found, std::size_t expected, const char* field) {
  if (found != expected)
    throw Error(BadInput{"outcomes", field, fmt::format("{}, one per test sample", expected), std::to_string(found),
                         "pass the outcomes of all test samples"});
}

void check(const Outcomes& outcomes) {
  if (outcomes.runs < 1 || outcomes.runs > kMostRuns)
    throw Error(BadInput{"outcomes", "runs", fmt::format("1 to {}", kMostRuns), std::to_string(outcomes.runs),
                         "pass fewer runs"});
  if (outcomes.unseen_labels.empty())
    throw Error(BadInput{"outcomes", "labels", "at least one test sample", "none", "check the split"});
  const bool gzsl = !outcomes.seen_labels.empty();
  check_count(outcomes.zsl.size(), outcomes.unseen_labels.size(), "zsl");
  check_count(outcomes.unseen.size(), gzsl ? outcomes.unseen_labels.size() : 0, "unseen");
  check_count(outcomes.seen.size(), outcomes.seen_labels.size(), "seen");
  for (const auto* values : {&outcomes.zsl, &outcomes.unseen, &outcomes.seen})
    for (const auto v : *values)
      if (v > outcomes.runs)
        throw Error(BadInput{"outcomes", "runs in which a sample was right", fmt::format("at most {}", outcomes.runs),
                             std::to_string(v), "count each run once"});
}

/// The samples by class, in their order within it.
std::vector<std::size_t> by_class(const std::vector<std::int32_t>& labels) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  return order;
}

}  // namespace

Outcomes outcomes_of(const Dataset& data, std::span<const Correctness> runs) {
  if (runs.empty() || runs.size() > kMostRuns)
    throw Error(BadInput{data.name, "runs", fmt::format("1 to {}", kMostRuns), std::to_string(runs.size()),
                         "pass each evaluation once"});
  Outcomes out;
  out.runs = static_cast<std::uint32_t>(runs.size());
  out.unseen_labels = labels_of(data, data.split.test_unseen);
  out.seen_labels = labels_of(data, data.split.test_seen);
  const auto add = [](const std::vector<std::uint8_t>& from, std::size_t samples, const char* field,
                      std::vector<std::uint16_t>& to) {
    check_count(from.size(), samples, field);
    to.resize(samples, 0);
    for (std::size_t i = 0; i < samples; ++i) to[i] = static_cast<std::uint16_t>(to[i] + (from[i] != 0));
  };
  const std::size_t seen = out.seen_labels.size(), unseen = out.unseen_labels.size();
  for (const auto& run : runs) {
    add(run.zsl, unseen, "zsl", out.zsl);
    add(run.unseen, seen > 0 ? unseen : 0, "unseen", out.unseen);
    add(run.seen, seen, "seen", out.seen);
  }
  return out;
}

PairedOutcomes paired(const Outcomes& first, const Outcomes* second) {
  check(first);
  if (second != nullptr) {
    check(*second);
    if (first.unseen_labels != second->unseen_labels || first.seen_labels != second->seen_labels)
      throw Error(BadInput{"outcomes", "labels", "those of the other method", "others",
                           "compare methods on the same test samples"});
  }
  const auto side = [&](const std::vector<std::int32_t>& labels, const std::vector<std::uint16_t> Outcomes::*zsl,
                        const std::vector<std::uint16_t> Outcomes::*gzsl) {
    const auto order = by_class(labels);
    OutcomeSide out;
    for (std::size_t r = 0; r < order.size(); ++r)
      if (r == 0 || labels[order[r]] != labels[order[r - 1]]) out.first.push_back(r);
    out.first.push_back(order.size());
    out.rows.assign(order.size(), OutcomeRow{});
    const Outcomes* methods[] = {&first, second};
    for (std::size_t m = 0; m < 2; ++m) {
      if (methods[m] == nullptr) continue;
      out.scale[2 * m] = out.scale[2 * m + 1] = 100.0 / methods[m]->runs;
      for (std::size_t r = 0; r < order.size(); ++r) {
        if (zsl != nullptr) out.rows[r][2 * m] = (methods[m]->*zsl)[order[r]];
        if (!(methods[m]->*gzsl).empty()) out.rows[r][2 * m + 1] = (methods[m]->*gzsl)[order[r]];
      }
    }
    return out;
  };
  return {!first.seen_labels.empty(), side(first.unseen_labels, &Outcomes::zsl, &Outcomes::unseen),
          side(first.seen_labels, nullptr, &Outcomes::seen)};
}

void check_options(const UncertaintyOptions& options) {
  if (options.replicates < 40 || options.draws < 1)
    throw Error(ErrorCode::usage,
                fmt::format("uncertainty: expected at least 40 replicates and 1 draw, found {} and {}",
                            options.replicates, options.draws));
}

}  // namespace parsnets
