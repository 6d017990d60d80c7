#pragma once
// Report: one or more runs as the data of a page, and the page itself.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// A file of `bench --out` or `eval --out`.
struct BenchFile {
  std::string name, text;  ///< its name, and its JSON
};

/// One run. Refers to the model and the data set it was trained on; the JSON texts may be empty.
struct ReportRun {
  std::string name;                ///< of the run, on the page
  const Model* model = nullptr;    ///< must outlive the call
  const Dataset* data = nullptr;   ///< must outlive the call
  std::string run_json;            ///< what `train --run` wrote: command, seconds, machine
  std::vector<BenchFile> benches;  ///< a sweep, an ablation, learning in the field
};

/// Small photographs of the samples, as one picture: sample i at column i % columns, row i / columns.
struct Thumbnails {
  std::string image;                  ///< a data: URL; empty: none
  std::size_t columns = 0, size = 0;  ///< photographs in a row, and pixels of a side of one
};

/// What the report shows.
struct ReportOptions {
  std::size_t points = 3000;       ///< of the t-SNE maps, at most
  int explanations = 12;           ///< samples that are explained
  bool compare_mmg = true;         ///< fit once more without MMG, to show what it does; for models that use it
  std::uint64_t seed = 1;          ///< of the t-SNE maps and the samples in them
  std::filesystem::path own_rows;  ///< file with rows of the user's own, shown beside the published ones; or empty
  std::size_t samples = 0;         ///< test samples behind the figures, evenly spread, at most; 0: all
  std::uint64_t memory_limit = 0;  ///< bytes for the whole process in the fit without MMG; 0: none
};

/// The photographs in a data set folder: thumbnails.jpg or .png, squares in the order of the samples that fill the
/// picture row by row without gaps, of the largest size that holds all; none without such a file. Throws bad_input for
/// a file that is no JPEG or PNG, or has no room for the samples.
Thumbnails read_thumbnails(const std::filesystem::path& folder, std::size_t samples);

/// The page's data as JSON. All runs must be on the same data set, the one they were trained on. The same runs, options
/// and seed give the same text for any number of threads. Throws bad_input and usage as evaluate() does, bad_input for
/// own rows that cannot be read, cancelled by `progress`.
std::string report_data(const std::vector<ReportRun>& runs, const Thumbnails& thumbnails, const ReportOptions& options,
                        ThreadPool& pool, ProgressObserver* progress = nullptr);

/// Texts of report_data() on several data sets as the data of one page, which begins with an overview: runs of the same
/// name on different data sets are one method. A single text is returned as it is. Throws usage without any.
std::string joined_report_data(const std::vector<std::string>& parts);

/// The self-contained HTML page that shows such data.
std::string report_page(const std::string& data);

// The results of methods over several data sets.

/// The names of parts of a report, {"runs": [{"name", "summary"}, …]}: their data sets, with features, semantics and
/// split where parts on the same data set differ by these. All names are different.
std::vector<std::string> part_names(const std::vector<nlohmann::ordered_json>& parts);

/// {"parts": names, "rows": one per name of a run, "ranks": …}, see docs/report.md.
nlohmann::ordered_json overview_json(const std::vector<nlohmann::ordered_json>& parts,
                                     const std::vector<std::string>& names);

}  // namespace parsnets
