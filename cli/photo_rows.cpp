#include "photo_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "command.hpp"
#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "images/features_of_image.hpp"

namespace parsnets::cli {

namespace {

constexpr std::size_t kAtATime = 32;  // images of which the features are held
constexpr std::size_t kTold = 5;      // of those that cannot be read

bool has_feature_ending(const std::string& file) {
  const auto ending = std::filesystem::path(file).extension();
  return ending == ".npy" || ending == ".npz" || ending == ".mat" || ending == ".csv";
}

/// Few images need few threads.
BackboneChoice with_threads(BackboneChoice choice, std::size_t images, const ThreadPool& pool) {
  choice.threads = static_cast<unsigned>(std::clamp<std::size_t>(images, 1, pool.size()));
  return choice;
}

}  // namespace

void add_photo_options(OptionTable& options, BackboneChoice& backbone) {
  options
      .path("backbone", backbone.file,
            "backbone that made the features of training: mobilenet, resnet50 or an ONNX file (default: found by what "
            "the model records)")
      .flag("force", backbone.trust,
            "use this backbone although the model does not record one; the preprocessing file NAME.json beside it says "
            "what it expects");
  add_max_pixels(options, backbone);
}

void check_photographs(const std::vector<std::string>& input, BackboneChoice& backbone) {
  std::error_code absent;
  if (!backbone.given()) {
    refuse_if(backbone.trust, "--force requires --backbone");
    backbone.recorded = std::ranges::any_of(input, [&](const auto& place) {
      return has_image_ending(place) || std::filesystem::is_directory(place, absent);
    });
  }
  if (!backbone.given()) {
    refuse_if(input.size() > 1, "--input: expected one file of features, found {}", input.size());
    return;
  }
  refuse_if(std::ranges::count(input, "-") > 0, "--input: expected photographs with --backbone, found standard input");
  for (const auto& place : input)
    refuse_if(has_feature_ending(place), "--backbone is for photographs, but '{}' holds features; leave it out", place);
}

std::vector<std::filesystem::path> image_places(const std::vector<std::string>& values, const std::string& option) {
  std::vector<std::filesystem::path> places;
  for (const auto& value : values) {
    std::error_code absent;
    if (std::filesystem::exists(value, absent) || value.find(',') == std::string::npos) {
      places.emplace_back(value);  // its name may have a comma
      continue;
    }
    for (auto& name : parse_list(value, option)) places.emplace_back(std::move(name));
  }
  return places;
}

std::string left_out_text(const ImageList& list) {
  std::string text;
  if (!list.other_files.empty())
    text += fmt::format("left out because of their endings: {}\n", describe_other_files(list));
  if (!list.broken_links.empty()) text += fmt::format("broken links: {}\n", quoted_list(list.broken_links));
  return text;
}

std::vector<ListedImage> photos_of(const std::vector<std::string>& input, ProgressObserver* progress) {
  ImageList list = find_images(image_places(input, "--input"));
  std::string left_out = left_out_text(list);
  if (!left_out.empty()) {
    left_out.pop_back();
    report_message(progress, left_out);
  }
  return std::move(list.images);
}

PhotoRows::PhotoRows(std::vector<ListedImage> images, const std::optional<FeatureSource>& trained,
                     const BackboneChoice& backbone, ThreadPool& pool, ProgressObserver* progress)
    : images_(std::move(images)),
      backbone_(open_backbone_of(trained, with_threads(backbone, images_.size(), pool))),
      limits_(backbone.limits()),
      pool_(pool),
      progress_(progress) {}

void PhotoRows::skip(SampleImage image) {
  const auto& skipped = unreadable_.emplace_back(std::move(image));
  if (unreadable_.size() <= kTold)
    report_message(progress_, fmt::format("{}: cannot be read, skipped: {}", escaped(skipped.image), skipped.problem));
  else if (unreadable_.size() == kTold + 1)
    report_message(progress_, "more images cannot be read");
}

MatrixView<const float> PhotoRows::next(std::size_t count) {
  read_.clear();
  const ImageReader reader{*backbone_.backbone, backbone_.source.input, limits_};
  while (read_.empty() && next_ < images_.size()) {
    const std::size_t first = next_, some = std::min({count, kAtATime, images_.size() - next_});
    const std::span<const ListedImage> block(images_.data() + first, some);
    std::vector<ImageFeatures> results(some);
    read_images(
        reader, block, pool_,
        [&](std::size_t done) {
          report(progress_, {"predict", first + done, images_.size(), "photographs"});
        },
        [&](std::size_t i, const ImageFeatures& features) {
          results[i] = {features.error, {}, features.values};
        });
    next_ += some;
    if (features_.rows() < some) features_ = Matrix<float>(some, cols());
    for (std::size_t i = 0; i < some; ++i) {
      if (results[i].error) {
        if (!first_error_) first_error_ = results[i].error;
        skip({first + i, block[i].name, problem_of(*results[i].error)});
        continue;
      }
      std::ranges::copy(results[i].values, features_.row(read_.size()).begin());
      read_.push_back({first + i, block[i].name});
    }
  }
  if (read_.empty() && unreadable_.size() == images_.size())
    throw none_readable(images_.front(), *first_error_, images_.size());
  return {features_.data(), read_.size(), cols()};
}

}  // namespace parsnets::cli
