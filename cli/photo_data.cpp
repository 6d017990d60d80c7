#include "photo_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backbones.hpp"
#include "base/file.hpp"
#include "data/feature_source.hpp"
#include "data/folder.hpp"
#include "photo_rows.hpp"
#include "terminal.hpp"

namespace parsnets::cli {

namespace {

namespace fs = std::filesystem;

/// Short enough for a name, long enough to tell them apart.
std::string key_of(const std::string& text) { return sha256_of(std::as_bytes(std::span(text))).substr(0, 16); }

fs::path class_table(const fs::path& photographs, const fs::path& given, const fs::path& data) {
  if (!given.empty()) return given;
  for (const auto& file : {photographs / "classes.csv", photographs / "attributes.csv", data / "attributes.csv"})
    if (fs::is_regular_file(file)) return file;
  throw Error(BadInput{photographs.string(), "", "a table that describes the classes", "none",
                       "name it by --classes FILE.csv, or put it there as classes.csv: a header 'class,<attributes>', "
                       "and a row for each class, photographed or not"});
}

/// What has no features.
void tell_left_out(const Extraction& done, const ImageList& list, ProgressObserver* progress) {
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(kNamed, done.unreadable.size()); ++i)
    report_message(progress, "cannot be read: " + done.unreadable[i]);
  if (done.unreadable.size() > kNamed)
    report_message(progress, fmt::format("and {} more cannot be read", done.unreadable.size() - kNamed));
  if (std::string text = left_out_text(list); !text.empty()) {
    text.pop_back();
    report_message(progress, text);
  }
}

}  // namespace

bool holds_photographs(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error) || fs::exists(folder / kPartialExtractionFile) || holds_data_set(folder))
    return false;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error))
    if (has_image_ending(entry.path()) && entry.path().parent_path() != folder) return true;
  return false;
}

fs::path data_of_photographs(const fs::path& folder, const fs::path& classes, const OpenedBackbone& opened,
                             const BackboneChoice& choice, Context& context) {
  const ImageList list = list_images({folder});
  FeatureSource source = opened.source;
  source.photographs = fs::canonical(folder).string();
  FeatureSource nowhere = opened.source;
  nowhere.backbone = nowhere.file = "";
  const std::string made_by = to_json(nowhere).dump();
  const fs::path data = cache_folder() / "photographs" / key_of(source.photographs + made_by) / folder_name(folder);
  ExtractionOptions options;
  options.attributes = class_table(folder, classes, data);
  options.store = cache_folder() / "features" / key_of(made_by);
  options.limits = choice.limits();
  options.memory_limit = choice.memory_limit;
  check_attributes(options.attributes, list);
  if (!context.common.quiet)
    answer_interrupts("stopping after this photograph; Ctrl-C again ends at once, and finished photographs are kept");
  ThreadPool pool(context.threads());
  const Extraction done = extract_features(*opened.backbone, source, list, data, options, pool, context.progress);
  tell_left_out(done, list, context.progress);
  report_message(context.progress,
                 fmt::format("{}: {} photographs of {} classes, {} of them with features from the cache",
                             folder.string(), done.images, list.class_names.size(), done.continued));
  return data;
}

}  // namespace parsnets::cli
