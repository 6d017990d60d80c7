#include "experiments/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "eval/reference.hpp"
#include "experiments/bench_entries.hpp"
#include "experiments/run_folder.hpp"
#include "experiments/study_tables.hpp"
#include "parsnets/version.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A data set with one choice of features and semantics.
struct StudyVariant {
  const FoundDataset* found;  ///< must outlive it
  LoadOptions load;
  std::string title;        ///< in tables and messages
  fs::path folder;          ///< of its results
  std::size_t samples = 0;  ///< that methods train on; 0: not known yet
};

/// The letters of a name that every file system takes.
std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    safe += std::isalnum(byte) != 0 || byte >= 0x80 || c == '.' || c == '-' || c == '_' ? c : '-';
  }
  return safe;
}

/// Those of the complete data sets. Titles and folders tell them apart; folders depend on nothing but path, features
/// and semantics.
std::vector<StudyVariant> study_variants(const std::vector<FoundDataset>& found, const ReproduceOptions& options) {
  std::map<std::string, int> of_name;
  for (const auto& data : found) ++of_name[data.name];
  std::vector<StudyVariant> variants;
  for (const auto& data : found) {
    if (!data.problem.empty()) continue;
    const std::string place = data.folder.lexically_relative(options.root).generic_string();
    for (const auto& features : data.features)
      for (const auto& semantics : data.semantics) {
        StudyVariant variant{&data, {}, of_name[data.name] > 1 ? place : data.name, {}, 0};
        variant.load.features = data.features.size() > 1 ? features : "";
        variant.load.semantics = data.semantics.size() > 1 ? semantics : "";
        variant.load.seed = options.seed;
        if (data.semantics.size() > 1) variant.title += " " + semantics;
        if (data.features.size() > 1) variant.title += " " + features;
        if (!data.known_as.empty() && data.name.find(data.known_as) == std::string::npos)
          variant.title += " (" + data.known_as + ")";
        // All of it, so that results keep their folder when data sets, features or semantics are added.
        variant.folder = options.out / file_name(fmt::format("{}-{}-{}", place == "." ? data.name : place,
                                                             fs::path(features).stem().string(),
                                                             fs::path(semantics).stem().string()));
        variants.push_back(std::move(variant));
      }
  }
  return variants;
}

/// A part of a study.
struct StudyPart {
  Json StudySet::*results;  ///< of a data set
  const char* file;  ///< of these, in the folder of the data set; the report finds those beside the default model
  std::vector<Entry> entries;
  std::uint64_t seeds;

  bool keeps_models() const { return results == &StudySet::methods; }
};

/// The parts that the options ask for, methods first. Throws usage for methods that are unknown or occur twice.
std::vector<StudyPart> study_plan(const ReproduceOptions& options) {
  std::vector<StudyPart> plan{{&StudySet::methods, "methods.json", method_entries(options.methods, TrainSettings{}),
                               static_cast<std::uint64_t>(options.seeds)}};
  std::set<std::string> labels;
  for (const auto& entry : plan[0].entries)
    if (!labels.insert(entry.label).second)
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected each method once, found '{}' twice", option_name("methods"), entry.label));
  if (options.ablation)
    plan.push_back({&StudySet::ablation, "default/ablation.json", ablation_entries(TrainSettings{}), 1});
  if (options.sparsity)
    plan.push_back({&StudySet::sparsity, "default/sparsity.json",
                    sweep_entries("k", method_entries("parsnets", TrainSettings{})), 1});
  for (auto& part : plan)
    for (auto& entry : part.entries) {
      entry.options.run.memory_limit = options.memory_limit;
      // Rows of the ablation search a grid each: on one fold, or they would take most of the time.
      if (part.results == &StudySet::ablation && entry.options.search.kind == Search::grid)
        entry.options.calibration.folds = 1;
    }
  return plan;
}

/// A damaged file is as good as none: what it would have said is made again.
Json read_or_null(const fs::path& file) {
  try {
    return parse_ordered_json(read_text_file(file), file.string());
  } catch (const Error&) {
    return nullptr;
  }
}

const std::set<std::string> kReported{"paper", "default", "auto"};
constexpr std::size_t kSweptNetworks = 200;  ///< of sweep_entries("k"); at most one per sample

/// What a single training has to tell is too much among hundreds.
class ProgressAlone : public ProgressObserver {
 public:
  explicit ProgressAlone(ProgressObserver* to) : to_(to) {}
  bool on_progress(const ProgressEvent& event) override { return to_ == nullptr || to_->on_progress(event); }

 private:
  ProgressObserver* to_;
};

class Study {
 public:
  Study(const ReproduceOptions& options, ThreadPool& pool, ProgressObserver* progress)
      : options_(options), pool_(pool), progress_(progress), plan_(study_plan(options)) {
    if (!options.rows.empty()) own_ = read_own_rows(options.rows);
    found_ = find_datasets(options.root);
    variants_ = study_variants(found_, options);
    if (variants_.empty())
      throw Error(BadInput{options.root.string(), "", "at least one data set folder with features", reasons(),
                           "see docs/data.md for the files of a data set"});
    if (options.out.empty()) throw Error(ErrorCode::usage, option_name("out") + ": expected a folder, found ''");
    if (options.seed + static_cast<std::uint64_t>(options.seeds) < options.seed)
      throw Error(ErrorCode::usage, option_name("seed") + ": expected room for all seeds below 2^64");
    check_writable_folder(options.out);
    fs::create_directories(options.out);
  }

  Reproduction run() {
    // Held to the end: results of two processes never meet. The summary is the file that both would write last.
    const fs::path summary = options_.out / "reproduce.json";
    std::ofstream(summary, std::ios::app);  // made in place: a file that is replaced would lose the lock of another
    const FileLock lock(summary, progress_);
    const Json before = read_or_null(summary);
    if (before.is_object()) reported_before_ = before.value("report", Json());
    collect_plan();
    try {
      for (const auto& variant : variants_) run_variant(variant);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled) throw;
      write_tables();
      throw Error(ErrorCode::cancelled, fmt::format("{}; finished runs are in {}: the same command goes on from them",
                                                    error.what(), options_.out.string()));
    }
    write_tables();
    write_report();
    result_.missing = missing_datasets(options_.root, found_);
    for (const auto& data : found_)
      if (!data.problem.empty()) result_.skipped.push_back(data.folder.string() + ": " + data.problem);
    write_text_file(summary, summary_json().dump(1) + "\n");
    return std::move(result_);
  }

 private:
  std::string reasons() const {
    std::string text;
    for (const auto& data : found_) text += (text.empty() ? "" : "; ") + data.folder.string() + ": " + data.problem;
    return text.empty() ? "no data set folder" : text;
  }

  static bool suits(const StudyVariant& variant, const StudyPart& part) {
    return part.results != &StudySet::sparsity || variant.samples >= kSweptNetworks;
  }

  /// What is on file of a part; null: nothing. Rows of earlier calls with other methods stay in the file alone.
  static Json results_of(const StudyVariant& variant, const StudyPart& part) {
    const fs::path file = variant.folder / part.file;
    if (!fs::exists(file)) return nullptr;
    Json json = read_bench_results(file), rows = Json::array();
    for (const auto& entry : part.entries)
      for (const auto& row : json.at("methods"))
        if (row.at("method") == entry.label) rows.push_back(row);
    json["methods"] = std::move(rows);
    return json;
  }

  /// What is to be run, and what finished runs took.
  void collect_plan() {
    std::erase_if(variants_, [&](StudyVariant& variant) {
      LoadOptions labels_alone = variant.load;
      labels_alone.read_features = false;
      const auto data = loaded(variant, labels_alone);
      if (data) variant.samples = data->split.trainval.size();
      return !data;
    });
    for (auto& variant : variants_) {
      for (const auto& part : plan_) {
        if (!suits(variant, part)) continue;
        const Json results = results_of(variant, part), rows = results.is_object() ? results["methods"] : Json::array();
        for (const auto& entry : part.entries) {
          const StudyRun run{entry.label, variant.title, variant.samples};
          std::size_t there = 0;
          for (const auto& row : rows)
            if (row.at("method") == entry.label)
              for (const char* key : {"runs", "other_runs"})
                for (const auto& one : row.value(key, Json::array())) {
                  finished_.push_back({run.method, run.data, run.samples, one.value("seconds", 0.0)});
                  const auto seed = one.at("seed").get<std::uint64_t>();
                  there += seed >= options_.seed && seed - options_.seed < part.seeds ? 1 : 0;
                }
          for (std::size_t i = there; i < part.seeds; ++i) waiting_.push_back(run);
        }
      }
    }
  }

  /// Nothing for a data set that cannot be read: the others go on, and the summary says why.
  std::optional<Dataset> loaded(const StudyVariant& variant, LoadOptions load) {
    load.memory_limit = options_.memory_limit;
    try {
      return load_dataset(variant.found->folder, load, progress_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input) throw;
      result_.skipped.push_back(variant.title + ": " + (options_.message ? options_.message(error) : error.what()));
      return std::nullopt;
    }
  }

  void say(const StudyVariant& variant, const std::string& label, std::uint64_t seed) {
    const auto seconds = time_left(finished_, waiting_);
    std::string text = fmt::format("{}, {}, seed {}: {} run{} left", variant.title, label, seed, waiting_.size(),
                                   waiting_.size() == 1 ? "" : "s");
    if (seconds) text += fmt::format(", about {} min", static_cast<int>(*seconds / 60 + 1));
    report_message(progress_, text);
  }

  void run_variant(const StudyVariant& variant) {
    const auto found = loaded(variant, variant.load);
    if (!found) return;
    const Dataset& data = *found;
    for (const auto& part : plan_) {
      if (!suits(variant, part)) {
        result_.skipped.push_back(fmt::format("{}: the sweep over active networks needs {} training samples, found {}",
                                              variant.title, kSweptNetworks, variant.samples));
        continue;
      }
      Json info = bench_info(data, options_.seed, part.seeds);
      if (part.results == &StudySet::ablation) info["ablation"] = true;
      if (part.results == &StudySet::sparsity) info["sweep"] = "k";
      BenchResults results(std::move(info), variant.folder / part.file, true);
      for (const auto& entry : part.entries) run_one(variant, part, entry, data, results);
    }
    write_tables();
  }

  void run_one(const StudyVariant& variant, const StudyPart& part, const Entry& entry, const Dataset& data,
               BenchResults& results) {
    RunEntry how{options_.seed, part.seeds, options_.message, {}, {}};
    std::size_t trained = 0;
    how.before = [&](std::uint64_t seed) { say(variant, entry.label, seed); };
    how.keep = [&](const Model& model, const TrainRun& run, std::uint64_t seed) {
      if (part.keeps_models() && seed == options_.seed) keep(variant, entry, model, run);
      finished_.push_back({entry.label, variant.title, variant.samples, run.seconds});
      drop(finished_.back());
      ++trained;
    };
    run_entry(entry, how, data, pool_, &quiet_, results);
    if (part.keeps_models() && is_reported(entry) && results.has_run(options_.seed) && !has_model(variant, entry))
      train_again(variant, entry, data);
    result_.runs += trained;
    result_.reused += results.row()["runs"].size() - trained;
    if (results.row().contains("error")) {
      ++result_.failed;
      for (std::size_t i = results.row()["runs"].size(); i < part.seeds; ++i) drop({entry.label, variant.title});
    }
  }

  void drop(const StudyRun& run) {
    const auto found = std::ranges::find_if(
        waiting_, [&](const StudyRun& other) { return other.method == run.method && other.data == run.data; });
    if (found != waiting_.end()) waiting_.erase(found);
  }

  static bool is_reported(const Entry& entry) {
    return kReported.contains(entry.label.substr(0, entry.label.find(':')));
  }

  /// Whether the model of the first seed is there: another call may have had other seeds.
  bool has_model(const StudyVariant& variant, const Entry& entry) const {
    const fs::path folder = variant.folder / file_name(entry.label), file = run_json_file(folder);
    if (!fs::exists(folder / "model.safetensors") || !fs::exists(file)) return false;
    const Json run = read_or_null(file);
    return run.is_object() && run.value("seed", Json()) == Json(options_.seed);
  }

  void train_again(const StudyVariant& variant, const Entry& entry, const Dataset& data) {
    report_message(progress_, fmt::format("{}, {}: the model of seed {} is not there and is trained again",
                                          variant.title, entry.label, options_.seed));
    TrainOptions wanted = entry.options;
    wanted.run.seed = options_.seed;
    TrainRun run;
    const Model model = train(data, wanted, pool_, &quiet_, &run);
    keep(variant, entry, model, run);
  }

  void keep(const StudyVariant& variant, const Entry& entry, const Model& model, const TrainRun& run) const {
    const fs::path folder = variant.folder / file_name(entry.label);
    make_folder_of(folder / "model.safetensors");
    save_model(model, folder / "model.safetensors");
    write_run_json(folder, variant.found->folder.string(), variant.load,
                   fmt::format("a study of several methods: {}", entry.label), run);
  }

  /// From the files, so that what was run earlier is in them, too.
  void write_tables() {
    std::vector<StudySet> sets;
    reported_.clear();
    for (const auto& variant : variants_) {
      StudySet& set = sets.emplace_back(StudySet{variant.title, {}, {}, {}});
      for (const auto& part : plan_) set.*part.results = results_of(variant, part);
      std::vector<fs::path> shown;
      for (const auto& entry : plan_.front().entries)
        if (const fs::path folder = variant.folder / file_name(entry.label);
            is_reported(entry) && fs::exists(folder / "model.safetensors"))
          shown.push_back(folder);
      // The page opens with the first: the default model, which ablation and sweep are about.
      std::stable_partition(shown.begin(), shown.end(),
                            [](const fs::path& folder) { return folder.filename() == "default"; });
      reported_.insert(reported_.end(), shown.begin(), shown.end());
    }
    result_.tables = study_tables(sets, own_);
    const fs::path folder = options_.out / "tables";
    fs::create_directories(folder);
    std::string text = fmt::format("# Results\n\nMade by parsnets {}, seeds {} to {}.\n", PARSNETS_VERSION,
                                   options_.seed, options_.seed + static_cast<std::uint64_t>(options_.seeds) - 1);
    for (const char* name : kTableNames)  // of an earlier call with other options
      if (std::ranges::none_of(result_.tables, [&](const ResultTable& table) { return table.name == name; }))
        for (const auto& [ending, format] : kTableFormats) fs::remove(folder / fmt::format("{}{}", name, ending));
    for (const auto& table : result_.tables) {
      for (const auto& [ending, format] : kTableFormats)
        write_text_file(folder / fmt::format("{}{}", table.name, ending), to_text(table, format));
      text += fmt::format("\n## {}\n\n{}", heading_of(table.name), to_text(table, TableFormat::markdown));
    }
    write_text_file(folder / "tables.tex", latex_document(result_.tables));
    write_text_file(options_.out / "results.md", text);
  }

  /// What the page shows beside results, as text.
  Json report_of() const {
    Json json{{"points", options_.points}, {"rows", Json::array()}, {"runs", Json::array()}};
    for (const auto& row : own_) json["rows"].push_back({row.data, cited_row_json(row)});
    for (const auto& folder : reported_) {
      std::vector<std::string> files;
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path().string());
      std::ranges::sort(files);
      for (const auto& file : files)
        json["runs"].push_back({fs::path(file).lexically_relative(options_.out).string(), sha256_of_file(file)});
    }
    return json;
  }

  /// Only where something is new: the maps take minutes.
  void write_report() {
    const fs::path page = options_.out / "report.html";
    if (options_.report && !reported_.empty() && (!fs::exists(page) || reported_before_ != report_of())) {
      std::vector<RunFolder> folders;
      for (const auto& folder : reported_) folders.push_back(read_run_folder(folder));
      ReportOptions wanted;
      wanted.points = options_.points;
      wanted.seed = options_.seed;
      wanted.own_rows = options_.rows;
      report_message(progress_, fmt::format("report on {} model{}", folders.size(), folders.size() == 1 ? "" : "s"));
      write_text_file(page, report_page(report_on_runs(folders, wanted, options_.memory_limit, pool_, &quiet_)));
    }
    if (fs::exists(page)) result_.page = page;
    if (!result_.page.empty()) reported_before_ = options_.report ? report_of() : reported_before_;
  }

  static std::string heading_of(const std::string& name) {
    if (name == "zsl") return "Table 1: zero-shot learning";
    if (name == "gzsl") return "Table 2: generalised zero-shot learning";
    std::string heading = name;
    heading[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(heading[0])));
    return heading;
  }

  Json summary_json() const {
    Json json{{"version", PARSNETS_VERSION}, {"methods", options_.methods}, {"seeds", options_.seeds},
              {"seed", options_.seed},       {"runs", result_.runs},        {"reused", result_.reused},
              {"failed", result_.failed},    {"data", Json::array()},       {"skipped", result_.skipped},
              {"missing", Json::array()}};
    for (const auto& variant : variants_) json["data"].push_back(variant.title);
    json["report"] = reported_before_;
    for (const auto& table : result_.tables) json["tables"].push_back(table.name);
    for (const auto& data : result_.missing)
      for (const auto& file : data.files)
        json["missing"].push_back({{"data", data.data},
                                   {"file", (data.folder / file.file).string()},
                                   {"contents", file.contents},
                                   {"source", file.source},
                                   {"bytes", file.bytes > 0 ? Json(file.bytes) : Json()},
                                   {"sha256", file.sha256.empty() ? Json() : Json(file.sha256)}});
    return json;
  }

  ReproduceOptions options_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  ProgressAlone quiet_{progress_};
  std::vector<StudyPart> plan_;  ///< methods first
  std::vector<CitedRow> own_;
  std::vector<FoundDataset> found_;
  std::vector<StudyVariant> variants_;
  std::vector<StudyRun> finished_, waiting_;
  std::vector<fs::path> reported_;  ///< run folders of the report
  Json reported_before_;            ///< report_of() of the page that is there
  Reproduction result_;
};

}  // namespace

Reproduction reproduce(const ReproduceOptions& options, ThreadPool& pool, ProgressObserver* progress) {
  try {
    return Study(options, pool, progress).run();
  } catch (const nlohmann::json::exception& error) {
    throw Error(BadInput{options.out.string(), "", "results of an earlier call", error.what(),
                         "remove the JSON files of the data set that was changed by hand"});
  }
}

namespace {

/// Training time relative to the default model: an order of magnitude for methods that have not run yet.
double rough_share(const std::string& method) {
  if (method.starts_with("auto")) return 15;
  if (method.starts_with("paper")) return 30;
  if (method.starts_with("ridge") || method.starts_with("eszsl") || method.starts_with("sae")) return 0.2;
  return 1;
}

}  // namespace

std::optional<double> time_left(const std::vector<StudyRun>& finished, const std::vector<StudyRun>& waiting) {
  struct Sum {
    double seconds = 0, samples = 0, runs = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> by_data;
  std::map<std::string, Sum> by_method;
  for (const auto& run : finished)
    for (Sum* sum : {&by_data[{run.method, run.data}], &by_method[run.method]}) {
      sum->seconds += run.seconds;
      sum->samples += static_cast<double>(run.samples);
      ++sum->runs;
    }
  double known = 0, share = 0;  // per sample, over the methods that ran
  for (const auto& [method, sum] : by_method) {
    known += sum.samples > 0 ? sum.seconds / sum.samples : 0;
    share += rough_share(method);
  }
  if (share <= 0) return std::nullopt;
  double seconds = 0;
  for (const auto& run : waiting) {
    if (const auto same = by_data.find({run.method, run.data}); same != by_data.end()) {
      seconds += same->second.seconds / same->second.runs;
      continue;
    }
    const Sum own = by_method[run.method];
    const double per_sample = own.samples > 0 ? own.seconds / own.samples : known / share * rough_share(run.method);
    seconds += per_sample * static_cast<double>(run.samples);
  }
  return seconds;
}

}  // namespace parsnets
