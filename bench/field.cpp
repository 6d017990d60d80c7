// How adapting to unlabelled samples copes with piles that are not what it expects: accuracies, not times.
//
// The validation classes of the data set's split play the unseen classes; test samples are never read. Per seed, a
// model is trained without them and without a fifth of the samples of each other class, which are the test samples of
// seen classes. Half of the samples of each of these two kinds is what piles are drawn from, the other half is what is
// evaluated, so that gains are not of samples that the model has adapted to.

#include "parsnets/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "data/split.hpp"
#include "eval/metrics.hpp"
#include "model/prediction.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "parsnets_rt.h"
#include "problem.hpp"

namespace bench {

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

/// The validation classes of the split, or where `classes` is not 0 so many drawn ones of training, of which a quarter
/// plays the unseen ones.
Problem validation_problem(const std::filesystem::path& folder, const LoadOptions& load, std::uint64_t seed,
                           std::size_t classes) {
  Problem problem{load_dataset(folder, load), {}, {}};
  const Split own = problem.data.split;
  if (own.val.empty()) throw Error(BadInput{folder.string(), "split", "validation classes", "none", ""});
  Split split;
  split.file = "validation classes";
  Rng rng(seed, 17);
  auto unseen = by_class(problem.data, own.val), seen = by_class(problem.data, own.train);
  if (classes > 0) {
    std::vector<std::pair<std::int32_t, Rows>> all;
    for (auto& one : by_class(problem.data, own.trainval)) all.push_back(one);
    rng.shuffle(all);
    all.resize(std::min(classes, all.size()));
    const auto quarter = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 4);
    unseen = {all.begin(), quarter};
    seen = {quarter, all.end()};
  }
  for (auto& [c, rows] : unseen) {
    rng.shuffle(rows);
    const std::span<const std::int32_t> all(rows);
    append(split.test_unseen, all.first(all.size() / 2));
    append(problem.unseen, all.subspan(all.size() / 2));
  }
  for (auto& [c, rows] : seen) {
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

/// Each feature of a sample is that of another one.
Matrix<float> noise(const Dataset& data, const Rows& rows, std::size_t count, Rng& rng) {
  Matrix<float> drawn(count, data.features.cols());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < drawn.cols(); ++j)
      drawn(i, j) = data.features(static_cast<std::size_t>(rows[rng.below(rows.size())]), j);
  return drawn;
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
  double zsl = 0, h = 0, classes = 0, strong = 0;  ///< classes that moved; whether in the strong form
};

struct Line {
  std::string pile;
  std::vector<Figures> before, after;
  std::vector<double> sizes;
};

std::vector<double> values_of(const std::vector<Figures>& list, double Figures::*field) {
  std::vector<double> values;
  for (const auto& one : list) values.push_back(one.*field);
  return values;
}

double mean_of(const std::vector<double>& values) { return confidence_interval(values).mean; }

json record_of(const Line& line) {
  return {{"pile", line.pile},
          {"samples", line.sizes},
          {"classes_moved", values_of(line.after, &Figures::classes)},
          {"strong_form", values_of(line.after, &Figures::strong)},
          {"zsl_without", values_of(line.before, &Figures::zsl)},
          {"zsl_with", values_of(line.after, &Figures::zsl)},
          {"h_without", values_of(line.before, &Figures::h)},
          {"h_with", values_of(line.after, &Figures::h)}};
}

void measure(const Model& model, const Dataset& data, const Rows& pile, ThreadPool& pool, Line& line,
             const Matrix<float>& more = {}) {
  const auto figures = [&](const Model& one, const Adaptation& told) {
    const Evaluation result = evaluate(one, data, pool);
    return Figures{result.zsl.top1_per_class, result.gzsl.h, static_cast<double>(told.moves.size()),
                   told.form == "strong" ? 1.0 : 0.0};
  };
  line.before.push_back(figures(model, {}));
  Model copy = shared_copy(model);
  const Matrix<float> own = gather_rows(data.features.view(), pile);
  Matrix<float> samples(own.rows() + more.rows(), own.cols());
  std::ranges::copy(own.values(), samples.data());
  std::ranges::copy(more.values(), samples.data() + own.size());
  const Adaptation told = adapt(copy, samples.view(), {}, pool);
  line.after.push_back(figures(copy, told));
  line.sizes.push_back(static_cast<double>(samples.rows()));
}

/// The same on a device: the int8 file, one sample per call, and the harmonic mean with the gamma of the model and with
/// the one that adapting has moved.
json measure_device(const Model& model, const Dataset& data, Rows pile, std::uint64_t seed, ThreadPool& pool) {
  const auto file = device_file(model, Precision::int8, 0, pool);
  const auto require = [](pnrt_status status) {
    if (status != PNRT_OK) throw Error(ErrorCode::failure, pnrt_status_text(status));
  };
  pnrt_model device;
  pnrt_bank bank;
  require(pnrt_open(&device, file.data(), file.size()));
  std::vector<std::uint32_t> memory(pnrt_bank_bytes(&device, 0) / 4 + 1);
  require(pnrt_bank_init(&bank, &device, 0, memory.data(), memory.size() * 4));
  std::vector<std::uint32_t> learning(pnrt_learning_bytes(&bank) / 4), work(pnrt_work_bytes(&device, &bank) / 4 + 1);
  require(pnrt_bank_learn(&bank, learning.data(), learning.size() * 4));
  std::map<std::string, std::int32_t> class_of;
  for (std::size_t c = 0; c < data.classes(); ++c) class_of[data.class_names[c]] = static_cast<std::int32_t>(c);
  std::vector<float> scores(device.classes);
  const auto harmonic_mean_at = [&](float gamma) {
    const auto accuracy = [&](const Rows& rows) {
      std::map<std::int32_t, std::pair<double, double>> right;  // of all, by class
      for (const auto r : rows) {
        require(pnrt_scores(&device, &bank, data.features.row(static_cast<std::size_t>(r)).data(), scores.data(),
                            work.data(), work.size() * 4));
        for (std::size_t c = 0; c < scores.size(); ++c) scores[c] -= device.class_seen[c] != 0 ? gamma : 0;
        const auto best = static_cast<std::uint32_t>(std::ranges::max_element(scores) - scores.begin());
        const auto label = data.labels[static_cast<std::size_t>(r)];
        right[label].first += class_of.at(pnrt_class_name(&device, nullptr, best)) == label ? 1 : 0;
        right[label].second += 1;
      }
      double sum = 0;
      for (const auto& [label, count] : right) sum += 100 * count.first / count.second;
      return sum / static_cast<double>(right.size());
    };
    return harmonic_mean(accuracy(data.split.test_unseen), accuracy(data.split.test_seen));
  };
  const double before = harmonic_mean_at(device.gamma);
  Rng(seed, 19).shuffle(pile);
  for (const auto r : pile)
    require(pnrt_adapt(&bank, data.features.row(static_cast<std::size_t>(r)).data(), 1, nullptr, work.data(),
                       work.size() * 4));
  return {{"h_without", before},
          {"h_held_gamma", harmonic_mean_at(device.gamma)},
          {"h_with", harmonic_mean_at(pnrt_gamma(&device, &bank))}};
}

json measure_piles(const std::string& name, const std::filesystem::path& folder, const LoadOptions& load, int seeds,
                   std::size_t classes) {
  ThreadPool pool;
  std::vector<Line> lines;
  json devices = json::array();
  for (const char* kind :
       {"mixed", "unseen alone", "mixed, half of the unseen classes missing",
        "mixed, a quarter of the unseen classes missing", "unseen alone, sizes of classes up to 50:1", "seen alone",
        "one unseen class alone", "mixed, and 30 % noise", "1 to 5 samples",
        "mixed, 30 % of the unseen classes not in the model"})
    lines.push_back({kind, {}, {}, {}});
  for (int seed = 1; seed <= seeds; ++seed) {
    Problem problem = validation_problem(folder, load, static_cast<std::uint64_t>(seed), classes);
    Dataset& data = problem.data;
    Model model = trained(data, static_cast<std::uint64_t>(seed), pool);
    Rng rng(static_cast<std::uint64_t>(seed), 18);
    const auto mixed = [&](Rows rows) {
      append(rows, problem.seen);
      return rows;
    };
    const auto missing = [&](double share) {
      return mixed(without(data, problem.unseen, drawn_classes(data, problem.unseen, share, rng)));
    };
    const Rows all = mixed(problem.unseen);
    measure(model, data, all, pool, lines[0]);
    devices.push_back(measure_device(model, data, all, static_cast<std::uint64_t>(seed), pool));
    measure(model, data, problem.unseen, pool, lines[1]);
    measure(model, data, missing(0.5), pool, lines[2]);
    measure(model, data, missing(0.25), pool, lines[3]);
    measure(model, data, uneven(data, problem.unseen, rng), pool, lines[4]);
    measure(model, data, problem.seen, pool, lines[5]);
    Rows one = problem.unseen;
    std::erase_if(one, [&](std::int32_t r) {
      return data.labels[static_cast<std::size_t>(r)] != data.labels[static_cast<std::size_t>(problem.unseen[0])];
    });
    measure(model, data, one, pool, lines[6]);
    measure(model, data, all, pool, lines[7], noise(data, data.split.trainval, all.size() * 3 / 7, rng));
    Rows few = problem.unseen;
    rng.shuffle(few);
    few.resize(1 + rng.below(5));
    measure(model, data, few, pool, lines[8]);
    const auto unknown = drawn_classes(data, problem.unseen, 0.3, rng);
    std::vector<std::string> names;
    for (const auto c : unknown) names.push_back(data.class_names[static_cast<std::size_t>(c)]);
    model.remove_classes(names);
    data.split.test_unseen = without(data, data.split.test_unseen, unknown);
    measure(model, data, all, pool, lines[9]);
  }
  json piles = json::array();
  fmt::print("\n{} {}, {}, {} seeds: change of ZSL and H by adapting, mean and worst, share in the strong form\n", name,
             load.semantics, classes > 0 ? fmt::format("{} drawn classes", classes) : "validation classes", seeds);
  for (const Line& line : lines) {
    piles.push_back(record_of(line));
    const auto changes = [&](double Figures::*field) {
      auto after = values_of(line.after, field);
      const auto before = values_of(line.before, field);
      for (std::size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
      return after;
    };
    const auto zsl = changes(&Figures::zsl), h = changes(&Figures::h);
    fmt::print("  {:<52}{:+7.2f}{:+7.2f}{:+8.2f}{:+7.2f}{:6.2f}\n", line.pile, mean_of(zsl), std::ranges::min(zsl),
               mean_of(h), std::ranges::min(h), mean_of(values_of(line.after, &Figures::strong)));
  }
  const auto of_devices = [&](const char* key) {
    std::vector<double> values;
    for (const auto& one : devices) values.push_back(one.at(key));
    return mean_of(values);
  };
  fmt::print(
      "  on a device, one sample of the mixed set per call: H {:.2f} before, {:.2f} after, {:.2f} with held gamma\n",
      of_devices("h_without"), of_devices("h_with"), of_devices("h_held_gamma"));
  std::fflush(stdout);
  return {{"data", name},     {"semantics", load.semantics}, {"classes", classes}, {"seeds", seeds}, {"piles", piles},
          {"device", devices}};
}

/// The data set of the photographs, with the features of MobileNet; says why there is none.
bool extract_photos(const Settings& settings, const std::filesystem::path& out, const std::filesystem::path& log) {
  const auto photographs = settings.data / "photos", classes = settings.sources / "examples/photos/classes.csv";
  if (!std::filesystem::exists(photographs)) return false;
  const std::vector<std::vector<std::string>> commands{
      {settings.program, "extract", photographs, "--backbone", "mobilenet", "--attributes", classes, "--out", out},
      {settings.program, "data", "split", out, "--unseen", "16", "--seed", "1"}};
  for (const auto& command : commands) {
    if (run_program(command, log).exit_code == 0) continue;
    fmt::print("\nphotos left out: {}", read_text_file(log));
    return false;
  }
  return true;
}

}  // namespace

json measure_field(const Settings& settings) {
  const DataSource source = cub(settings);
  // Draws of classes differ far more than draws of samples of the same classes.
  const auto seeds = [&](std::size_t classes) { return settings.quick ? 1 : classes > 0 ? 5 : 3; };
  json sets = json::array();
  for (const char* semantics : {"att", "sent"}) {
    LoadOptions load = source.load;
    load.semantics = semantics;
    for (const std::size_t classes : {0, 100, 48})
      sets.push_back(measure_piles("CUB", source.folder, load, seeds(classes), classes));
  }
  if (const auto folder = settings.data / "AWA1-handmade"; std::filesystem::exists(folder))
    for (const std::size_t classes : {0, 32})
      sets.push_back(measure_piles("AWA1-handmade", folder, {}, seeds(classes), classes));
  const Workspace work;
  if (const auto folder = work / "photos"; extract_photos(settings, folder, work / "log"))
    for (const std::size_t classes : {0, 48})
      sets.push_back(measure_piles("photos", folder, {}, seeds(classes), classes));
  return {{"sets", sets}};
}

}  // namespace bench
