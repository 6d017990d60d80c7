// parsnets extract: from photographs to a data set folder.

#include <fmt/format.h>

#include "backbone_module.hpp"
#include "base/file.hpp"
#include "base/memory_limit.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "images/extraction.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

/// "1 image", "2 classes".
std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

constexpr std::size_t kShown = 5;  // of the images that cannot be read

std::vector<std::filesystem::path> places_of(const std::string& images) {
  std::error_code absent;
  if (std::filesystem::exists(images, absent)) return {images};  // its name may have a comma
  const auto names = parse_list(images, "--images");
  return {names.begin(), names.end()};
}

/// What the folder still needs before a model can be trained on it.
std::string next_step(const Extraction& done, const std::string& folder) {
  if (!done.has_labels)
    return fmt::format(
        "no classes: there is no folder per class; a model predicts them: parsnets predict --model MODEL --input {}\n",
        (std::filesystem::path(folder) / "features.npy").string());
  std::string text;
  if (!done.has_attributes)
    text += fmt::format("missing: {}/attributes.csv, a header 'class,<attributes>' and a row per class\n", folder);
  return text + fmt::format("missing: a split; next: parsnets data split {}\n", folder);
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
      text += fmt::format("  {}\n", done.unreadable[i]);
    if (done.unreadable.size() > kShown) text += fmt::format("  and {} more\n", done.unreadable.size() - kShown);
  }
  if (!done.classes_without_images.empty())
    text += fmt::format("classes without a readable image: {}\n", quoted_list(done.classes_without_images));
  if (!list.other_files.empty())
    text +=
        fmt::format("left out because they are not JPEG, PNG, WebP or BMP images: {}\n", describe_other_files(list));
  if (!list.unused_labels.empty())
    text += fmt::format("the labels name {} that {} not there: {}\n", counted(list.unused_labels.size(), "image"),
                        list.unused_labels.size() == 1 ? "is" : "are", quoted_list(list.unused_labels));
  text += next_step(done, folder);
  return output;
}

}  // namespace

Command extract_command() {
  struct State {
    std::string images;
    std::filesystem::path out, labels;
    BackboneChoice backbone;
    ExtractionOptions options;
    int max_pixels = 0;
  };
  auto state = std::make_shared<State>();
  state->max_pixels = static_cast<int>(state->options.limits.max_pixels);
  Command command;
  command.name = "extract";
  command.summary = "turn photographs into the features of a data set, with an ONNX network";
  command.example = "parsnets extract --images photos --backbone resnet50.onnx --attributes classes.csv --out my-data";
  command.options
      .text("images", state->images,
            "folder with a folder of photographs per class, or image files, comma-separated (JPEG, PNG, WebP, BMP)")
      .path("out", state->out, "data set folder to write; an interrupted run goes on from what is there");
  add_backbone_options(command.options, state->backbone);
  command.options
      .path("attributes", state->options.attributes,
            "table of classes: a .csv file with a column 'class' and the attributes; becomes attributes.csv")
      .path("labels", state->labels,
            "classes of the photographs: a .csv file with the columns 'file' and 'class', instead of folders")
      .integer("max-pixels", state->max_pixels, 1, 1'000'000'000, "photographs with more pixels are not decoded")
      .bytes("memory-limit", state->options.memory_limit,
             "maximum memory of the process; fails before starting if the work does not fit");
  command.run = [state](Context& context) {
    if (state->images.empty() || state->out.empty() || state->backbone.file.empty())
      throw Error(ErrorCode::usage, "extract: expected --images DIR, --backbone FILE.onnx and --out DIR");
    auto& options = state->options;
    options.limits.max_pixels = static_cast<std::size_t>(state->max_pixels);
    check_writable_folder(state->out);
    const ImageList list = list_images(places_of(state->images), state->labels);
    if (!options.attributes.empty() && list.class_names.empty())
      throw Error(
          ErrorCode::usage,
          fmt::format("--attributes: expected photographs with classes, one folder of {} per class or --labels, "
                      "found no such folders",
                      state->images));
    if (!options.attributes.empty()) check_attributes(options.attributes, list);
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    state->backbone.threads = pool.size();
    state->backbone.limits = options.limits;
    state->backbone.memory_limit = options.memory_limit;
    const OpenedBackbone opened = open_backbone(state->backbone);
    const Extraction done =
        extract_features(*opened.backbone, opened.source, list, state->out, options, pool, context.progress);
    return output_of(done, list, opened.source, opened.backbone->engine(), state->out.string());
  };
  return command;
}

}  // namespace parsnets::cli
