#include "images/extraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/did_you_mean.hpp"
#include "base/file.hpp"
#include "base/memory_limit.hpp"
#include "base/sha256.hpp"
#include "data/class_table_file.hpp"
#include "data/feature_source.hpp"
#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "images/decoding_bytes.hpp"
#include "images/features_of_image.hpp"
#include "images/image_block.hpp"
#include "images/image_loop.hpp"
#include "images/partial_features.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAttributes = "attributes.csv";

/// One call of extract_features().
class Extractor {
 public:
  Extractor(const ImageReader& reader, const ImageList& list, PartialFeatures& partial, ThreadPool& pool,
            ProgressObserver* progress)
      : reader_(reader),
        list_(list),
        partial_(partial),
        pool_(pool),
        progress_(progress),
        errors_(list.images.size()) {}

  /// Fills `partial` with every image that can be read. Returns how many it had before.
  std::size_t run() {
    const std::vector<std::size_t> missing = find_missing();
    const std::size_t continued = list_.images.size() - missing.size();
    if (continued > 0)
      report_message(progress_, fmt::format("{} of {} photographs are done already", continued, list_.images.size()));
    std::vector<ListedImage> images;
    for (const std::size_t i : missing) images.push_back(list_.images[i]);
    read_images(
        reader_, images, pool_,
        [&](std::size_t done) {
          report(progress_, {"extract features", done, images.size(), "photographs"});
        },
        [&](std::size_t k, const ImageFeatures& features) {
          errors_[missing[k]] = features.error;
          if (!features.error) partial_.append(images[k].name, sha256_of(features.bytes), features.values);
        });
    return continued;
  }

  /// Why image i cannot be read; nothing: it can.
  const std::optional<Error>& error(std::size_t i) const { return errors_[i]; }

 private:
  std::vector<std::size_t> find_missing() {
    std::vector<std::size_t> begun, missing;
    for (std::size_t i = 0; i < list_.images.size(); ++i)
      (partial_.has(list_.images[i].name) ? begun : missing).push_back(i);
    std::vector<char> is_done(begun.size());
    for_each_image(
        begun.size(), pool_,
        [&](std::size_t done) {
          report(progress_, {"find finished photographs", done, begun.size(), "photographs"});
        },
        [&](std::size_t k) { is_done[k] = has_features(list_.images[begun[k]]); });
    for (std::size_t k = 0; k < begun.size(); ++k)
      if (!is_done[k]) missing.push_back(begun[k]);
    std::ranges::sort(missing);
    return missing;
  }

  bool has_features(const ListedImage& image) const {
    try {
      return partial_.has(image.name, sha256_of(read_image_file(image.file, reader_.limits)));
    } catch (const Error&) {
      return false;  // reported when it is read
    }
  }

  const ImageReader& reader_;
  const ImageList& list_;
  PartialFeatures& partial_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  std::vector<std::optional<Error>> errors_;
};

/// The classes of the data set: those of its table, or those of the images.
std::vector<std::string> classes_of(const fs::path& attributes, const ImageList& list) {
  if (!attributes.empty()) {
    check_attributes(attributes, list);
    return table_class_names(attributes);
  }
  for (const auto& name : list.class_names)
    if (double number = 0; parse_number(name, number))
      throw Error(BadInput{std::ranges::find(list.images, name, &ListedImage::class_name)->file.string(), "class",
                           "class names that are no numbers, or a table of attributes", "'" + name + "'",
                           "rename the class, or use " + option_name("attributes")});
  return list.class_names;
}

void require_memory_for(const ExtractionOptions& options, const FeatureSource& source, const ThreadPool& pool) {
  require_memory(
      options.memory_limit, decoding_bytes(options.limits, source.input, pool.size(), pool.size()),
      "decoding photographs",
      "raise the limit, or use fewer " + option_name("threads") + " or a lower " + option_name("max-pixels"));
}

/// Columns of one value per row.
void write_column(const fs::path& file, std::vector<std::string> header, const std::vector<std::string>& values) {
  CsvTable table{std::move(header), {}};
  for (const auto& value : values) table.rows.push_back({value});
  write_csv(file, table);
}

void write_labels(const fs::path& folder, const std::vector<std::string>& labels,
                  const std::vector<std::string>& classes, bool numbered) {
  // An interrupted run without the table of classes, or with it, may have left the other file.
  fs::remove(folder / (numbered ? "labels.csv" : "labels.npy"));
  if (!numbered) return write_column(folder / "labels.csv", {}, labels);
  std::map<std::string, std::int32_t> number_of;
  for (const auto& name : classes) number_of.emplace(name, static_cast<std::int32_t>(number_of.size()));
  std::vector<std::int32_t> numbers;
  for (const auto& label : labels) numbers.push_back(number_of.at(label));
  write_npy(folder / "labels.npy", numbers);
}

}  // namespace

void check_attributes(const fs::path& table, const ImageList& list) {
  if (table.extension() != ".csv")
    throw Error(BadInput{table.string(), "", "a .csv file with a column 'class' and the attributes",
                         "a file with another ending", "write it as CSV"});
  Dataset data;
  read_class_table(table, "attributes", MissingPolicy::attribute_mean, data, nullptr);
  const auto described = table_class_names(table);
  const std::set<std::string> known(described.begin(), described.end());
  std::vector<std::string> missing;
  std::ranges::set_difference(list.class_names, known, std::back_inserter(missing));
  if (!missing.empty())
    throw Error(BadInput{
        table.string(), "class", "a row for every class of the photographs", "none for " + quoted_list(missing),
        "add the rows, or name the classes as the table does" + did_you_mean(missing.front(), described)});
}

Extraction extract_features(Backbone& backbone, const FeatureSource& source, const ImageList& list,
                            const fs::path& folder, const ExtractionOptions& options, ThreadPool& pool,
                            ProgressObserver* progress) {
  fs::path attributes = options.attributes;
  if (fs::exists(folder / kAttributes)) {
    if (!attributes.empty() && read_text_file(attributes) != read_text_file(folder / kAttributes))
      throw Error(ErrorCode::usage, fmt::format("{} is there already and differs from {}: choose another folder",
                                                (folder / kAttributes).string(), attributes.string()));
    attributes = folder / kAttributes;
  }
  Extraction result;
  result.dimensions = source.dimensions;
  result.classes = classes_of(attributes, list);
  result.has_labels = !list.class_names.empty();
  result.has_attributes = !attributes.empty();
  check_writable_folder(folder);
  require_memory_for(options, source, pool);

  PartialFeatures partial(folder, source, progress);
  const ImageReader reader{backbone, source.input, options.limits};
  Extractor extractor(reader, list, partial, pool, progress);
  // What is thrown says how to go on.
  const auto resumable = [&](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      if (partial.size() == 0) throw;
      throw Error(error.code(), fmt::format("{}; the features of {} photographs are in {}: the same command goes "
                                            "on from them",
                                            error.what(), partial.size(), partial.file().string()));
    }
  };
  resumable([&] { result.continued = extractor.run(); });

  std::vector<std::string> names, labels;
  std::set<std::string> readable(list.class_names.begin(), list.class_names.end());
  for (std::size_t i = 0; i < list.images.size(); ++i) {
    const auto& image = list.images[i];
    if (extractor.error(i)) {
      result.unreadable.push_back(image.name + ": " + problem_of(*extractor.error(i)));
    } else {
      names.push_back(image.name);
      labels.push_back(image.class_name);
    }
  }
  if (names.empty()) throw none_readable(list.images.front(), *extractor.error(0), list.images.size());
  result.images = names.size();
  for (const auto& label : labels) readable.erase(label);  // what is left has none
  result.classes_without_images.assign(readable.begin(), readable.end());
  result.classes_without_images.insert(result.classes_without_images.end(), list.empty_folders.begin(),
                                       list.empty_folders.end());

  // From here on nothing is cancelled. The features come after all that says what they are, and the partial file goes
  // last: a crash between the files is made good by the same command.
  Matrix<float> block;
  const RowBlocks<float> rows{names.size(), source.dimensions, [&](std::size_t first, std::size_t count) {
                                if (block.rows() != count) block = Matrix<float>(count, source.dimensions);
                                for (std::size_t r = 0; r < count; ++r) partial.read(names[first + r], block.row(r));
                                return MatrixView<const float>(block.view());
                              }};
  resumable([&] {
    if (!attributes.empty() && attributes != folder / kAttributes)
      write_text_file(folder / kAttributes, read_text_file(attributes));
    write_text_file(folder / kExtractionFile, to_json(source).dump(2) + "\n");
    if (result.has_labels) write_labels(folder, labels, result.classes, result.has_attributes);
    write_column(folder / "image_files.csv", {"image_file"}, names);
    write_npy(folder / "features.npy", rows);
  });
  partial.remove();
  return result;
}

}  // namespace parsnets
