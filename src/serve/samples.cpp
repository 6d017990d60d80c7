#include "serve/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/file.hpp"
#include "eval/model_data.hpp"
#include "images/image_header.hpp"
#include "parsnets/error.hpp"
#include "report/report.hpp"

namespace parsnets {

namespace {

/// Takes turns among the classes; of a class, samples that are evenly spread.
std::vector<std::int32_t> spread(const Dataset& data, std::size_t most) {
  std::map<std::int32_t, std::vector<std::int32_t>> by_class;
  std::size_t all = 0;
  const Split& split = data.split;
  const bool has_test = !split.test_seen.empty() || !split.test_unseen.empty();
  for (const auto* list : {has_test ? &split.test_seen : &split.trainval, &split.test_unseen})
    for (const std::int32_t sample : *list) {
      by_class[data.labels[static_cast<std::size_t>(sample)]].push_back(sample);
      ++all;
    }
  std::map<std::int32_t, std::size_t> counts;
  for (std::size_t left = std::min(most, all), round = 1; left > 0; ++round)
    for (const auto& [label, samples] : by_class)
      if (left > 0 && samples.size() >= round) {
        counts[label] = round;
        --left;
      }
  std::vector<std::int32_t> chosen;
  for (const auto& [label, count] : counts) {
    const auto& samples = by_class[label];
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(samples[i * samples.size() / count]);
  }
  return chosen;
}

void read_sheet(const Dataset& data, const std::filesystem::path& folder, const std::vector<std::int32_t>& chosen,
                ServedSamples& out) {
  const Thumbnails sheet = read_thumbnails(folder, data.samples());
  if (sheet.image.empty()) return;
  const bool jpeg = sheet.image.starts_with("data:image/jpeg");
  out.sheet = {read_text_file(folder / (jpeg ? "thumbnails.jpg" : "thumbnails.png")),
               jpeg ? "image/jpeg" : "image/png"};
  out.sheet_columns = sheet.columns;
  out.sheet_size = sheet.size;
  out.sheet_places.assign(chosen.begin(), chosen.end());
}

constexpr std::size_t kMostPictureBytes = 2u << 20, kMostBytesOfPictures = 128u << 20;

/// Pictures of all samples, or of none: a client should not have to ask for each.
std::vector<Picture> read_pictures(const std::vector<ServedSample>& samples, const std::filesystem::path& images) {
  std::vector<Picture> pictures;
  std::size_t bytes = 0;
  std::error_code none;
  const std::filesystem::path root = std::filesystem::canonical(images, none);
  for (const ServedSample& sample : samples) {
    const std::filesystem::path file = images / sample.name;
    std::error_code absent;
    // The names come from the data set: only what lies in the folder is shown, wherever names and links lead.
    const auto inside = std::filesystem::canonical(file, absent).lexically_relative(root);
    if (absent || inside.empty() || *inside.begin() == "..") return {};
    const auto size = std::filesystem::file_size(file, absent);
    if (absent || size == 0 || size > kMostPictureBytes || bytes + size > kMostBytesOfPictures) return {};
    std::string content = read_text_file(file);
    const auto header = read_image_header(std::as_bytes(std::span(content)));
    if (!header) return {};
    bytes += size;
    pictures.push_back({std::move(content), media_type(header->format)});
  }
  return pictures;
}

}  // namespace

ServedSamples choose_samples(const Dataset& data, const Model& model, const std::filesystem::path& folder,
                             const std::filesystem::path& images, std::size_t most) {
  if (data.features.cols() != model.dimensions)
    throw Error(BadInput{folder.string(), "features", fmt::format("{} per sample, as in training", model.dimensions),
                         fmt::format("{}", data.features.cols()), "use the features that the model was trained on"});
  check_source(model, data);
  const std::vector<std::int32_t> chosen = spread(data, most);
  ServedSamples out;
  out.features = Matrix<float>(chosen.size(), data.features.cols());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto sample = static_cast<std::size_t>(chosen[i]);
    std::ranges::copy(data.features.row(sample), out.features.row(i).begin());
    const std::string& label = data.class_names[static_cast<std::size_t>(data.labels[sample])];
    const auto place = std::ranges::find(model.classes.names, label) - model.classes.names.begin();
    const bool seen = static_cast<std::size_t>(place) < model.classes.seen.size() &&
                      model.classes.seen[static_cast<std::size_t>(place)] != 0;
    out.samples.push_back(
        {data.image_files.empty() ? fmt::format("sample {}", sample) : data.image_files[sample], label, seen});
  }
  read_sheet(data, folder, chosen, out);
  if (!data.image_files.empty()) out.pictures = read_pictures(out.samples, images);
  return out;
}

}  // namespace parsnets
