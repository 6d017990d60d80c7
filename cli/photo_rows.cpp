#include "photo_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/csv.hpp"
#include "images/decoding_bytes.hpp"
#include "images/features_of_image.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

constexpr std::size_t kDecoded = 32;  // images that are decoded at a time
constexpr std::size_t kTold = 5;      // of those that cannot be read

}  // namespace

ImageLimits PhotoOptions::limits() const {
  ImageLimits limits;
  limits.max_pixels = static_cast<std::size_t>(max_pixels);
  return limits;
}

void add_photo_options(OptionTable& options, PhotoOptions& photos) {
  options
      .path("backbone", photos.backbone.file,
            "network that turns photographs into features, an ONNX file: the one that made the features of training")
      .flag("trust-backbone", photos.trust_backbone,
            "use the network though the model does not say which one made its features; the card NAME.json beside it "
            "says what it expects")
      .integer("max-pixels", photos.max_pixels, 1, 1'000'000'000, "photographs with more pixels are not decoded");
  add_engine_option(options, photos.backbone);
}

void check_photographs(const std::string& input, const PhotoOptions& photos) {
  std::error_code absent;
  if (!photos.given()) {
    if (photos.backbone.engine) throw Error(ErrorCode::usage, "--engine requires --backbone");
    if (photos.trust_backbone) throw Error(ErrorCode::usage, "--trust-backbone requires --backbone");
    if (has_image_ending(input) || std::filesystem::is_directory(input, absent))
      throw Error(ErrorCode::usage,
                  fmt::format("--input: expected a file of features, found '{}'; photographs need --backbone FILE.onnx",
                              input));
  } else if (input == "-") {
    throw Error(ErrorCode::usage, "--input: expected photographs with --backbone, found standard input");
  }
}

std::string unreadable_text(std::size_t count) {
  return fmt::format("{} image{} could not be read\n", count, count == 1 ? "" : "s");
}

std::vector<ListedImage> photos_of(const std::string& input, ProgressObserver* progress) {
  std::error_code absent;
  std::vector<std::filesystem::path> places{input};
  if (!std::filesystem::exists(input, absent)) {
    const auto names = parse_list(input, "--input");
    places.assign(names.begin(), names.end());
  }
  ImageList list = find_images(places);
  if (!list.other_files.empty())
    report_message(progress,
                   "left out because they are not JPEG, PNG, WebP or BMP images: " + describe_other_files(list));
  return std::move(list.images);
}

PhotoRows::PhotoRows(std::vector<ListedImage> images, const std::optional<FeatureSource>& trained,
                     const PhotoOptions& options, ThreadPool& pool, ProgressObserver* progress)
    : images_(std::move(images)),
      backbone_(open_backbone_of(trained, options.backbone, options.trust_backbone)),
      limits_(options.limits()),
      pool_(pool),
      progress_(progress) {}

double PhotoRows::decoding_bytes() const {
  return parsnets::decoding_bytes(limits_, backbone_.source.input, pool_.size(), kDecoded);
}

void PhotoRows::skip(UnreadableImage image) {
  const auto& skipped = unreadable_.emplace_back(std::move(image));
  if (unreadable_.size() <= kTold)
    report_message(progress_, fmt::format("{}: cannot be read, skipped: {}", skipped.image, skipped.problem));
  else if (unreadable_.size() == kTold + 1)
    report_message(progress_, "more images cannot be read");
}

MatrixView<const float> PhotoRows::next(std::size_t count) {
  read_.clear();
  const ImageInput& shape = backbone_.source.input;
  const std::size_t values = 3 * shape.width * shape.height;
  while (read_.empty() && next_ < images_.size()) {
    report(progress_, {"predict", next_, images_.size(), "photographs"});
    const std::size_t some = std::min({count, kDecoded, images_.size() - next_});
    const std::size_t first = next_;
    const std::span<const ListedImage> block(images_.data() + first, some);
    next_ += some;
    inputs_.resize(some * values);
    const std::span<float> inputs(inputs_);
    std::vector<std::string> problems(some);
    std::exception_ptr only_problem;
    pool_.parallel_for(some, 1, [&](std::size_t i, std::size_t, std::size_t) {
      try {
        prepare_image(*backbone_.backbone, read_image_file(block[i].file, limits_), block[i].name,
                      inputs.subspan(i * values, values), limits_);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::bad_input) throw;
        const BadInput parts = error.parts();
        problems[i] = parts.found.empty() ? error.what() : parts.found;
        if (images_.size() == 1) only_problem = std::current_exception();
      }
    });
    if (only_problem) std::rethrow_exception(only_problem);
    if (features_.rows() < some) features_ = Matrix<float>(some, cols());
    for (std::size_t i = 0; i < some; ++i) {
      if (!problems[i].empty()) {
        skip({first + i, block[i].name, problems[i]});
        continue;
      }
      // One at a time, as in extraction: the features have the same bits.
      run_backbone(*backbone_.backbone, inputs.subspan(i * values, values), 1, features_.row(read_.size()));
      read_.push_back({first + i, block[i].name});
    }
  }
  if (read_.empty() && unreadable_.size() == images_.size())
    throw Error(BadInput{unreadable_.front().image, "", "an image that can be read", unreadable_.front().problem,
                         "none of the images can be read"});
  return {features_.data(), read_.size(), cols()};
}

}  // namespace parsnets::cli
