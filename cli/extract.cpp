// parsnets extract: from photographs to a data set folder.

#include <fmt/format.h>

#include <algorithm>

#include "backbone_module.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "data/folder.hpp"
#include "images/extraction.hpp"
#include "parsnets/error.hpp"
#include "photo_rows.hpp"
#include "terminal.hpp"

namespace parsnets::cli {

namespace {

/// "1 image", "2 classes".
std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

constexpr std::size_t kShown = 5;  // of the images that cannot be read

/// Photographs without class folders, to which a table of classes does not apply.
void require_classes(const ImageList& list, const std::vector<std::filesystem::path>& places) {
  if (!list.class_names.empty()) return;
  std::error_code absent;
  refuse_if(places.size() != 1 || !std::filesystem::is_directory(places.front(), absent),
            "--attributes describes classes, but the photographs have none; give a folder with a folder per class, "
            "or --labels");
  auto parent = (places.front() / "..").lexically_normal().string();
  if (parent.ends_with('/') && parent.size() > 1) parent.pop_back();
  throw Error(ErrorCode::usage,
              fmt::format("--attributes describes classes, but '{}' has no class folders; did you mean its parent, {}?",
                          std::filesystem::canonical(places.front(), absent).filename().string(), parent));
}

/// A data set among the photographs would be taken for a class the next time.
void require_outside(const std::filesystem::path& out, const std::vector<std::filesystem::path>& places) {
  std::error_code absent;
  const auto target = std::filesystem::weakly_canonical(out, absent);
  for (const auto& place : places) {
    if (!std::filesystem::is_directory(place, absent)) continue;
    const auto folder = std::filesystem::canonical(place, absent);
    const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
    refuse_if(end == folder.end() && target != folder,
              "--out: expected a folder outside the photographs, found {} inside {}", out.string(), place.string());
  }
}

/// What the folder still needs before a model can be trained on it.
std::string next_step(const Extraction& done, const std::string& folder) {
  if (!done.has_labels)
    return fmt::format("the photographs have no classes; to classify them: parsnets predict MODEL {}\n",
                       (std::filesystem::path(folder) / "features.npy").string());
  std::string text;
  if (!done.has_attributes)
    text += fmt::format("missing: {}/attributes.csv, a header 'class,<attributes>' and a row per class\n", folder);
  return text +
         fmt::format("next: parsnets train {0} -o MODEL.safetensors; to measure it, first: parsnets data split {0}\n",
                     folder);
}

Output output_of(const Extraction& done, const ImageList& list, const FeatureSource& source, const std::string& engine,
                 const std::string& folder) {
  Output output;
  output.json = {{"data", folder},
                 {"images", done.images},
                 {"continued", done.continued},
                 {"dimensions", done.dimensions},
                 {"classes", done.classes.size()},
                 {"unreadable", done.unreadable.size()},
                 {"unreadable_images", done.unreadable},
                 {"classes_without_images", done.classes_without_images},
                 {"unused_labels", list.unused_labels.size()},
                 {"unlabelled", list.unlabelled.size()},
                 {"broken_links", list.broken_links.size()},
                 {"other_files", list.other_files},
                 {"has_labels", done.has_labels},
                 {"has_attributes", done.has_attributes},
                 {"engine", engine},
                 {"backbone", to_json(source)}};
  auto& text = output.text;
  text = fmt::format("{}: {} x {} features, {}\n", folder, counted(done.images, "photograph"), done.dimensions,
                     done.has_labels ? counted(done.classes.size(), "class") : "no classes");
  text += fmt::format("backbone: {}, run by {}\n", describe(source), engine);
  if (done.continued > 0) text += fmt::format("from an earlier run: {}\n", counted(done.continued, "photograph"));
  if (!done.unreadable.empty()) {
    text += fmt::format("{} cannot be read and {} left out:\n", counted(done.unreadable.size(), "image"),
                        done.unreadable.size() == 1 ? "is" : "are");
    for (std::size_t i = 0; i < std::min(kShown, done.unreadable.size()); ++i)
      text += fmt::format("  {}\n", escaped(done.unreadable[i]));
    if (done.unreadable.size() > kShown) text += fmt::format("  and {} more\n", done.unreadable.size() - kShown);
  }
  if (!done.classes_without_images.empty())
    text += fmt::format("classes without a readable image: {}\n", quoted_list(done.classes_without_images));
  text += left_out_text(list);
  if (!list.unlabelled.empty())
    text += fmt::format("left out because the labels do not name them: {} ({})\n",
                        counted(list.unlabelled.size(), "image"), quoted_list(list.unlabelled));
  if (!list.unused_labels.empty())
    text += fmt::format("the labels name {} that {} not there: {}\n", counted(list.unused_labels.size(), "image"),
                        list.unused_labels.size() == 1 ? "is" : "are", quoted_list(list.unused_labels));
  text += next_step(done, folder);
  return output;
}

}  // namespace

Command extract_command() {
  struct State {
    std::vector<std::string> images;
    std::filesystem::path out, labels;
    BackboneChoice backbone{.file = kUsualBackbone};
    FeatureSource::Pooling pool{};
    ExtractionOptions options;
  };
  auto state = std::make_shared<State>();
  Command command{"extract", "turn photographs into the features of a data set, with a backbone",
                  "parsnets extract photos --attributes classes.csv -o my-data"};
  command.by_place = {"images"};
  command.options
      .texts("images", state->images,
             "folder with a folder of photographs per class, or image files (JPEG, PNG, WebP, BMP); image_files.csv "
             "names an image by its path below the folder when one folder is given, else by the path as given")
      .path("out", state->out, "data set folder to write; an interrupted run goes on from what is there");
  add_backbone_option(command.options, state->backbone);
  command.options
      .choice("pool", state->pool,
              {{"average", FeatureSource::Pooling::average}, {"both", FeatureSource::Pooling::both}},
              "features over the positions of a photograph: their average, or their average and their maximum; the "
              "preprocessing file may say which")
      .path("attributes", state->options.attributes,
            "table of classes: a .csv file with a column 'class' and the attributes; becomes attributes.csv")
      .path("labels", state->labels,
            "classes of the photographs: a .csv file with the columns 'file' and 'class', instead of folders; "
            "photographs that it does not name are left out");
  add_max_pixels(command.options, state->backbone);
  command.options.bytes("memory-limit", state->backbone.memory_limit,
                        "maximum memory of the process; fails before starting if the work does not fit");
  command.run = [state](Context& context) {
    refuse_if(state->images.empty() || state->out.empty(), "extract: expected --images DIR|FILE… and --out DIR");
    auto& options = state->options;
    if (context.is_given("pool")) state->backbone.pool = state->pool;
    options.limits = state->backbone.limits();
    options.memory_limit = state->backbone.memory_limit;
    const auto places = image_places(state->images, "--images");
    require_outside(state->out, places);
    check_writable_folder(state->out);
    const ImageList list = list_images(places, state->labels);
    if (!options.attributes.empty()) {
      require_classes(list, places);
      check_attributes(options.attributes, list);
    }
    ThreadPool pool(context.threads());
    state->backbone.threads = pool.size();
    const OpenedBackbone opened = open_backbone(state->backbone, context.progress);
    if (!context.common.quiet)
      answer_interrupts("stopping after this photograph; Ctrl-C again ends at once, and finished photographs are kept");
    const Extraction done =
        extract_features(*opened.backbone, opened.source, list, state->out, options, pool, context.progress);
    return output_of(done, list, opened.source, opened.backbone->engine(), state->out.string());
  };
  return command;
}

}  // namespace parsnets::cli
