// Data sets behind parsnets.h: from folders and from arrays.

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "capi/handles.hpp"
#include "data/split.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& expected, const std::string& found) {
  throw Error(BadInput{"arrays", field, expected, found, ""});
}

/// A matrix of rows x cols.
void check_sizes(const char* rows_name, std::size_t rows, const char* cols_name, std::size_t cols) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& [name, size] : {std::pair(rows_name, rows), std::pair(cols_name, cols)})
    if (size < 1 || size > kMost) refuse(name, fmt::format("1 to {}", kMost), std::to_string(size));
  const auto bytes = checked_mul(rows, cols);
  if (!bytes || *bytes > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float))
    refuse("sizes", "arrays that fit into memory", fmt::format("{} x {}", rows, cols));
}

/// `where(row, column)` names a value.
template <class Where>
void check_finite(MatrixView<const float> values, const Where& where) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values.data()[i]))
      refuse(where(i / values.cols(), i % values.cols()), "a finite number", fmt::format("{}", values.data()[i]));
}

std::vector<std::string> names_from(const char* const* given, std::size_t count, const char* field) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = fmt::format("{}, name {}", field, i);
    if (given[i] == nullptr || *given[i] == '\0') refuse(where, "a name", given[i] == nullptr ? "NULL" : "''");
    check_utf8(given[i], where);
    names.emplace_back(given[i]);
  }
  return names;
}

/// The classes that the mask names; none without a mask.
std::vector<std::int32_t> validation_classes(const parsnets_arrays& arrays, const std::vector<char>& seen) {
  std::vector<std::int32_t> chosen;
  if (arrays.validation == nullptr) return chosen;
  for (std::size_t c = 0; c < arrays.classes; ++c) {
    if (arrays.validation[c] == 0) continue;
    if (!seen[c])
      refuse(fmt::format("validation, class {}", in_quotes(arrays.class_names[c])), "a class with training samples",
             "one without");
    chosen.push_back(static_cast<std::int32_t>(c));
  }
  const auto seen_classes = static_cast<std::size_t>(std::count(seen.begin(), seen.end(), 1));
  if (chosen.empty() || chosen.size() >= seen_classes)
    refuse("validation", fmt::format("1 to {} of the {} seen classes", seen_classes - 1, seen_classes),
           std::to_string(chosen.size()));
  return chosen;
}

Split split_from(const parsnets_arrays& arrays, const std::vector<std::int32_t>& labels) {
  const auto is_test = [&](std::size_t i) { return arrays.test != nullptr && arrays.test[i] != 0; };
  std::vector<char> seen(arrays.classes, 0);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (!is_test(i)) seen[static_cast<std::size_t>(labels[i])] = 1;
  Split split;
  for (std::size_t i = 0; i < labels.size(); ++i)
    (!is_test(i)                                 ? split.trainval
     : seen[static_cast<std::size_t>(labels[i])] ? split.test_seen
                                                 : split.test_unseen)
        .push_back(static_cast<std::int32_t>(i));
  if (split.trainval.empty()) refuse("test", "at least one training sample", "none");
  derive_validation(split, labels, validation_classes(arrays, seen), arrays.seed);
  return split;
}

Dataset dataset_from(const parsnets_arrays& arrays) {
  require(arrays.features, "arrays.features");
  require(arrays.labels, "arrays.labels");
  check_sizes("samples", arrays.samples, "dimensions", arrays.dimensions);
  const MatrixView<const float> features(arrays.features, arrays.samples, arrays.dimensions);
  Dataset data = classes_from(arrays);
  for (std::size_t i = 0; i < arrays.samples; ++i)
    if (arrays.labels[i] < 0 || static_cast<std::size_t>(arrays.labels[i]) >= arrays.classes)
      refuse(fmt::format("labels, sample {}", i), fmt::format("a class from 0 to {}", arrays.classes - 1),
             std::to_string(arrays.labels[i]));
  check_finite(features, [](std::size_t sample, std::size_t feature) {
    return fmt::format("features, sample {}, feature {}", sample, feature);
  });
  data.labels.assign(arrays.labels, arrays.labels + arrays.samples);
  data.split = split_from(arrays, data.labels);
  // A data set is only ever read, so the caller's features are safe in a matrix of ours.
  data.features = arrays.borrow_features != 0 ? Matrix<float>::adopt(const_cast<float*>(arrays.features),
                                                                     arrays.samples, arrays.dimensions, [](float*) {})
                                              : Matrix<float>::copy_of(features);
  return data;
}

LoadOptions load_options_from(const parsnets_load_options* given) {
  LoadOptions load;
  const auto options = read_struct(given, PARSNETS_LOAD_OPTIONS_INIT, "parsnets_load_options");
  if (options.features != nullptr) load.features = options.features;
  if (options.semantics != nullptr) load.semantics = options.semantics;
  if (options.split != nullptr) load.split = options.split;
  load.seed = options.seed;
  load.original_att = options.original_att != 0;
  static_assert(PARSNETS_MISSING_ZERO == int(MissingPolicy::zero));
  static_assert(PARSNETS_MISSING_REFUSE == int(MissingPolicy::refuse));
  load.missing = static_cast<MissingPolicy>(
      checked(option_name("missing"), options.missing, PARSNETS_MISSING_ATTRIBUTE_MEAN, PARSNETS_MISSING_REFUSE));
  return load;
}

}  // namespace

std::vector<std::string> parsnets::capi::distinct_names(const char* const* given, std::size_t count,
                                                        const char* field) {
  auto names = names_from(given, count, field);
  std::set<std::string_view> distinct;
  for (const auto& name : names)
    if (!distinct.insert(name).second) refuse(field, "each class only once", in_quotes(name) + " twice");
  return names;
}

Dataset parsnets::capi::classes_from(const parsnets_arrays& arrays) {
  require(arrays.semantics, "arrays.semantics");
  require(arrays.class_names, "arrays.class_names");
  check_sizes("classes", arrays.classes, "attributes", arrays.attributes);
  const MatrixView<const float> semantics(arrays.semantics, arrays.classes, arrays.attributes);
  Dataset data;
  data.name = arrays.name == nullptr ? "arrays" : arrays.name;
  check_utf8(data.name.c_str(), "arrays, name");
  data.features_name = data.semantics.name = "arrays";
  data.class_names = distinct_names(arrays.class_names, arrays.classes, "class_names");
  if (arrays.attribute_names != nullptr)
    data.semantics.attribute_names = names_from(arrays.attribute_names, arrays.attributes, "attribute_names");
  require_printable(data.class_names, "arrays", "class_names");
  require_printable(data.semantics.attribute_names, "arrays", "attribute_names");
  const auto& attributes = data.semantics.attribute_names;
  check_finite(semantics, [&](std::size_t c, std::size_t a) {
    return fmt::format("semantics, class {}, attribute {}", in_quotes(data.class_names[c]),
                       attributes.empty() ? std::to_string(a) : in_quotes(attributes[a]));
  });
  data.semantics.values = Matrix<float>::copy_of(semantics);
  return data;
}

parsnets_status parsnets_dataset_load(const char* folder, const parsnets_load_options* options,
                                      parsnets_progress_function progress, void* user, parsnets_dataset** dataset) {
  return created(dataset, "dataset", [&] {
    require(folder, "folder");
    CallbackObserver observer(progress, user);
    return new parsnets_dataset{load_dataset(folder, load_options_from(options), observer.get())};
  });
}

parsnets_status parsnets_dataset_from_arrays(const parsnets_arrays* arrays, parsnets_dataset** dataset) {
  return created(dataset, "dataset", [&] {
    require(arrays, "arrays");
    return new parsnets_dataset{dataset_from(read_struct(arrays, PARSNETS_ARRAYS_INIT, "parsnets_arrays"))};
  });
}

void parsnets_dataset_free(parsnets_dataset* dataset) { delete dataset; }

parsnets_status parsnets_dataset_get_info(const parsnets_dataset* dataset, parsnets_dataset_info* info) {
  return guarded([&] {
    require({{dataset, "dataset"}, {info, "info"}});
    const Dataset& data = dataset->data;
    parsnets_dataset_info known{};
    known.samples = data.samples();
    known.dimensions = data.features.cols();
    known.classes = data.classes();
    known.attributes = data.semantics.values.cols();
    known.seen_classes = data.seen_classes().size();
    known.trainval = data.split.trainval.size();
    known.test_seen = data.split.test_seen.size();
    known.test_unseen = data.split.test_unseen.size();
    known.train = data.split.train.size();
    known.val = data.split.val.size();
    known.name = data.name.c_str();
    known.features_name = data.features_name.c_str();
    known.semantics_name = data.semantics.name.c_str();
    known.features = data.features.data();
    known.labels = data.labels.data();
    known.semantics = data.semantics.values.data();
    write_struct(info, known, "parsnets_dataset_info");
  });
}

parsnets_status parsnets_dataset_class_name(const parsnets_dataset* dataset, size_t index, const char** name) {
  return named(dataset, "dataset", name, [&] { return name_at(dataset->data.class_names, index, "classes"); });
}

parsnets_status parsnets_dataset_attribute_name(const parsnets_dataset* dataset, size_t index, const char** name) {
  return named(dataset, "dataset", name, [&] {
    const Semantics& semantics = dataset->data.semantics;
    return optional_name_at(semantics.attribute_names, semantics.values.cols(), index, "attributes");
  });
}

parsnets_status parsnets_dataset_split(const parsnets_dataset* dataset, int32_t list, const int32_t** samples,
                                       size_t* count) {
  return guarded([&] {
    require({{dataset, "dataset"}, {samples, "samples"}, {count, "count"}});
    const Split& split = dataset->data.split;
    const std::vector<std::int32_t>* const lists[] = {&split.trainval, &split.test_seen, &split.test_unseen,
                                                      &split.train, &split.val};
    const auto* chosen = lists[checked("argument 'list'", list, PARSNETS_SPLIT_TRAINVAL, PARSNETS_SPLIT_VAL)];
    *samples = chosen->data();
    *count = chosen->size();
  });
}
