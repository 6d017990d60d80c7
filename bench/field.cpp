// How adapting to unlabelled samples copes with piles that are not what it expects.
// Usage: bench_field DATA [semantics=att] [seeds=3] [features=]
//
// The validation classes of the data set's split play the unseen classes; test samples are never read. Per seed, a
// model is trained without them and without a fifth of the samples of each other class, which are the test samples of
// seen classes. Half of the samples of each of these two kinds is what piles are drawn from, the other half is what is
// evaluated, so that gains are not of samples that the model has adapted to. Figures are means over the seeds.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "base/rng.hpp"
#include "data/rows.hpp"
#include "data/split.hpp"
#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"

namespace {

using namespace parsnets;
using Rows = std::vector<std::int32_t>;

/// A data set whose test samples are of validation classes, and what piles are drawn from.
struct Problem {
  Dataset data;
  Rows seen, unseen;  ///< for piles
};

std::map<std::int32_t, Rows> by_class(const Dataset& data, const Rows& rows) {
  std::map<std::int32_t, Rows> members;
  for (const auto r : rows) members[data.labels[static_cast<std::size_t>(r)]].push_back(r);
  return members;
}

void append(Rows& to, std::span<const std::int32_t> rows) { to.insert(to.end(), rows.begin(), rows.end()); }

Problem validation_problem(const std::filesystem::path& folder, const LoadOptions& load, std::uint64_t seed) {
  Problem problem{load_dataset(folder, load), {}, {}};
  const Split own = problem.data.split;
  if (own.val.empty()) throw Error(BadInput{folder.string(), "split", "validation classes", "none", ""});
  Split split;
  split.file = "validation classes";
  Rng rng(seed, 17);
  for (auto& [c, rows] : by_class(problem.data, own.val)) {
    rng.shuffle(rows);
    const std::span<const std::int32_t> all(rows);
    append(split.test_unseen, all.first(all.size() / 2));
    append(problem.unseen, all.subspan(all.size() / 2));
  }
  for (auto& [c, rows] : by_class(problem.data, own.train)) {
    rng.shuffle(rows);
    const std::span<const std::int32_t> all(rows);
    const std::size_t held = all.size() / 5;
    append(split.test_seen, all.first(held / 2));
    append(problem.seen, all.subspan(held / 2, held - held / 2));
    append(split.trainval, all.subspan(held));
  }
  for (Rows* list : {&split.test_unseen, &split.test_seen, &split.trainval}) std::ranges::sort(*list);
  derive_validation(split, problem.data.labels, {}, seed);
  problem.data.split = std::move(split);
  return problem;
}

/// `share` of the classes of these samples, drawn.
std::vector<std::int32_t> drawn_classes(const Dataset& data, const Rows& rows, double share, Rng& rng) {
  std::vector<std::int32_t> classes;
  for (const auto& [c, unused] : by_class(data, rows)) classes.push_back(c);
  rng.shuffle(classes);
  classes.resize(static_cast<std::size_t>(std::lround(share * static_cast<double>(classes.size()))));
  return classes;
}

Rows without(const Dataset& data, const Rows& rows, const std::vector<std::int32_t>& classes) {
  Rows left;
  for (const auto r : rows)
    if (std::ranges::find(classes, data.labels[static_cast<std::size_t>(r)]) == classes.end()) left.push_back(r);
  return left;
}

/// Expected sizes of classes fall in equal ratios from the largest to a fiftieth of it.
Rows uneven(const Dataset& data, const Rows& rows, Rng& rng) {
  std::vector<Rows> members;
  for (auto& [c, list] : by_class(data, rows)) members.push_back(list);
  rng.shuffle(members);
  Rows pile;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double share =
        std::pow(50.0, -static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(members.size() - 1, 1)));
    const auto size = static_cast<std::size_t>(share * static_cast<double>(members[i].size()) + rng.uniform());
    rng.shuffle(members[i]);
    append(pile, std::span(members[i]).first(std::min(size, members[i].size())));
  }
  return pile;
}

/// Trained without the validation classes; the bank holds these and the classes of training alone.
Model trained(const Dataset& data, std::uint64_t seed, ThreadPool& pool) {
  TrainOptions options;
  options.run.seed = seed;
  Model model = train(data, options, pool);
  std::vector<std::string> others;
  const auto seen = data.seen_classes(), unseen = data.unseen_classes();
  for (std::size_t c = 0; c < data.classes(); ++c)
    if (const auto index = static_cast<std::int32_t>(c);
        !std::ranges::binary_search(seen, index) && !std::ranges::binary_search(unseen, index))
      others.push_back(data.class_names[c]);
  if (!others.empty()) model.remove_classes(others);
  return model;
}

struct Figures {
  double zsl = 0, h = 0, classes = 0;  ///< classes that moved
};

struct Line {
  std::string pile;
  std::vector<Figures> before, after;
  std::vector<double> sizes;
};

std::string mean_of(const std::vector<Figures>& list, double Figures::*field) {
  std::vector<double> values;
  for (const auto& one : list) values.push_back(one.*field);
  const Interval interval = confidence_interval(values);
  return values.size() < 2 ? fmt::format("{:.2f}", interval.mean)
                           : fmt::format("{:.2f} ± {:.2f}", interval.mean, interval.sd);
}

std::string change(const Line& line, double Figures::*field) {
  std::vector<double> values;
  for (std::size_t i = 0; i < line.after.size(); ++i) values.push_back(line.after[i].*field - line.before[i].*field);
  return fmt::format("{:+.2f}", confidence_interval(values).mean);
}

void measure(const Model& model, const Dataset& data, const Rows& pile, ThreadPool& pool, Line& line) {
  const auto figures = [&](const Model& one, std::size_t moved) {
    const Evaluation result = evaluate(one, data, pool);
    return Figures{result.zsl.top1_per_class, result.gzsl.h, static_cast<double>(moved)};
  };
  line.before.push_back(figures(model, 0));
  Model copy = shared_copy(model);
  const Adaptation adapted = adapt(copy, gather_rows(data.features.view(), pile).view(), {}, pool);
  line.after.push_back(figures(copy, adapted.moves.size()));
  line.sizes.push_back(static_cast<double>(pile.size()));
}

int run(const std::string& folder, const LoadOptions& load, int seeds) {
  ThreadPool pool;
  std::vector<Line> lines;
  for (const char* name : {"mixed", "unseen alone", "mixed, half of the unseen classes missing",
                           "unseen alone, sizes of classes up to 50:1",
                           "unseen alone, 30 % of their classes not in the model", "seen alone"})
    lines.push_back({name, {}, {}, {}});
  for (int seed = 1; seed <= seeds; ++seed) {
    Problem problem = validation_problem(folder, load, static_cast<std::uint64_t>(seed));
    Dataset& data = problem.data;
    Model model = trained(data, static_cast<std::uint64_t>(seed), pool);
    Rng rng(static_cast<std::uint64_t>(seed), 18);
    const auto mixed = [&](Rows rows) {
      append(rows, problem.seen);
      return rows;
    };
    measure(model, data, mixed(problem.unseen), pool, lines[0]);
    measure(model, data, problem.unseen, pool, lines[1]);
    const auto missing = drawn_classes(data, problem.unseen, 0.5, rng);
    measure(model, data, mixed(without(data, problem.unseen, missing)), pool, lines[2]);
    measure(model, data, uneven(data, problem.unseen, rng), pool, lines[3]);
    measure(model, data, problem.seen, pool, lines[5]);
    const auto unknown = drawn_classes(data, problem.unseen, 0.3, rng);
    std::vector<std::string> names;
    for (const auto c : unknown) names.push_back(data.class_names[static_cast<std::size_t>(c)]);
    model.remove_classes(names);
    data.split.test_unseen = without(data, data.split.test_unseen, unknown);
    measure(model, data, problem.unseen, pool, lines[4]);
  }
  fmt::print(
      "| pile | samples | classes moved | ZSL without | ZSL with | change | H without | H with | change |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const Line& line : lines)
    fmt::print("| {} | {:.0f} | {:.0f} | {} | {} | {} | {} | {} | {} |\n", line.pile,
               confidence_interval(line.sizes).mean, std::stod(mean_of(line.after, &Figures::classes)),
               mean_of(line.before, &Figures::zsl), mean_of(line.after, &Figures::zsl), change(line, &Figures::zsl),
               mean_of(line.before, &Figures::h), mean_of(line.after, &Figures::h), change(line, &Figures::h));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_field DATA [semantics=att] [seeds=3] [features=]\n");
    return 2;
  }
  try {
    LoadOptions load;
    if (argc > 2) load.semantics = argv[2];
    if (argc > 4) load.features = argv[4];
    return run(argv[1], load, argc > 3 ? std::max(1, std::atoi(argv[3])) : 3);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
