#include "experiments/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.hpp"
#include "base/file_lock.hpp"
#include "data/split.hpp"
#include "eval/own_rows.hpp"
#include "experiments/bench_entries.hpp"
#include "experiments/run_entry.hpp"
#include "experiments/run_folder.hpp"
#include "experiments/run_report.hpp"
#include "experiments/study_tables.hpp"
#include "experiments/time_left.hpp"
#include "parsnets/version.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPublicSets[] = {"AWA1", "AWA2", "CUB", "SUN", "APY", "FLO"};
const std::set<std::string> kReported{"paper", "default", "auto"};

/// A data set with one choice of features and semantics.
struct Variant {
  const FoundDataset* found;
  LoadOptions load;
  std::string title;
  fs::path folder;  ///< of its results
  bool first = true;
  std::size_t samples = 0;  ///< that methods train on
};

/// The letters of a name that every file system takes.
std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ? c : '-';
  return safe;
}

std::vector<Variant> variants_of(const std::vector<FoundDataset>& found, const ReproduceOptions& options) {
  std::vector<Variant> variants;
  std::set<std::string> folders;
  for (const auto& data : found) {
    if (!data.problem.empty()) continue;
    bool first = true;
    for (const auto& features : data.features)
      for (const auto& semantics : data.semantics) {
        Variant variant{&data, {}, data.name, {}, first, 0};
        variant.load.features = data.features.size() > 1 ? features : "";
        variant.load.semantics = data.semantics.size() > 1 ? semantics : "";
        variant.load.seed = options.seed;
        if (data.semantics.size() > 1) variant.title += " " + semantics;
        if (data.features.size() > 1) variant.title += " " + features;
        if (!data.known_as.empty() && data.name.find(data.known_as) == std::string::npos)
          variant.title += " (" + data.known_as + ")";
        const std::string name = file_name(variant.title);
        std::string unique = name;  // folders of one name in different places
        for (int i = 2; !folders.insert(unique).second; ++i) unique = fmt::format("{}-{}", name, i);
        if (unique != name) variant.title += fmt::format(" [{}]", data.folder.parent_path().filename().string());
        variant.folder = options.out / unique;
        variants.push_back(std::move(variant));
        first = false;
      }
  }
  return variants;
}

/// paper, default and auto are names of presets; anything else is a method with options.
std::vector<Entry> study_entries(const std::string& methods) {
  std::vector<Entry> entries;
  for (std::size_t start = 0; start <= methods.size();) {
    const std::size_t end = std::min(methods.find(',', start), methods.size());
    const std::string text = methods.substr(start, end - start);
    start = end + 1;
    const std::string name = text.substr(0, text.find(':')), rest = text.substr(name.size());
    const std::string as_method = name == "default"                   ? "parsnets" + rest
                                  : name == "paper" || name == "auto" ? "parsnets:preset=" + name + rest
                                                                      : text;
    Entry entry = method_entries(as_method, TrainOptions{}).front();
    entry.label = text;
    if (std::ranges::any_of(entries, [&](const Entry& other) { return other.label == text; }))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected each method once, found '{}' twice", option_name("methods"), text));
    entries.push_back(std::move(entry));
  }
  return entries;
}

enum class Part { methods, ablation, sparsity };

struct PartPlan {
  Part part;
  std::vector<Entry> entries;
  std::uint64_t seeds;
};

std::vector<PartPlan> plan_of(const ReproduceOptions& options) {
  std::vector<PartPlan> plan;
  plan.push_back({Part::methods, study_entries(options.methods), static_cast<std::uint64_t>(options.seeds)});
  if (options.ablation) plan.push_back({Part::ablation, ablation_entries(TrainOptions{}), 1});
  if (options.sparsity)
    plan.push_back({Part::sparsity, sweep_entries("k", method_entries("parsnets", TrainOptions{})), 1});
  for (auto& part : plan)
    for (auto& entry : part.entries) {
      entry.options.run.memory_limit = options.memory_limit;
      // Rows of the ablation search a grid each: on one fold, or they would take most of the time.
      if (part.part == Part::ablation && entry.options.search.select) entry.options.search.folds = 1;
    }
  return plan;
}

/// Results of the parts of the method lie beside the default model, where the report looks for them.
fs::path file_of(const Variant& variant, Part part) {
  if (part == Part::methods) return variant.folder / "methods.json";
  return variant.folder / "default" / (part == Part::ablation ? "ablation.json" : "sparsity.json");
}

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
      : options_(options), pool_(pool), progress_(progress), plan_(plan_of(options)) {
    if (!options.rows.empty()) own_ = read_own_rows(options.rows);
    found_ = find_datasets(options.root);
    variants_ = variants_of(found_, options);
    if (variants_.empty())
      throw Error(BadInput{options.root.string(), "", "at least one data set folder with features", reasons(),
                           "see docs/data.md for the files of a data set"});
    check_writable_folder(options.out);
    fs::create_directories(options.out);
  }

  Reproduction run() {
    // Held to the end: results of two processes never meet. The summary is the file that both would write last.
    const fs::path summary = options_.out / "reproduce.json";
    if (!fs::exists(summary)) write_text_file(summary, "{}\n");
    const FileLock lock(summary, progress_);
    const Json before = Json::parse(read_text_file(summary), nullptr, false);
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
    result_.missing = missing();
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

  /// What is to be run, and what finished runs took.
  void collect_plan() {
    for (auto& variant : variants_) {
      LoadOptions labels_alone = variant.load;
      labels_alone.read_features = false;
      variant.samples = load_dataset(variant.found->folder, labels_alone).split.trainval.size();
      for (const auto& part : plan_) {
        Json earlier;
        if (const fs::path file = file_of(variant, part.part); fs::exists(file))
          earlier = Json::parse(read_text_file(file), nullptr, false);
        for (const auto& entry : part.entries) {
          const PlannedRun run{entry.label, variant.title, variant.samples};
          std::size_t there = 0;
          if (earlier.is_object() && earlier.contains("methods") && earlier["methods"].is_array())
            for (const auto& row : earlier["methods"])
              if (row.value("method", "") == entry.label)
                for (const char* key : {"runs", "other_runs"})
                  for (const auto& one : row.value(key, Json::array())) {
                    left_.add(run, one.value("seconds", 0.0));
                    const auto seed = one.value("seed", std::uint64_t{0});
                    there += seed >= options_.seed && seed - options_.seed < part.seeds ? 1 : 0;
                  }
          for (std::size_t i = there; i < part.seeds; ++i) waiting_.push_back(run);
        }
      }
    }
  }

  void say(const Variant& variant, const std::string& label, std::uint64_t seed) {
    const auto seconds = left_.of(waiting_);
    std::string text = fmt::format("{}, {}, seed {}: {} run{} left", variant.title, label, seed, waiting_.size(),
                                   waiting_.size() == 1 ? "" : "s");
    if (seconds) text += fmt::format(", about {} min", static_cast<int>(*seconds / 60 + 1));
    report_message(progress_, text);
  }

  void run_variant(const Variant& variant) {
    const Dataset data = load_dataset(variant.found->folder, variant.load, progress_);
    for (const auto& part : plan_) {
      Json info = bench_info(data, options_.seed, part.seeds);
      if (part.part == Part::ablation) info["ablation"] = true;
      if (part.part == Part::sparsity) info["sweep"] = "k";
      BenchResults results(std::move(info), file_of(variant, part.part), true);
      for (const auto& entry : part.entries) run_one(variant, part, entry, data, results);
    }
    write_tables();
  }

  void run_one(const Variant& variant, const PartPlan& part, const Entry& entry, const Dataset& data,
               BenchResults& results) {
    RunEntry how{{options_.seed, part.seeds}, options_.message, {}, {}};
    std::size_t trained = 0;
    how.before = [&](std::uint64_t seed) { say(variant, entry.label, seed); };
    how.keep = [&](const Model& model, const TrainRun& run, std::uint64_t seed) {
      if (part.part == Part::methods && seed == options_.seed) keep(variant, entry, model, run);
      const PlannedRun done{entry.label, variant.title, variant.samples};
      left_.add(done, run.seconds);
      drop(done);
      ++trained;
    };
    run_entry(entry, how, data, pool_, &quiet_, results);
    result_.runs += trained;
    result_.reused += results.row()["runs"].size() - trained;
    if (results.row().contains("error")) {
      ++result_.failed;
      for (std::size_t i = results.row()["runs"].size(); i < part.seeds; ++i)
        drop({entry.label, variant.title, variant.samples});
    }
  }

  void drop(const PlannedRun& run) {
    const auto found = std::ranges::find_if(
        waiting_, [&](const PlannedRun& other) { return other.method == run.method && other.data == run.data; });
    if (found != waiting_.end()) waiting_.erase(found);
  }

  void keep(const Variant& variant, const Entry& entry, const Model& model, const TrainRun& run) const {
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
      StudySet set{variant.title, variant.first, {}, {}, {}};
      const auto read = [&](Part part) {
        const fs::path file = file_of(variant, part);
        const bool wanted = std::ranges::any_of(plan_, [&](const PartPlan& p) { return p.part == part; });
        Json json = wanted && fs::exists(file) ? Json::parse(read_text_file(file)) : Json();
        if (json.is_object()) only_planned(part, json);
        return json;
      };
      set.methods = read(Part::methods);
      set.ablation = read(Part::ablation);
      set.sparsity = read(Part::sparsity);
      sets.push_back(std::move(set));
      for (const auto& part : plan_)
        for (const auto& entry : part.entries)
          if (const fs::path folder = variant.folder / file_name(entry.label);
              part.part == Part::methods && kReported.contains(entry.label.substr(0, entry.label.find(':'))) &&
              fs::exists(folder / "model.safetensors"))
            reported_.push_back(folder);
    }
    result_.tables = study_tables(sets, own_);
    const fs::path folder = options_.out / "tables";
    fs::create_directories(folder);
    std::string text = fmt::format("# Results\n\nMade by parsnets {}, seeds {} to {}.\n", PARSNETS_VERSION,
                                   options_.seed, options_.seed + static_cast<std::uint64_t>(options_.seeds) - 1);
    for (const auto& table : result_.tables) {
      for (const auto& [ending, format] :
           {std::pair(".md", TableFormat::markdown), std::pair(".csv", TableFormat::csv),
            std::pair(".tex", TableFormat::latex), std::pair(".json", TableFormat::json)})
        write_text_file(folder / (table.name + ending), to_text(table, format));
      text += fmt::format("\n## {}\n\n{}", heading_of(table.name), to_text(table, TableFormat::markdown));
    }
    write_text_file(folder / "tables.tex", latex_document(result_.tables));
    write_text_file(options_.out / "results.md", text);
  }

  /// What the page shows beside results, as text.
  Json report_of() const {
    Json json{{"points", options_.points}, {"rows", Json::array()}, {"runs", Json::array()}};
    for (const auto& row : own_) json["rows"].push_back({row.data, cited_row_json(row)});
    for (const auto& folder : reported_) json["runs"].push_back(folder.lexically_relative(options_.out).string());
    return json;
  }

  /// Only where something is new: the maps take minutes.
  void write_report() {
    const fs::path page = options_.out / "report.html";
    if (options_.report && !reported_.empty() &&
        (result_.runs > 0 || !fs::exists(page) || reported_before_ != report_of())) {
      std::vector<RunFolder> folders;
      for (const auto& folder : reported_) folders.push_back(read_run_folder(folder));
      ReportOptions wanted;
      wanted.points = options_.points;
      wanted.seed = options_.seed;
      wanted.own_rows = options_.rows;
      report_message(progress_, fmt::format("report on {} models", folders.size()));
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

  /// Rows of earlier calls with other methods stay in the file and out of the tables.
  void only_planned(Part part, Json& json) const {
    Json rows = Json::array();
    for (const auto& planned : plan_)
      if (planned.part == part)
        for (const auto& entry : planned.entries)
          for (const auto& row : json.at("methods"))
            if (row.at("method") == entry.label) rows.push_back(row);
    json["methods"] = std::move(rows);
  }

  std::vector<MissingData> missing() const {
    std::vector<MissingData> missing;
    for (const char* name : kPublicSets) {
      const auto is_it = [&](const FoundDataset& data) { return data.known_as == name; };
      if (std::ranges::any_of(found_, [&](const FoundDataset& data) { return is_it(data) && data.problem.empty(); }))
        continue;
      FoundDataset wanted{options_.root / name, name, name, {}, {}, {}, {}};
      if (const auto found = std::ranges::find_if(found_, is_it); found != found_.end()) wanted = *found;
      missing.push_back({name, wanted.folder, missing_files(wanted)});
    }
    return missing;
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
  std::vector<PartPlan> plan_;
  std::vector<CitedRow> own_;
  std::vector<FoundDataset> found_;
  std::vector<Variant> variants_;
  std::vector<PlannedRun> waiting_;
  std::vector<fs::path> reported_;  ///< run folders of the report
  Json reported_before_;            ///< report_of() of the page that is there
  TimeLeft left_;
  Reproduction result_;
};

}  // namespace

Reproduction reproduce(const ReproduceOptions& options, ThreadPool& pool, ProgressObserver* progress) {
  return Study(options, pool, progress).run();
}

}  // namespace parsnets
