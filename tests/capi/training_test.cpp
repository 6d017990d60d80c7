#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/file.hpp"
#include "capi/small_handles.hpp"
#include "cli/run_cli.hpp"
#include "eval/random_outcomes.hpp"
#include "eval/uncertainty.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

DatasetHandle demo(std::uint64_t seed = 1) {
  parsnets_load_options options = PARSNETS_LOAD_OPTIONS_INIT;
  options.seed = seed;
  parsnets_dataset* data = nullptr;
  EXPECT_OK(parsnets_dataset_load(kDemo.c_str(), &options, nullptr, nullptr, &data));
  return DatasetHandle(data);
}

/// Threads that run. One that has been joined may still be listed while it ends.
std::size_t threads_now() {
  constexpr unsigned kExiting = 4;  // PF_EXITING of the kernel
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string word;
    while (file >> word && !word.ends_with(')')) {
    }
    for (int i = 0; i < 6; ++i) file >> word;  // state, parent, group, session, terminal, its group
    unsigned flags = kExiting;                 // it is gone if they cannot be read
    if (file >> flags && (flags & kExiting) == 0) ++count;
  }
  return count;
}

parsnets_status evaluate_by(const parsnets_evaluate_options& options, const ModelHandle& model,
                            const DatasetHandle& data, parsnets_evaluation& figures) {
  return parsnets_evaluate(model.get(), data.get(), &options, 1, nullptr, nullptr, &figures);
}

parsnets_evaluation evaluated(const parsnets_model* model, const parsnets_dataset* data) {
  auto figures = sized<parsnets_evaluation>();
  EXPECT_OK(parsnets_evaluate(model, data, nullptr, 1, nullptr, nullptr, &figures));
  return figures;
}

parsnets_outcomes view_of(const Outcomes& o) {
  auto out = sized<parsnets_outcomes>();
  out.unseen_labels = o.unseen_labels.data();
  out.seen_labels = o.seen_labels.data();
  out.zsl = o.zsl.data();
  out.unseen = o.unseen.data();
  out.seen = o.seen.data();
  out.unseen_samples = o.unseen_labels.size();
  out.seen_samples = o.seen_labels.size();
  out.runs = o.runs;
  return out;
}

void expect_same(const parsnets_interval& found, const BootstrapInterval& expected) {
  EXPECT_EQ(found.estimate, expected.estimate);
  EXPECT_EQ(found.low, expected.low);
  EXPECT_EQ(found.high, expected.high);
}

void expect_same(const parsnets_difference& found, const PairedDifference& expected) {
  expect_same(found.difference, expected.difference);
  EXPECT_EQ(found.p, expected.p);
  EXPECT_EQ(found.exact, expected.exact ? 1 : 0);
}

}  // namespace

TEST(CApiTraining, GivesTheBytesOfTheCommandLine) {
  TempDir dir;
  const std::string mine = (dir / "c.safetensors").string(), cli = (dir / "cli.safetensors").string();
  const std::vector<Options> cases{
      {{"method", "ridge"}}, {}, {{"method", "ridge"}, {"search", "grid"}, {"lambda", "3"}, {"seed", "7"}}};
  for (const auto& options : cases) {
    std::vector<std::string> arguments{"train", "--data", kDemo, "--out", cli, "--quiet"};
    std::uint64_t seed = 1;
    for (const auto& [name, value] : options) {
      arguments.push_back("--" + name);
      arguments.push_back(value);
      if (name == "seed") seed = std::stoull(value);
    }
    const auto result = run_cli(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_OK(parsnets_model_save(trained(demo(seed).get(), options, 2).get(), mine.c_str()));
    EXPECT_TRUE(same_file_bytes(mine, cli)) << options.size() << " options";
  }
}

TEST(CApiTraining, EvaluatesAsTheCommandLineDoes) {
  const TempDir dir;
  const std::string file = (dir / "m.safetensors").string();
  const auto data = demo();
  const auto model = trained(data.get());
  ASSERT_OK(parsnets_model_save(model.get(), file.c_str()));
  const auto expected = run_cli({"eval", "--model", file, "--data", kDemo, "--json"}).json();
  const auto figures = evaluated(loaded(file).get(), data.get());
  EXPECT_EQ(figures.zsl_top1_per_class, expected["zsl"]["top1_per_class"].get<double>());
  EXPECT_EQ(figures.zsl_top1, expected["zsl"]["top1"].get<double>());
  EXPECT_EQ(figures.zsl_top5, expected["zsl"]["top5"].get<double>());
  EXPECT_EQ(figures.has_gzsl, 1);
  EXPECT_EQ(figures.u, expected["gzsl"]["u"].get<double>());
  EXPECT_EQ(figures.s, expected["gzsl"]["s"].get<double>());
  EXPECT_EQ(figures.h, expected["gzsl"]["h"].get<double>());
  EXPECT_EQ(figures.ausuc, expected["gzsl"]["ausuc"].get<double>());
  EXPECT_EQ(figures.gamma, expected["gzsl"]["gamma"].get<double>());
  EXPECT_EQ(figures.gamma, info_of(model.get()).gamma);
  const std::pair<const char*, parsnets_interval> intervals[] = {
      {"zsl", figures.zsl_interval}, {"u", figures.u_interval}, {"s", figures.s_interval}, {"h", figures.h_interval}};
  for (const auto& [name, interval] : intervals) {
    EXPECT_EQ(interval.estimate, expected["intervals"][name]["estimate"].get<double>()) << name;
    EXPECT_EQ(interval.low, expected["intervals"][name]["low"].get<double>()) << name;
    EXPECT_EQ(interval.high, expected["intervals"][name]["high"].get<double>()) << name;
  }
  parsnets_evaluation old{};  // of a header without intervals
  old.size = offsetof(parsnets_evaluation, zsl_interval);
  old.h_interval.low = -7;
  ASSERT_OK(parsnets_evaluate(model.get(), data.get(), nullptr, 1, nullptr, nullptr, &old));
  EXPECT_EQ(old.h, figures.h);
  EXPECT_EQ(old.h_interval.low, -7);
}

TEST(CApiTraining, TheCurveGoesThroughTheResultsAtGamma) {
  const auto data = demo();
  const auto model = trained(data.get());
  std::vector<double> curve(3 * 2401);
  std::size_t points = 0;
  auto figures = sized<parsnets_evaluation>();
  parsnets_evaluate_options options = PARSNETS_EVALUATE_OPTIONS_INIT;
  options.curve = curve.data();
  options.curve_capacity = curve.size() / 3;
  const auto evaluate = [&] { return evaluate_by(options, model, data, figures); };
  EXPECT_EQ(evaluate(), PARSNETS_USAGE) << "no room for the number of points";
  options.curve_points = &points;
  ASSERT_OK(evaluate());
  ASSERT_GT(points, 10u);
  std::size_t at = 0;
  double area = 0;
  for (std::size_t p = 1; p < points; ++p) {
    const double *before = &curve[3 * (p - 1)], *here = &curve[3 * p];
    EXPECT_LT(before[0], here[0]);
    area += (here[1] - before[1]) * (here[2] + before[2]) / 2 / 100;
    if (here[0] <= figures.gamma) at = p;
  }
  EXPECT_EQ(curve[3 * at + 1], figures.u);
  EXPECT_EQ(curve[3 * at + 2], figures.s);
  EXPECT_NEAR(area, figures.ausuc, 1e-9);
  options.curve_capacity = points - 1;
  EXPECT_TRUE(fails(evaluate(), PARSNETS_USAGE, "curve_capacity"));
}

TEST(CApiTraining, SetsAndReliabilityAreMeasuredOnTestSamples) {
  const auto data = demo();
  const auto model = trained(data.get(), {{"method", "ridge"}, {"false-accept", "0.2"}}), plain = trained(data.get());
  const auto info = info_of(data.get());
  auto figures = sized<parsnets_evaluation>();
  const double coverages[] = {0.6, 0.95};
  double sets[8], reliability[2][PARSNETS_RELIABILITY_BINS][3];
  parsnets_evaluate_options options = PARSNETS_EVALUATE_OPTIONS_INIT;
  options.coverages = coverages;
  options.coverage_count = 2;
  options.reliability = &reliability[0][0][0];
  const auto evaluate = [&](const ModelHandle& which) { return evaluate_by(options, which, data, figures); };
  EXPECT_EQ(evaluate(model), PARSNETS_USAGE) << "no room for the sets";
  options.sets = sets;
  ASSERT_OK(evaluate(model));
  const double expected_ece[] = {figures.seen_ece, figures.unseen_ece};
  const std::size_t samples[] = {info.test_seen, info.test_unseen};
  for (const std::size_t side : {0u, 1u}) {
    double count = 0, error = 0;
    for (const auto& bin : reliability[side]) {
      count += bin[0];
      error += bin[0] * std::abs(bin[1] - bin[2]);
    }
    EXPECT_EQ(count, static_cast<double>(samples[side]));
    EXPECT_NEAR(error / count, expected_ece[side], 1e-9);
    EXPECT_GT(expected_ece[side], 0);
  }
  std::vector<std::int32_t> members(info.classes);
  for (const std::size_t k : {0u, 1u})
    for (const std::size_t side : {0u, 1u}) {
      const auto rows = list_of(data.get(), side == 0 ? PARSNETS_SPLIT_TEST_SEEN : PARSNETS_SPLIT_TEST_UNSEEN);
      const auto count = static_cast<double>(rows.size());
      std::size_t covered = 0, size = 0, all = 0;
      for (const auto sample : rows) {
        const auto row = static_cast<std::size_t>(sample);
        ASSERT_OK(parsnets_predict_sets(model.get(), info.features + row * info.dimensions, 1, info.dimensions,
                                        coverages[k], 1, members.data(), &size, info.classes));
        covered += static_cast<std::size_t>(std::count(members.begin(), members.end(), info.labels[row]));
        all += size;
      }
      EXPECT_NEAR(sets[4 * k + 2 * side], 100.0 * static_cast<double>(covered) / count, 1e-9);
      EXPECT_NEAR(sets[4 * k + 2 * side + 1], static_cast<double>(all) / count, 1e-9);
    }
  EXPECT_TRUE(fails(evaluate(plain), PARSNETS_USAGE, "calibrate"));
  options.coverages = nullptr;
  EXPECT_OK(evaluate(plain));
}

TEST(CApiTraining, TestSamplesThatWereTrainedOnAreRefusedUnlessAllowed) {
  SmallArrays small;
  const auto model = trained(small.handle().get());
  std::size_t moved = 0;  // of one seen class: what was for training is for testing now
  for (const auto s : small.data.split.trainval)
    if (small.data.labels[static_cast<std::size_t>(s)] ==
            small.data.labels[static_cast<std::size_t>(small.data.split.test_seen[0])] &&
        ++moved <= 2)
      small.test[static_cast<std::size_t>(s)] = 1;
  const auto data = small.handle();
  auto figures = sized<parsnets_evaluation>();
  EXPECT_TRUE(fails(parsnets_evaluate(model.get(), data.get(), nullptr, 1, nullptr, nullptr, &figures),
                    PARSNETS_BAD_INPUT, "found 2 of"));
  parsnets_evaluate_options options = PARSNETS_EVALUATE_OPTIONS_INIT;
  options.allow_trained_samples = 1;
  EXPECT_OK(evaluate_by(options, model, data, figures));
  EXPECT_EQ(figures.trained_samples, 2);
  options.reserved = 1;
  EXPECT_TRUE(fails(evaluate_by(options, model, data, figures), PARSNETS_USAGE, "reserved"));
}

TEST(CApiTraining, ArraysTrainTheModelOfTheirFolder) {
  const auto folder = demo();
  SmallArrays arrays(load_dataset(kDemo));
  arrays.arrays.attribute_names = nullptr;
  arrays.arrays.borrow_features = 1;
  const auto data = arrays.handle();
  const Options options{{"method", "ridge"}, {"calibrate", "false"}};
  const auto of_folder = evaluated(trained(folder.get(), options).get(), folder.get()),
             of_arrays = evaluated(trained(data.get(), options).get(), data.get());
  EXPECT_EQ(of_arrays.zsl_top1_per_class, of_folder.zsl_top1_per_class);
  EXPECT_EQ(of_arrays.ausuc, of_folder.ausuc);
  EXPECT_EQ(of_arrays.gamma, 0);
}

TEST(CApiTraining, TheProgressFunctionSeesTheWorkAndCancelsIt) {
  struct Watch {
    int calls = 0, stop_at = 0;
  };
  const auto watch = [](const parsnets_progress* progress, void* user) {
    auto& w = *static_cast<Watch*>(user);
    EXPECT_EQ(progress->size, sizeof *progress);
    EXPECT_STRNE(progress->stage, "");
    return ++w.calls == w.stop_at ? 1 : 0;
  };
  const auto data = demo();
  const auto options = handle_with({});
  parsnets_model* model = nullptr;
  Watch all;
  ASSERT_OK(parsnets_train(data.get(), options.get(), 1, watch, &all, &model));
  ModelHandle kept(model);
  ASSERT_GT(all.calls, 3);
  for (const int stop_at : {1, all.calls / 2, all.calls}) {
    Watch some{0, stop_at};
    EXPECT_EQ(parsnets_train(data.get(), options.get(), 2, watch, &some, &model), PARSNETS_CANCELLED) << stop_at;
    EXPECT_EQ(some.calls, stop_at) << "asked no more";
    EXPECT_EQ(model, nullptr);
  }
  auto figures = sized<parsnets_evaluation>();
  Watch first{0, 1};
  EXPECT_EQ(parsnets_evaluate(kept.get(), data.get(), nullptr, 1, watch, &first, &figures), PARSNETS_CANCELLED);
}

TEST(CApiTraining, OneThreadStartsNone) {
  const auto count = [](const parsnets_progress*, void* user) {
    auto& most = *static_cast<std::size_t*>(user);
    most = std::max(most, threads_now());
    return 0;
  };
  const auto data = demo();
  const auto options = handle_with({});
  const auto most_with = [&](std::uint32_t threads) {
    std::size_t most = 0;
    parsnets_model* model = nullptr;
    EXPECT_OK(parsnets_train(data.get(), options.get(), threads, count, &most, &model));
    parsnets_model_free(model);
    return most;
  };
  std::thread([] {}).join();  // what a sanitizer starts with the first thread is there from now on
  const std::size_t before = threads_now();
  EXPECT_EQ(most_with(1), before);
  EXPECT_EQ(most_with(3), before + 2);
  EXPECT_EQ(threads_now(), before);
}

TEST(CApiTraining, ImpossibleRequestsSayWhatIsWrong) {
  SmallArrays small;
  const auto data = small.handle();
  parsnets_model* model = nullptr;
  const auto train = [&](const Options& options) {
    return parsnets_train(data.get(), handle_with(options).get(), 1, nullptr, nullptr, &model);
  };
  EXPECT_TRUE(fails(train({{"method", "scln"}, {"networks", "4"}, {"active", "5"}, {"encoding", "24"}}), PARSNETS_USAGE,
                    "active"));
  EXPECT_TRUE(fails(train({{"c", "0.5"}}), PARSNETS_USAGE, "does not have 'c'"));
  EXPECT_EQ(model, nullptr);
  small.arrays.test = nullptr;
  auto figures = sized<parsnets_evaluation>();
  const auto fewer = trained(data.get());
  EXPECT_EQ(parsnets_evaluate(fewer.get(), small.handle().get(), nullptr, 1, nullptr, nullptr, &figures),
            PARSNETS_BAD_INPUT);
  ASSERT_OK(parsnets_model_remove_class(fewer.get(),
                                        small.class_names[static_cast<std::size_t>(small.data.unseen_classes()[0])]));
  EXPECT_TRUE(fails(parsnets_evaluate(fewer.get(), data.get(), nullptr, 1, nullptr, nullptr, &figures),
                    PARSNETS_BAD_INPUT, "class"));
}

TEST(CApiTraining, AccuraciesByClassAgreeWithTheConfusions) {
  const SmallModel s;
  const std::size_t c = s.small.arrays.classes;
  std::vector<double> zsl(c), gzsl(c);
  std::vector<std::uint32_t> confusion(c * c);
  auto figures = sized<parsnets_evaluation>();
  parsnets_evaluate_options options = PARSNETS_EVALUATE_OPTIONS_INIT;
  options.zsl = zsl.data();
  options.gzsl = gzsl.data();
  options.confusion = confusion.data();
  options.classes = c;
  ASSERT_OK(evaluate_by(options, s.model, s.data, figures));
  const auto seen = info_of(s.model.get()).seen;
  double sum[2] = {0, 0}, count[2] = {0, 0}, zsl_sum = 0;
  std::size_t samples = 0;
  for (std::size_t k = 0; k < c; ++k) {
    EXPECT_EQ(std::isnan(zsl[k]), seen[k] != 0);
    const double all = std::accumulate(&confusion[k * c], &confusion[k * c] + c, 0.0);
    ASSERT_GT(all, 0);
    EXPECT_NEAR(gzsl[k], 100.0 * confusion[k * c + k] / all, 1e-9);
    sum[seen[k]] += gzsl[k];
    count[seen[k]] += 1;
    if (!seen[k]) zsl_sum += zsl[k];
    samples += static_cast<std::size_t>(all);
  }
  EXPECT_NEAR(sum[0] / count[0], figures.u, 1e-9);
  EXPECT_NEAR(sum[1] / count[1], figures.s, 1e-9);
  EXPECT_NEAR(zsl_sum / count[0], figures.zsl_top1_per_class, 1e-9);
  EXPECT_EQ(samples, s.small.data.split.test_seen.size() + s.small.data.split.test_unseen.size());
  options.classes = c - 1;
  EXPECT_EQ(evaluate_by(options, s.model, s.data, figures), PARSNETS_BAD_INPUT);
}

TEST(CApiUncertainty, GivesTheIntervalsAndComparisonsOfTheLibrary) {
  const auto a = random_outcomes(1, 9, 7, 0.6, 0.3, 2), b = random_outcomes(2, 9, 7, 0.5, 0.3);
  const auto first = view_of(a), second = view_of(b);
  ThreadPool pool(1);
  parsnets_uncertainty_options options = PARSNETS_UNCERTAINTY_OPTIONS_INIT;
  for (const auto* given : {static_cast<const parsnets_uncertainty_options*>(nullptr), &std::as_const(options)}) {
    if (given != nullptr) options.seed = 5, options.replicates = 100, options.draws = 50;
    const UncertaintyOptions same = given == nullptr ? UncertaintyOptions{} : UncertaintyOptions{100, 50, 5};
    auto intervals = sized<parsnets_intervals>();
    ASSERT_OK(parsnets_bootstrap_intervals(&first, given, 2, &intervals));
    const auto expected = bootstrap_intervals(a, pool, same);
    expect_same(intervals.zsl, expected.zsl);
    expect_same(intervals.u, expected.u);
    expect_same(intervals.s, expected.s);
    expect_same(intervals.h, expected.h);
    auto comparison = sized<parsnets_comparison>();
    ASSERT_OK(parsnets_compare_paired(&first, &second, given, 2, &comparison));
    const auto difference = compare_paired(a, b, pool, same);
    expect_same(comparison.zsl, difference.zsl);
    expect_same(comparison.u, difference.u);
    expect_same(comparison.s, difference.s);
    expect_same(comparison.h, difference.h);
  }
}

TEST(CApiUncertainty, WithoutSeenSamplesThereIsZslAlone) {
  const auto a = random_outcomes(1, 9, 7, 0.6, 0.3);
  auto zsl = view_of(a);
  zsl.seen_samples = 0;
  zsl.seen_labels = nullptr;
  zsl.unseen = zsl.seen = nullptr;
  auto comparison = sized<parsnets_comparison>();
  ASSERT_OK(parsnets_compare_paired(&zsl, &zsl, nullptr, 1, &comparison));
  EXPECT_EQ(comparison.zsl.p, 1);
  EXPECT_EQ(comparison.h.p, 0);
}

TEST(CApiUncertainty, RefusesWhatCannotBeCounted) {
  const auto a = random_outcomes(1, 4, 3, 0.6, 0.3);
  auto intervals = sized<parsnets_intervals>();
  const auto status = [&](auto change) {
    auto bad = view_of(a);
    change(bad);
    return parsnets_bootstrap_intervals(&bad, nullptr, 1, &intervals);
  };
  EXPECT_EQ(status([](auto& bad) { bad.zsl = nullptr; }), PARSNETS_USAGE);
  EXPECT_EQ(status([](auto& bad) { bad.reserved = 1; }), PARSNETS_USAGE);
  EXPECT_EQ(status([](auto& bad) { bad.runs = 0; }), PARSNETS_BAD_INPUT);
  const auto good = view_of(a);
  parsnets_uncertainty_options options = PARSNETS_UNCERTAINTY_OPTIONS_INIT;
  options.replicates = 3;
  EXPECT_EQ(parsnets_bootstrap_intervals(&good, &options, 1, &intervals), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_bootstrap_intervals(&good, nullptr, 1, nullptr), PARSNETS_USAGE);
  auto fewer = view_of(a);
  --fewer.unseen_samples;
  auto comparison = sized<parsnets_comparison>();
  EXPECT_EQ(parsnets_compare_paired(&good, &fewer, nullptr, 1, &comparison), PARSNETS_BAD_INPUT);
}

}  // namespace parsnets::test
