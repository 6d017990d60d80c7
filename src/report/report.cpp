// Puts the figures of all runs together, and the page around them.

#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"
#include "data/sample_set.hpp"
#include "eval/metrics.hpp"
#include "eval/reference.hpp"
#include "images/image_header.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/version.hpp"
#include "report/bench_figures.hpp"
#include "report/geometry.hpp"
#include "report/page.hpp"
#include "report/run_figures.hpp"
#include "report/tsne.hpp"
#include "store/train_record_json.hpp"
#include "train/fitter.hpp"
#include "train/provenance.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kCurvePoints = 500, kProfileClasses = 12, kProfileValues = 20, kAngleBins = 36, kHubs = 10,
                      kHubBins = 41, kSubspacePoints = 400;

/// At most `most` of the unseen test samples, drawn evenly, in their order.
std::vector<std::int32_t> drawn_unseen(const RunSamples& samples, std::size_t most, std::uint64_t seed) {
  std::vector<std::int32_t> all(samples.unseen);
  std::iota(all.begin(), all.end(), 0);
  if (all.size() > most) {
    Rng(seed, 91).shuffle(all);
    all.resize(most);
    std::ranges::sort(all);
  }
  return all;
}

Json points_json(const Matrix<float>& points) {
  Json list = Json::array();
  for (std::size_t r = 0; r < points.rows(); ++r) {
    Json point = Json::array();
    for (const float v : points.row(r)) point.push_back(std::round(v * 1000.0) / 1000.0);
    list.push_back(std::move(point));
  }
  return list;
}

/// The first three principal coordinates. They mean nothing but their proportions: the farthest is put at 1.
Matrix<float> principal_map(const Matrix<float>& rows, ThreadPool& pool) {
  const Matrix<double> coordinates = principal_coordinates(rows.view(), 3, pool);
  double most = 0;
  for (const double v : coordinates.values()) most = std::max(most, std::abs(v));
  Matrix<float> out(rows.rows(), 3, 0.0f);
  for (std::size_t r = 0; most > 0 && r < out.rows(); ++r)
    for (std::size_t c = 0; c < coordinates.cols(); ++c) out(r, c) = static_cast<float>(coordinates(r, c) / most);
  return out;
}

/// The rows of all, one below the other; for cosine at unit length, as scores see them.
Matrix<float> stacked(Similarity similarity, std::initializer_list<const Matrix<float>*> parts) {
  std::size_t rows = 0;
  for (const auto* part : parts) rows += part->rows();
  Matrix<float> out(rows, (*parts.begin())->cols());
  float* end = out.data();
  for (const auto* part : parts) end = std::ranges::copy(part->values(), end).out;
  for (std::size_t r = 0; r < rows && similarity == Similarity::cosine; ++r) {
    const double length = std::sqrt(dot(out.row(r), out.row(r)));
    for (float& v : out.row(r)) v = length > 0 ? static_cast<float>(v / length) : 0.0f;
  }
  return out;
}

Json tsne_json(const Model& model, const Dataset& data, const RunSamples& samples, const UnseenPlaces& unseen,
               const ReportOptions& options, ThreadPool& pool, ProgressObserver* progress) {
  const auto rows = drawn_unseen(samples, options.points, options.seed);
  if (rows.size() < 10 || samples.mapped.empty()) return nullptr;
  TsneOptions tsne_options;
  tsne_options.seed = options.seed;
  std::vector<std::int32_t> classes;
  for (const auto r : rows) classes.push_back(samples.labels[at(r)]);
  classes = distinct(classes);
  Json json{{"classes", Json::array()},   {"label", Json::array()},
            {"sample", Json::array()},    {"correct", Json::array()},
            {"predicted", Json::array()}, {"competing", data.split.test_seen.empty() ? "unseen" : "all"}};
  for (const auto c : classes) json["classes"].push_back(data.class_names[at(c)]);
  for (const auto r : rows) {
    const std::int32_t label = samples.labels[at(r)];
    const auto& predicted = model.classes.names[at(samples.predicted[at(r)])];
    json["label"].push_back(std::ranges::lower_bound(classes, label) - classes.begin());
    json["sample"].push_back(samples.rows[at(r)]);
    json["correct"].push_back(predicted == data.class_names[at(label)] ? 1 : 0);
    json["predicted"].push_back(predicted);
  }
  json["raw"] = points_json(tsne(gather_rows(samples.prepared, rows).view(), tsne_options, pool, progress));
  const Matrix<float> mapped = gather_rows(samples.mapped, rows);
  const Json map = points_json(
      tsne(stacked(model.similarity, {&mapped, &unseen.places, &unseen.means}).view(), tsne_options, pool, progress));
  // Samples first, then the places of the classes, then their means. Classes of which no sample was drawn stay out.
  json["mapped"] = Json(map.begin(), map.begin() + static_cast<std::ptrdiff_t>(rows.size()));
  json["places"] = json["means"] = unseen.classes.empty() ? Json() : Json::array();
  for (std::size_t u = 0; u < unseen.classes.size(); ++u) {
    if (!std::ranges::binary_search(classes, unseen.classes[u])) continue;
    json["places"].push_back(map[rows.size() + u]);
    json["means"].push_back(map[rows.size() + unseen.classes.size() + u]);
  }
  return json;
}

/// The model's options fitted again without MMG; nothing when the model does not use it.
Matrix<float> mapped_without_mmg(const Model& model, const Dataset& data, const RunSamples& samples,
                                 std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress) {
  TrainOptions options = options_of(model);
  if (memory_limit > 0) options.run.memory_limit = memory_limit;
  auto* paper = std::get_if<PaperOptions>(&options.method);
  if (paper == nullptr || paper->mmg == 0 || samples.mapped.empty()) return {};
  paper->mmg = 0;
  report_message(progress, "fitting again without MMG for comparison");
  const Model without = refit(options, data, data.split.trainval, pool, progress);
  Matrix<float> mapped = without.predict(gather_rows(data.features, samples.rows).view(), pool);
  centre_rows(without, mapped.view());
  return mapped;
}

/// `without_mmg`: mapped_without_mmg(), or empty.
void add_geometry(const Model& model, const Dataset& data, const RunSamples& samples, const Matrix<float>& without_mmg,
                  ThreadPool& pool, Json& run) {
  const auto classes = distinct(samples.labels);
  if (classes.size() < 2 || samples.mapped.empty()) return;
  std::vector<std::vector<std::int32_t>> members(data.classes());
  for (std::size_t r = 0; r < samples.labels.size(); ++r)
    members[at(samples.labels[r])].push_back(static_cast<std::int32_t>(r));
  Json spectrum{{"classes", Json::array()}, {"mean", Json::object()}}, angles{{"edges", Json::array()}};
  for (std::size_t b = 0; b <= kAngleBins; ++b) angles["edges"].push_back(180.0 * static_cast<double>(b) / kAngleBins);
  const std::size_t shown = std::min(kProfileClasses, classes.size());
  for (std::size_t i = 0; i < shown; ++i)
    spectrum["classes"].push_back({{"class", data.class_names[at(classes[i * classes.size() / shown])]}});
  for (const auto& [name, space] : {std::pair("raw", &samples.prepared), std::pair("without_mmg", &without_mmg),
                                    std::pair("mapped", &samples.mapped)}) {
    if (space->empty()) {
      for (auto& c : spectrum["classes"]) c[name] = nullptr;
      spectrum["mean"][name] = angles[name] = nullptr;
      continue;
    }
    std::vector<double> mean(kProfileValues, 0.0);
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& rows = members[at(classes[i * classes.size() / shown])];
      auto profile = singular_profile(gather_rows(*space, rows).view(), kProfileValues, pool);
      for (std::size_t v = 0; v < profile.size(); ++v) mean[v] += profile[v] / static_cast<double>(shown);
      spectrum["classes"][i][name] = profile;
    }
    spectrum["mean"][name] = mean;
    angles[name] = class_angles(space->view(), samples.labels, kAngleBins);
  }
  std::vector<std::int32_t> tested;
  for (const auto c : classes) tested.push_back(samples.bank[at(c)]);
  angles["places"] = class_angles(gather_rows(model.class_vectors(), tested).view(), classes, kAngleBins);
  run["spectrum"] = std::move(spectrum);
  run["angles"] = std::move(angles);
}

/// The three classes with most test samples, unseen ones first.
Json subspaces_json(const Dataset& data, const RunSamples& samples, ThreadPool& pool) {
  std::vector<std::size_t> sizes(data.classes(), 0);
  for (const auto label : samples.labels) ++sizes[at(label)];
  const std::vector<std::int32_t> unseen = data.unseen_classes();
  auto order = distinct(samples.labels);
  if (order.size() < 3 || samples.mapped.empty()) return nullptr;
  std::ranges::stable_sort(order, {}, [&](std::int32_t c) {
    return std::pair(!std::ranges::binary_search(unseen, c), -static_cast<double>(sizes[at(c)]));
  });
  order.resize(3);
  std::vector<std::int32_t> rows;
  Json json{{"classes", Json::array()}, {"label", Json::array()}};
  for (std::size_t c = 0; c < 3; ++c) {
    json["classes"].push_back(data.class_names[at(order[c])]);
    std::size_t taken = 0;
    for (std::size_t r = 0; r < samples.labels.size() && taken < kSubspacePoints / 3; ++r) {
      if (samples.labels[r] != order[c]) continue;
      rows.push_back(static_cast<std::int32_t>(r));
      json["label"].push_back(c);
      ++taken;
    }
  }
  json["raw"] = points_json(principal_map(gather_rows(samples.prepared, rows), pool));
  json["mapped"] = points_json(principal_map(gather_rows(samples.mapped, rows), pool));
  return json;
}

Json hubness_json(const RunSamples& samples, const ReportOptions& options, ThreadPool& pool) {
  const auto rows = drawn_unseen(samples, options.points, options.seed);
  if (rows.size() < 20 || samples.mapped.empty()) return nullptr;
  Json json{{"k", kHubs}};
  for (const auto& [name, matrix] : {std::pair("raw", &samples.prepared), std::pair("mapped", &samples.mapped)}) {
    const Hubness hubs = hubness(gather_rows(*matrix, rows).view(), kHubs, kHubBins, pool);
    json["skewness"][name] = hubs.skewness;
    json["histogram"][name] = hubs.histogram;
  }
  return json;
}

Json provenance_json(const Model& model, const Json& options, const Json& recorded) {
  Json record = to_json(model.record);
  Json json{{"data", record.contains("data") ? record["data"] : Json::object()}, {"options", options}};
  json["data"].erase("trained");  // for programs alone
  record.erase("data");
  if (record.contains("gates")) record["gates"].erase("samples_per_network");  // a figure of its own
  for (const char* stage : {"joint", "refinement"}) record.erase(stage);
  if (record.contains("selection")) record["selection"] = fmt::format("{} candidates", record["selection"].size());
  json["record"] = std::move(record);
  json["machine"] = recorded.contains("machine") ? recorded["machine"] : Json("not recorded");
  json["versions"] = {{"parsnets", recorded.value("version", "not recorded")}, {"report", PARSNETS_VERSION}};
  json["command"] = recorded.value("command", "");
  return json;
}

Json run_json(const ReportRun& run, const ReportOptions& options, ThreadPool& pool, ProgressObserver* progress) {
  const Model& model = *run.model;
  const Dataset& data = *run.data;
  const Evaluation test = evaluate(model, data, pool, progress);
  const RunSamples samples = run_samples(model, data, options.samples, pool, progress);
  const Json trained_with = parse_ordered_json(model.options.empty() ? "{}" : model.options, "options"),
             recorded = parse_ordered_json(run.run_json.empty() ? "{}" : run.run_json, "run.json");
  Json json{{"name", run.name}, {"summary", summary_json(model, data, test, trained_with, recorded)}};
  json["curve"] = test.has_gzsl ? curve_json(test.gzsl, kCurvePoints) : Json();
  json["per_class"] = per_class_json(test, data);
  json["confusion"] = confusion_json(test, model, data, samples);
  json["reliability"] = reliability_json(*test.details);
  json["sets"] = sets_json(*test.details);
  for (const auto& file : run.benches) add_file_figures(file, data, test, json);
  json["open_set"] = open_set_figures(model, data, options.seed, pool, progress);
  json["gates"] = gates_json(model, data, samples, pool);
  const Matrix<float> without = options.compare_mmg
                                    ? mapped_without_mmg(model, data, samples, options.memory_limit, pool, progress)
                                    : Matrix<float>();
  add_geometry(model, data, samples, without, pool, json);
  const UnseenPlaces unseen = unseen_places(model, samples);
  json["places"] = places_json(model, data, samples, unseen);
  json["tsne"] = tsne_json(model, data, samples, unseen, options, pool, progress);
  json["subspaces"] = subspaces_json(data, samples, pool);
  json["training"] = training_json(model, recorded);
  json["hubness"] = hubness_json(samples, options, pool);
  json["attributes"] = attributes_json(model, data, samples, pool);
  json["explanations"] = explanations_json(model, data, samples, options.explanations, pool);
  json["provenance"] = provenance_json(model, trained_with, recorded);
  return json;
}

/// Place among the published rows that use the same kind of semantics, 1 being best.
Json rank_json(const Json& summary, const Json& reference) {
  const std::string name = summary["semantics"];
  const bool several = name.find(',') != std::string::npos;  // no published row has used the same tables
  const std::string kind = name.starts_with("att") && !several ? "attributes" : name;
  Json json;
  for (const auto& [metric, suffix] : {std::pair("zsl", ""), std::pair("h", "2")}) {
    if (summary[metric].is_null()) continue;
    std::size_t better = 0, of = 1;
    for (const auto& row : reference) {
      if (row["own"].get<bool>() || row[metric].is_null() || row["semantics"] != kind) continue;
      ++of;
      better += row[metric].get<double>() > summary[metric].get<double>();
    }
    if (of == 1) continue;
    json[std::string("metric") + suffix] = metric;
    json[std::string("place") + suffix] = better + 1;
    json[std::string("of") + suffix] = of;
  }
  return json;
}

}  // namespace

std::string report_data(const std::vector<ReportRun>& runs, const Thumbnails& thumbnails, const ReportOptions& options,
                        ThreadPool& pool, ProgressObserver* progress) {
  if (runs.empty()) throw Error(ErrorCode::usage, "report: expected at least one run");
  const Dataset& data = *runs.front().data;
  Json json{{"format", 1},
            {"title", "ParsNets report: " + data.name},
            {"producer", "parsnets " PARSNETS_VERSION},
            {"runs", Json::array()}};
  Json reference = Json::array();
  const auto own = options.own_rows.empty() ? std::vector<CitedRow>() : read_own_rows(options.own_rows);
  for (const auto& row : cited_rows(data.name, data.known_as, data.split.proposed_of, own))
    reference.push_back(cited_row_json(row));
  for (const auto& run : runs) {
    if (run.data->name != data.name)
      throw Error(ErrorCode::usage,
                  fmt::format("report: expected runs on one data set, found {} and {}", data.name, run.data->name));
    require_training_data(*run.model, *run.data);  // every run on its own data, so that results can be compared
    json["runs"].push_back(run_json(run, options, pool, progress));
    json["runs"].back()["rank"] = rank_json(json["runs"].back()["summary"], reference);
  }
  json["reference"] = reference;
  json["thumbnails"] =
      thumbnails.image.empty()
          ? Json()
          : Json{{"image", thumbnails.image}, {"columns", thumbnails.columns}, {"size", thumbnails.size}};
  return json.dump();
}

std::string joined_report_data(const std::vector<std::string>& parts) {
  if (parts.empty()) throw Error(ErrorCode::usage, "report: expected at least one run");
  if (parts.size() == 1) return parts.front();
  std::vector<Json> parsed;
  for (const auto& part : parts) parsed.push_back(Json::parse(part));
  const auto names = part_names(parsed);
  Json json{{"format", 2},
            {"title", fmt::format("ParsNets report: {}", fmt::join(names, ", "))},
            {"producer", "parsnets " PARSNETS_VERSION},
            {"overview", overview_json(parsed, names)},
            {"parts", Json::array()}};
  for (std::size_t p = 0; p < parsed.size(); ++p) {
    json["parts"].push_back({{"name", names[p]}});
    for (const char* field : {"runs", "reference", "thumbnails"})
      json["parts"].back()[field] = std::move(parsed[p][field]);
  }
  return json.dump();
}

std::string report_page(const std::string& data) {
  std::string safe;
  safe.reserve(data.size());
  for (const char c : data) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);  // no tag can end the script
  std::string page(report_page());
  const std::string mark = "@REPORT_DATA@";
  const auto place = page.find(mark);
  if (place == std::string::npos)
    throw Error(ErrorCode::failure, "internal error: the page has no placeholder for its data");
  return page.replace(place, mark.size(), safe);
}

namespace {

const Json& summary_of(const Json& part) { return part.at("runs").at(0).at("summary"); }

/// Ranks of the methods that have a figure on every data set where any method has one, so that all of them meet the
/// same rivals; equal figures share the mean of their ranks. Null for fewer than two such methods.
Json ranks_json(const Json& rows, const char* metric) {
  const std::size_t parts = rows.at(0).at("cells").size();
  const auto has = [&](const Json& row, std::size_t p) {
    return !row["cells"][p].is_null() && !row["cells"][p][metric].is_null();
  };
  std::vector<std::size_t> used;
  for (std::size_t p = 0; p < parts; ++p)
    if (std::ranges::any_of(rows, [&](const Json& row) { return has(row, p); })) used.push_back(p);
  std::vector<const Json*> complete;
  for (const auto& row : rows)
    if (std::ranges::all_of(used, [&](std::size_t p) { return has(row, p); })) complete.push_back(&row);
  if (used.empty() || complete.size() < 2) return nullptr;
  std::vector<Json> methods;
  for (const Json* row : complete) {
    std::size_t best = 0;
    double sum = 0;
    for (const std::size_t p : used) {
      const auto figure = [&](const Json* one) { return (*one)["cells"][p][metric].get<double>(); };
      const auto above = std::ranges::count_if(complete, [&](const Json*o) { return figure(o) > figure(row); }),
                 equal = std::ranges::count_if(complete, [&](const Json*o) { return figure(o) == figure(row); });
      best += above == 0;
      sum += static_cast<double>(above) + static_cast<double>(equal + 1) / 2;
    }
    methods.push_back(
        {{"method", (*row)["method"]}, {"best", best}, {"mean_rank", sum / static_cast<double>(used.size())}});
  }
  std::ranges::stable_sort(methods, {}, [](const Json& m) { return m["mean_rank"].get<double>(); });
  return {{"data_sets", used.size()}, {"methods", methods}};
}

}  // namespace

std::vector<std::string> part_names(const std::vector<Json>& parts) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& part : parts) {
    const Json& own = summary_of(part);
    std::vector<std::string> more;
    for (const char* field : {"features", "semantics", "split"})
      if (std::ranges::any_of(parts, [&](const Json& other) {
            return summary_of(other)["data"] == own["data"] && summary_of(other)[field] != own[field];
          }))
        more.push_back(own[field].get<std::string>());
    std::erase(more, "");
    std::string name = own["data"].get<std::string>();
    if (!more.empty()) name += fmt::format(" ({})", fmt::join(more, ", "));
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{} #{}", name, i);
    names.push_back(unique);
  }
  return names;
}

Json overview_json(const std::vector<Json>& parts, const std::vector<std::string>& names) {
  Json rows = Json::array();
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const auto& run : parts[p].at("runs")) {
      auto row = std::ranges::find_if(rows, [&](const Json& one) { return one["method"] == run["name"]; });
      if (row == rows.end()) {
        rows.push_back({{"method", run["name"]}, {"cells", std::vector<Json>(parts.size())}});
        row = rows.end() - 1;
      }
      (*row)["cells"][p] = {{"zsl", run["summary"]["zsl"]}, {"h", run["summary"]["h"]}};
    }
  Json ranks{{"zsl", ranks_json(rows, "zsl")}, {"h", ranks_json(rows, "h")}};
  return {{"parts", names}, {"rows", std::move(rows)}, {"ranks", std::move(ranks)}};
}

// Photographs of the samples for the report, as a data: URL.

Thumbnails read_thumbnails(const std::filesystem::path& folder, std::size_t samples) {
  for (const char* type : {"jpeg", "png"}) {
    const auto file = folder / (std::string("thumbnails.") + (type[0] == 'j' ? "jpg" : "png"));
    if (!std::filesystem::is_regular_file(file)) continue;
    const std::string bytes = read_text_file(file);
    const auto header = read_image_header(std::as_bytes(std::span(bytes)));
    const std::size_t width = header ? header->width : 0, height = header ? header->height : 0;
    std::size_t size = std::min(width, height);
    while (size > 0 && (width / size) * (height / size) < samples) --size;
    if (size == 0)
      throw Error(BadInput{file.string(), "",
                           fmt::format("a JPEG or PNG with a square for each of {} samples", samples),
                           fmt::format("{} x {} pixels", width, height), "remove the file or create it again"});
    return {fmt::format("data:image/{};base64,{}", type, base64(bytes)), width / size, size};
  }
  return {};
}

}  // namespace parsnets
