#include "report/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "eval/metrics.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

using nlohmann::json;

using test::TrainedModel;

/// The data of a page about one run.
json page_of(const Model& model, const Dataset& data, const std::vector<BenchFile>& files = {}, unsigned threads = 1) {
  ThreadPool pool(threads);
  ReportOptions options;
  options.points = 150;
  return json::parse(report_data({{"one", &model, &data, R"({"machine": {"cpu": "x"}})", files}}, {}, options, pool));
}

json shown(const TrainedModel& run, const std::vector<BenchFile>& files = {}) {
  return page_of(run.model, run.data, files)["runs"][0];
}

/// Of a list of numbers in JSON.
double sum_of(const json& list) {
  const auto values = list.get<std::vector<double>>();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Of the attribute of this name; 2 if there is none.
double correlation(const json& attributes, const json& name) {
  for (const auto& one : attributes)
    if (one["name"] == name) return one["correlation"].get<double>();
  return 2;
}

TEST(Report, UnknownSamplesAreShownForModelsThatRejectThem) {
  TrainedModel run("parsnets");
  EXPECT_TRUE(shown(run)["open_set"].is_null());
  for (auto& weights : run.model.rejection.weights) weights[0] = 1;
  run.model.rejection.range[0].fill(-1e6f);
  run.model.rejection.range[1].fill(1e6f);
  run.model.rejection.false_accept = 0.05;
  const json figures = shown(run)["open_set"];
  EXPECT_EQ(figures["turns"].size(), 2u);
  EXPECT_EQ(figures["unknown"]["samples"], run.data.split.test_unseen.size());
}

TEST(Report, FiguresAreThoseOfTheEvaluationForAnyNumberOfThreads) {
  TrainedModel run("parsnets");
  const Evaluation test = evaluate(run.model, run.data, run.pool);
  const json page = page_of(run.model, run.data), one = page["runs"][0];
  EXPECT_EQ(page, page_of(run.model, run.data, {}, 2));
  EXPECT_EQ(one["summary"]["zsl"].get<double>(), test.zsl.top1_per_class);
  EXPECT_EQ(one["summary"]["h"].get<double>(), test.gzsl.h);
  EXPECT_EQ(one["summary"]["ausuc"].get<double>(), test.gzsl.ausuc);
  EXPECT_EQ(one["reliability"]["seen"]["ece"].get<double>(), test.details->seen_reliability.ece);
  EXPECT_EQ(one["reliability"]["unseen"]["bins"].size(), 15u);
  EXPECT_TRUE(one["sets"].is_null()) << "not calibrated";
  std::size_t samples = 0, listed = 0;
  for (const auto& cell : one["confusion"]["counts"]) samples += cell[2].get<std::size_t>();
  EXPECT_EQ(samples, run.data.split.test_seen.size() + run.data.split.test_unseen.size());
  double unseen_sum = 0, unseen_classes = 0;
  for (const auto& c : one["per_class"]) {
    listed += c["samples"].get<std::size_t>();
    if (c["unseen"].get<bool>()) {
      unseen_sum += c["zsl"].get<double>();
      ++unseen_classes;
    }
  }
  EXPECT_EQ(listed, samples);
  EXPECT_NEAR(unseen_sum / unseen_classes, test.zsl.top1_per_class, 1e-9);
  bool in_force = false;  // the chosen gamma's point is on the curve
  for (const auto& point : one["curve"])
    in_force = in_force || (std::abs(point[1].get<double>() - test.gzsl.u) < 1e-3 &&
                            std::abs(point[2].get<double>() - test.gzsl.s) < 1e-3);
  EXPECT_TRUE(in_force);
  for (const char* map : {"raw", "mapped"}) EXPECT_EQ(one["tsne"][map].size(), one["tsne"]["correct"].size());
  EXPECT_GT(sum_of(one["tsne"]["correct"]), 0);
}

TEST(Report, ShowsThePredictionSetsOfACalibratedModel) {
  TrainedModel run("ridge");
  run.model.sets = {{0.1f, 0.2f, 0.3f}, {0, 0, 1}, {0.1f, 0.3f}};
  const Evaluation test = evaluate(run.model, run.data, run.pool);
  const json sets = shown(run)["sets"];
  ASSERT_EQ(sets.size(), kCoverages.size());
  for (std::size_t k = 0; k < sets.size(); ++k) {
    EXPECT_EQ(sets[k]["stated"].get<double>(), 100 * kCoverages[k]);
    EXPECT_EQ(sets[k]["seen"]["coverage"].get<double>(), test.details->sets[k].seen.coverage);
    EXPECT_EQ(sets[k]["unseen"]["size"].get<double>(), test.details->sets[k].unseen.size);
    EXPECT_EQ(sets[k]["unseen"]["calibrated_on"], "validation classes");
  }
}

TEST(Report, HasEveryPartForAModelWithGatesAndMmg) {
  const TrainedModel run("paper");
  const json one = shown(run);
  for (const char* part : {"curve", "per_class", "confusion", "gates", "spectrum", "angles", "places", "tsne",
                           "subspaces", "training", "hubness", "attributes", "explanations", "provenance"})
    EXPECT_FALSE(one[part].is_null() || one[part].empty()) << part;
  EXPECT_EQ(one["gates"]["usage"].size(), 8u);
  EXPECT_NEAR(sum_of(one["gates"]["usage"]), 3, 0.01) << "each sample opens three networks";
  EXPECT_FALSE(one["spectrum"]["mean"]["without_mmg"].is_null());
  EXPECT_EQ(one["attributes"].size(), run.model.attributes());
  EXPECT_EQ(one["explanations"].size(), 12u);
  for (const auto& why : one["explanations"]) EXPECT_EQ(why["correct"].get<bool>(), why["truth"] == why["winner"]);
}

TEST(Report, ComparesThePlacesOfUnseenClassesWithTheMeansOfTheirSamples) {
  for (const std::string method : {"parsnets", "scln"}) {
    TrainedModel run(method);
    const json one = shown(run), places = one["places"];
    EXPECT_EQ(places["targets"], method == "parsnets" ? "classes" : "semantics");
    EXPECT_EQ(one["summary"]["targets"], places["targets"]);
    const auto unseen = run.data.unseen_classes();
    ASSERT_EQ(places["rows"].size(), unseen.size());
    EXPECT_EQ(one["tsne"]["places"].size(), one["tsne"]["classes"].size());
    EXPECT_EQ(one["tsne"]["means"].size(), one["tsne"]["classes"].size());
    const Matrix<float> vectors = run.model.class_vectors();
    const std::size_t o = vectors.cols();
    for (std::size_t u = 0; u < unseen.size(); ++u) {
      std::vector<double> mean(o, 0.0);
      std::size_t samples = 0;
      for (const auto r : run.data.split.test_unseen) {
        if (run.data.labels[static_cast<std::size_t>(r)] != unseen[u]) continue;
        ++samples;
        const Matrix<float> f = run.model.predict(
            {run.data.features.row(static_cast<std::size_t>(r)).data(), 1, run.model.dimensions}, run.pool);
        for (std::size_t j = 0; j < o; ++j) mean[j] += f(0, j) - run.model.semantic_centre[j];
      }
      const auto cosine_with = [&](std::int32_t c) {
        double product = 0, squares = 0, own = 0;
        for (std::size_t j = 0; j < o; ++j) {
          const double v = vectors(static_cast<std::size_t>(c), j);
          product += v * mean[j];
          squares += v * v;
          own += mean[j] * mean[j];
        }
        return product / std::sqrt(squares * own);
      };
      double nearest = -2, nearest_seen = -2;
      for (std::int32_t c = 0; c < static_cast<std::int32_t>(run.data.classes()); ++c) {
        if (c == unseen[u]) continue;
        double& best = run.model.classes.seen[static_cast<std::size_t>(c)] ? nearest_seen : nearest;
        best = std::max(best, cosine_with(c));
      }
      const json& row = places["rows"][u];
      EXPECT_EQ(row["class"], run.data.class_names[static_cast<std::size_t>(unseen[u])]);
      EXPECT_EQ(row["samples"], samples);
      EXPECT_NEAR(row["cosine"].get<double>(), cosine_with(unseen[u]), 1e-3);
      EXPECT_NEAR(row["nearest_cosine"].get<double>(), nearest, 1e-3);
      EXPECT_NEAR(row["nearest_seen_cosine"].get<double>(), nearest_seen, 1e-3);
      EXPECT_EQ(row["own"].get<bool>(), row["cosine"].get<double>() >= row["nearest_cosine"].get<double>());
      EXPECT_EQ(row["own_of_all"].get<bool>(),
                row["own"].get<bool>() && row["cosine"].get<double>() >= row["nearest_seen_cosine"].get<double>());
    }
  }
}

TEST(Report, SeveralDataSetsAreJoinedBehindAnOverview) {
  const TrainedModel first("ridge");
  Dataset renamed = test::small_training_set();
  renamed.name = "second";
  ThreadPool pool(1);
  const Model second = train(renamed, test::small_options("ridge"), pool);
  const std::string a = page_of(first.model, first.data).dump(), b = page_of(second, renamed).dump();
  EXPECT_EQ(joined_report_data({a}), a) << "one data set keeps its format";
  EXPECT_THROW(joined_report_data({}), Error);
  const json joined = json::parse(joined_report_data({a, b})), one = json::parse(a), two = json::parse(b);
  EXPECT_EQ(joined["format"], 2);
  ASSERT_EQ(joined["parts"].size(), 2u);
  EXPECT_EQ(joined["parts"][0]["runs"], one["runs"]);
  EXPECT_EQ(joined["parts"][1]["runs"], two["runs"]);
  EXPECT_EQ(joined["parts"][1]["reference"], two["reference"]);
  EXPECT_EQ(joined["parts"][1]["name"], "second");
  EXPECT_EQ(joined["overview"]["rows"][0]["cells"][1]["zsl"], two["runs"][0]["summary"]["zsl"]);
}

TEST(Report, AttributesAreThoseThatTheModelPredictsAndClassesBesideTheEvaluationChangeNoFigureOfIt) {
  TrainedModel run("parsnets");
  const json before = shown(run);
  const auto negate = [&] {
    for (float& v : run.model.attribute_head.values()) v = -v;
  };
  negate();
  const json negated = shown(run)["attributes"];
  for (const auto& one : before["attributes"])
    EXPECT_NEAR(correlation(negated, one["name"]), -one["correlation"].get<double>(), 1e-3) << one["name"];
  negate();
  run.model.add_class("beside", run.model.classes.semantics.row(2));
  const json after = shown(run);
  EXPECT_EQ(before["tsne"]["correct"], after["tsne"]["correct"]);
  EXPECT_EQ(before["summary"]["h"], after["summary"]["h"]);
}

TEST(Report, WhiteningIsUndoneBeforeAttributesAreCompared) {
  TrainedModel run(test::small_options("ridge", "semantic-whitening=0.9"));
  const auto& [data, pool, model] = run;
  const json list = shown(run)["attributes"];
  std::vector<std::int32_t> rows = data.split.test_unseen;
  rows.insert(rows.end(), data.split.test_seen.begin(), data.split.test_seen.end());
  const std::size_t m = model.attributes(), a = 5;
  const auto& axes = model.semantic_preprocess.whitening;
  std::vector<double> predicted, truth;
  for (const auto row : rows) {
    const auto r = static_cast<std::size_t>(row);
    const Matrix<float> f = model.predict({data.features.row(r).data(), 1, model.dimensions}, run.pool);
    double value = 0;
    for (std::size_t i = 0; i < f.cols(); ++i) {
      double squares = 0;
      for (std::size_t j = 0; j < m; ++j) squares += static_cast<double>(axes[i * m + j]) * axes[i * m + j];
      value += f(0, i) * axes[i * m + a] / squares;
    }
    predicted.push_back(value);
    const auto given = data.semantics.values.row(static_cast<std::size_t>(data.labels[r]));
    std::vector<float> scaled(given.begin(), given.end());
    model.semantic_preprocess.apply(scaled);
    truth.push_back(scaled[a]);
  }
  const double x = sum_of(predicted) / static_cast<double>(rows.size()),
               y = sum_of(truth) / static_cast<double>(rows.size());
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    xx += (predicted[r] - x) * (predicted[r] - x);
    yy += (truth[r] - y) * (truth[r] - y);
    xy += (predicted[r] - x) * (truth[r] - y);
  }
  const std::string name = model.attribute_names.empty() ? "attribute 6" : model.attribute_names[a];
  EXPECT_NEAR(correlation(list, name), xy / std::sqrt(xx * yy), 1e-3);
}

TEST(Report, LeavesOutWhatARunDoesNotHave) {
  for (const std::string method : {"ridge", "sae-reverse"}) {
    const TrainedModel run(method);
    const json one = shown(run);
    EXPECT_TRUE(one["gates"].is_null());
    EXPECT_EQ(one["places"].is_null(), method == "sae-reverse");
    EXPECT_FALSE(one.contains("sweep"));
    if (method == "ridge") {
      EXPECT_TRUE(one["spectrum"]["mean"]["without_mmg"].is_null());
    } else {
      EXPECT_TRUE(one["attributes"].is_null());
      EXPECT_TRUE(one["tsne"].is_null());
    }
  }
}

TEST(Report, WorksForTwoUnseenClassesAndForHundreds) {
  ThreadPool pool(2);
  for (const int classes : {5, 700}) {
    const bool few = classes == 5;
    const Dataset data = synthesize({.classes = classes,
                                     .attributes = 30,
                                     .samples = few ? 200 : 5600,
                                     .dimensions = 24,
                                     .unseen = few ? 2 : 72,
                                     .hidden = 32});
    const Model model = train(data, test::options_with("ridge", "calibrate=false"), pool);
    const json one = page_of(model, data, {}, 2)["runs"][0];
    EXPECT_EQ(one["confusion"]["classes"].size(), static_cast<std::size_t>(classes));
    EXPECT_EQ(one["per_class"].size(), static_cast<std::size_t>(classes));
  }
}

TEST(Report, ReadsSweepsAndAblationsAndRefusesOtherJson) {
  const TrainedModel run("ridge");
  const std::string row = R"({"method": "m", "summary": {"zsl": {"mean": 50, "sd": 1}, "h": {"mean": 40, "sd": null}},
      "runs": [{"options": {"active": 4, "networks": 8}}, {"options": {"active": 4, "networks": 8}}]})";
  const auto bench = [&](const std::string& kind, const std::string& data) {
    return "{" + kind + R"(, "data": ")" + data + R"(", "features": ")" + run.data.features_name +
           R"(", "semantics": ")" + run.data.semantics.name + R"(", "methods": [)" + row + "]}";
  };
  const std::string sweep = bench(R"("sweep": "k")", run.data.name);
  const std::vector<BenchFile> files{{"sweep.json", sweep},
                                     {"ablation.json", bench(R"("ablation": true)", run.data.name)},
                                     {"other.json", R"({"other": 1})"}};
  const json one = shown(run, files);
  EXPECT_EQ(one["sweep"]["rows"][0]["value"], 4);
  EXPECT_EQ(one["sweep"]["rows"][0]["sparsity"], 0.5);
  EXPECT_EQ(one["sweep"]["rows"][0]["seeds"], 2);
  EXPECT_TRUE(one["sweep"]["rows"][0]["h"]["sd"].is_null());
  EXPECT_EQ(one["ablation"]["rows"][0]["zsl"]["mean"], 50);
  const std::vector<std::vector<BenchFile>> bad{{{"a", "[1]"}},
                                                {{"a", "{"}},
                                                {{"a", R"({"sweep": null, "methods": []})"}},
                                                {{"a", R"({"sweep": "k", "methods": [{}]})"}},
                                                {{"a", bench(R"("sweep": "k")", "other data")}},
                                                {{"a", sweep}, {"b", sweep}}};
  for (const auto& list : bad) EXPECT_THROW(shown(run, list), Error) << list[0].text;
}

TEST(Report, RefusesARunOnOtherDataThanItsOwn) {
  const TrainedModel run("ridge");
  Dataset other = test::small_training_set();
  other.split.test_seen.pop_back();
  EXPECT_THROW(page_of(run.model, other), Error) << "another split";
  Dataset scaled = test::small_training_set();
  for (float& v : scaled.semantics.values.values()) v *= 2;
  EXPECT_THROW(page_of(run.model, scaled), Error) << "other attributes";
}

TEST(Report, AnAttributeThatAllClassesShareHasNoCorrelation) {
  ThreadPool pool(1);
  Dataset data = test::small_training_set();
  for (std::size_t c = 0; c < data.classes(); ++c) data.semantics.values(c, 3) = 0.1f;
  const Model model = train(data, test::small_options("ridge", "semantic-scaling=none"), pool);
  const json page = page_of(model, data);
  const std::string constant = model.attribute_names.empty() ? "attribute 4" : model.attribute_names[3];
  for (const auto& a : page["runs"][0]["attributes"]) {
    if (a["name"] == constant) {
      EXPECT_TRUE(a["correlation"].is_null()) << a.dump();
    } else if (!a["correlation"].is_null()) {
      EXPECT_LE(std::abs(a["correlation"].get<double>()), 1);
    }
  }
}

TEST(Report, ThePageHoldsTheDataAndNoForeignTag) {
  const std::string page = report_page(R"({"title": "</script><b>"})");
  EXPECT_NE(page.find("\\u003c/script>\\u003cb>"), std::string::npos);
  EXPECT_EQ(page.find("@REPORT_DATA@"), std::string::npos);
  EXPECT_EQ(page.find("https://unpkg"), std::string::npos);
}

using Json = nlohmann::ordered_json;

struct Result {
  std::string method;
  Json zsl, h;
};

Json part(const std::string& data, const std::vector<Result>& results, const std::string& features = "res101",
          const std::string& semantics = "att") {
  Json runs = Json::array();
  for (const auto& [method, zsl, h] : results)
    runs.push_back(
        {{"name", method},
         {"summary",
          {{"data", data}, {"features", features}, {"semantics", semantics}, {"split", ""}, {"zsl", zsl}, {"h", h}}}});
  return {{"runs", runs}};
}

TEST(Overview, PartsAreNamedByTheirDataAndWhatTellsThemApart) {
  const std::vector<Result> any{{"a", 1, 1}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(part_names({part("CUB", any), part("SUN", any, "vit", "sent")}), (Names{"CUB", "SUN"}));
  EXPECT_EQ(part_names({part("CUB", any), part("CUB", any, "vit"), part("SUN", any)}),
            (Names{"CUB (res101)", "CUB (vit)", "SUN"}));
  EXPECT_EQ(part_names({part("CUB", any), part("CUB", any, "vit", "sent")}),
            (Names{"CUB (res101, att)", "CUB (vit, sent)"}));
  EXPECT_EQ(part_names({part("CUB", any), part("CUB", any)}), (Names{"CUB", "CUB #2"})) << "two folders of one name";
}

TEST(Overview, RunsOfOneNameAreOneMethod) {
  const std::vector<Json> parts{part("CUB", {{"a", 60, 50}, {"b", 50, nullptr}}), part("SUN", {{"b", 40, 30}})};
  const Json rows = overview_json(parts, {"CUB", "SUN"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["method"], "a");
  EXPECT_EQ(rows[0]["cells"][0]["zsl"], 60);
  EXPECT_TRUE(rows[0]["cells"][1].is_null()) << "no such run";
  EXPECT_TRUE(rows[1]["cells"][0]["h"].is_null());
  EXPECT_EQ(rows[1]["cells"][1]["h"], 30);
}

TEST(Overview, RanksAreOfMethodsWithResultsOnEveryDataSet) {
  // By H: a is first, first, shares first and second with b, and second; c lacks one data set. By hand:
  // a (1 + 1 + 1.5 + 2) / 4 = 1.375, b (2 + 2 + 1.5 + 1) / 4 = 1.625.
  const std::vector<Json> parts{part("1", {{"b", 1, 40}, {"a", 1, 50}, {"c", 9, 90}}),
                                part("2", {{"b", 1, 40}, {"a", 1, 50}, {"c", 9, 90}}),
                                part("3", {{"b", 1, 50}, {"a", 1, 50}, {"c", 9, 90}}),
                                part("4", {{"b", 1, 60}, {"a", 1, 50}, {"c", 9, nullptr}})};
  const Json ranks = overview_json(parts, {"1", "2", "3", "4"})["ranks"], &h = ranks["h"];
  EXPECT_EQ(h["data_sets"], 4);
  ASSERT_EQ(h["methods"].size(), 2u);
  EXPECT_EQ(h["methods"][0]["method"], "a");
  EXPECT_EQ(h["methods"][0]["best"], 3) << "a tie counts for both";
  EXPECT_DOUBLE_EQ(h["methods"][0]["mean_rank"].get<double>(), 1.375);
  EXPECT_EQ(h["methods"][1]["best"], 2);
  EXPECT_DOUBLE_EQ(h["methods"][1]["mean_rank"].get<double>(), 1.625);
  ASSERT_EQ(ranks["zsl"]["methods"].size(), 3u);
  EXPECT_EQ(ranks["zsl"]["methods"][0]["method"], "c");
  EXPECT_DOUBLE_EQ(ranks["zsl"]["methods"][1]["mean_rank"].get<double>(), 2.5);
}

TEST(Overview, ADataSetWithoutHDoesNotCountInRanksByHAndOneMethodHasNone) {
  const std::vector<Json> parts{part("1", {{"a", 1, 40}, {"b", 2, 50}}),
                                part("2", {{"a", 1, nullptr}, {"b", 2, nullptr}})};
  const Json h = overview_json(parts, {"1", "2"})["ranks"]["h"];
  EXPECT_EQ(h["data_sets"], 1);
  EXPECT_EQ(h["methods"][0]["method"], "b");
  EXPECT_TRUE(overview_json({part("1", {{"a", 1, 2}}), part("2", {{"a", 1, 2}})}, {"1", "2"})["ranks"]["h"].is_null());
}

}  // namespace

}  // namespace parsnets
