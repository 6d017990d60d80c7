#include "data/split_file.hpp"

#include <fmt/format.h>

#include "data/class_lists.hpp"
#include "data/class_order.hpp"
#include "data/folder.hpp"
#include "data/split_json.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::vector<std::int64_t> read_list(MatFile& file, const std::string& name) {
  if (file.find(name) == nullptr) return {};
  const auto values = file.read_columns_double(name);
  if (values.rows() != 1 && values.cols() != 1)
    throw Error(BadInput{file.name(), name, "a row or a column of sample indices",
                         fmt::format("{} x {}", values.cols(), values.rows()), ""});
  return to_integers(values.values(), file.name(), name);
}

}  // namespace

const MatVariable& require_variable(const MatFile& file, const std::string& variable) {
  if (const auto* found = file.find(variable)) return *found;
  std::vector<std::string> names;
  for (const auto& v : file.variables()) names.push_back(v.name);
  throw Error(BadInput{file.name(), variable, "a variable of that name", quoted_list(names, 12), ""});
}

Split read_mat_lists(MatFile& file, std::size_t samples) {
  for (const auto* name : {"trainval_loc", "test_unseen_loc"}) require_variable(file, name);
  RawSplit raw;
  raw.trainval = read_list(file, "trainval_loc");
  raw.test_seen = read_list(file, "test_seen_loc");
  raw.test_unseen = read_list(file, "test_unseen_loc");
  raw.train = read_list(file, "train_loc");
  raw.val = read_list(file, "val_loc");
  Split split = split_from_lists(raw, samples, file.name());
  split.version = split_layout(split, !raw.train.empty() && !raw.val.empty());
  return split;
}

Split read_split_file(const std::filesystem::path& file, const std::filesystem::path& folder, const Dataset& data,
                      std::uint64_t seed) {
  if (data.labels.empty())
    throw Error(BadInput{file.string(), "", "a data set with features and labels, which a split file refers to",
                         "semantics only", "add the features, or leave out " + option_name("split")});
  Split split;
  if (file == kStandardSplit) {
    split = read_class_lists(find_standard_split(folder), data, seed);
  } else if (std::filesystem::is_directory(file)) {
    split = read_class_lists(file, data, seed);
  } else if (file.extension() == ".mat") {
    const auto mat = MatFile::open(file);
    if (mat->find("allclasses_names") != nullptr)
      check_same_classes(mat->read_strings("allclasses_names"), file.string(), data);
    split = read_mat_lists(*mat, data.samples());
    derive_validation(split, data.labels, {}, seed);
  } else {
    split = read_split_json(file, data.class_names, data.labels, seed);
  }
  split.file = file == kStandardSplit ? kStandardSplit : folder_name(file);
  return split;
}

}  // namespace parsnets
