#include "train/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "data/load_options.hpp"
#include "data/sample_set.hpp"
#include "eval/model_data.hpp"
#include "parsnets/error.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

DataProvenance common_provenance(const Dataset& data) {
  const auto part = [](const std::vector<std::int32_t>& list) {
    return std::pair(list.size(), fmt::format("{:08x}", index_checksum(list)));
  };
  const Split& split = data.split;
  DataProvenance made;
  made.name = data.name;
  made.features = data.features_name;
  made.semantics = data.semantics.name;
  made.samples = data.samples();
  made.split = {part(split.trainval),
                part(split.test_seen),
                part(split.test_unseen),
                part(split.train),
                part(split.val),
                split.version,
                split.file};
  made.known_as = data.known_as;
  made.features_path = data.chosen.features;
  made.semantics_path = data.chosen.semantics;
  made.split_path = data.chosen.split.string();
  made.source = data.source;
  return made;
}

}  // namespace

DataProvenance provenance(const Dataset& data) {
  DataProvenance made = common_provenance(data);
  const auto trained = distinct(data.split.trainval);
  made.dimensions = data.features.cols();
  made.trained_samples = samples_to_hex(trained);
  made.trained_crc32 = features_checksum(data.features, trained);
  return made;
}

DataProvenance provenance(const Dataset& data, const Statistics& statistics, std::vector<StatisticsPart> parts) {
  DataProvenance made = common_provenance(data);
  made.dimensions = statistics.dimensions();
  made.statistics = std::move(parts);
  made.source = statistics.source() ? statistics.source() : data.source;
  if (made.statistics.empty()) made.statistics = {{"", statistics.samples(), statistics.weight()}};
  return made;
}

TrainingRequest request_of(const TrainOptions& options, const Dataset& data) {
  LoadOptions load = data.loaded.value_or(LoadOptions()), usual_load;
  load.split = load.split.filename();
  OptionTable loaded, usual;
  add_load_options(loaded, load);
  add_load_options(usual, usual_load);
  TrainingRequest request;
  request.options = changed_options(options);
  request.options.merge(loaded.different_from(usual));
  request.folder = data.loaded.has_value();
  if (request.folder && load.seed != options.run.seed) request.load_seed = load.seed;
  return request;
}

void require_training_data(const Model& model, const Dataset& data) {
  const auto refuse = [&](const std::string& field, const std::string& trained, const std::string& found) {
    throw Error(BadInput{data.name, field, "what the model was trained with (" + trained + ")", found,
                         "use the data set, features, semantics and split of training"});
  };
  check_source(model, data);
  const SplitProvenance& split = model.record.data.split;
  const std::tuple<const char*, const std::pair<std::size_t, std::string>&, const std::vector<std::int32_t>&> lists[] =
      {{"trainval", split.trainval, data.split.trainval},
       {"test_seen", split.test_seen, data.split.test_seen},
       {"test_unseen", split.test_unseen, data.split.test_unseen}};
  for (const auto& [name, part, list] : lists) {
    const std::string trained = part.second.empty() ? "unknown" : part.second,
                      found = fmt::format("{:08x}", index_checksum(list));
    if (trained != found) refuse(std::string(name) + " samples", "checksum " + trained, "checksum " + found);
  }
  if (data.features.cols() != model.dimensions)
    refuse("features", fmt::format("{} per sample", model.dimensions), std::to_string(data.features.cols()));
  if (const std::string& trained = model.record.data.trained_crc32; !trained.empty())
    if (const std::string found = provenance(data).trained_crc32; found != trained)
      refuse("features of the training samples", "checksum " + trained, "checksum " + found);
  if (data.semantics.values.cols() != model.attributes())
    refuse("attributes", std::to_string(model.attributes()), std::to_string(data.semantics.values.cols()));
  for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
    if (!model.classes.seen[c]) continue;  // unseen ones come and go with 'classes add'
    const auto name = std::ranges::find(data.class_names, model.classes.names[c]);
    if (name == data.class_names.end()) refuse("classes", "with '" + model.classes.names[c] + "'", "none of that name");
    const auto row = data.semantics.values.row(static_cast<std::size_t>(name - data.class_names.begin()));
    if (!std::ranges::equal(row, model.classes.semantics.row(c)))
      refuse("attributes of class '" + *name + "'", "as stored in the model", "other values");
  }
}

}  // namespace parsnets
