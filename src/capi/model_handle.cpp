// Models behind parsnets.h: files, copies, info and the class bank.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_file.hpp"
#include "capi/handles.hpp"
#include "model/prediction.hpp"
#include "parsnets/field.hpp"
#include "store/train_record_json.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

std::string method_of(const Model& model) {
  const auto options = parse_json(model.options, "the options of the model");
  if (!options.is_object() || !options.contains("method") || !options["method"].is_string()) return "";
  return options["method"].get<std::string>();
}

}  // namespace

parsnets_model::parsnets_model(Model given)
    : model(std::move(given)), method(method_of(model)), record(to_json(model.record).dump()) {}

parsnets_model::parsnets_model(Model given, std::string method_name, std::string record_text)
    : model(std::move(given)), method(std::move(method_name)), record(std::move(record_text)) {}

std::unique_ptr<parsnets_model> parsnets_model::clone() const {
  auto made = std::make_unique<parsnets_model>(shared_copy(model), method, record);
  if (ready.load(std::memory_order_acquire)) {
    made->classes = classes;
    made->predictor_ = std::make_unique<const Predictor>(made->model, classes);
    made->ready = true;
  }
  return made;
}

const Predictor& parsnets_model::predictor() const {
  if (!ready.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex);
    if (!ready.load(std::memory_order_relaxed)) {
      ThreadPool pool(1);
      classes = std::make_shared<PreparedClasses>(model.prepare_classes(pool));
      predictor_ = std::make_unique<const Predictor>(model, classes);
      ready.store(true, std::memory_order_release);
    }
  }
  return *predictor_;
}

void parsnets_model::class_added(ThreadPool& pool) {
  if (!ready.exchange(false)) return;
  classes = std::make_shared<PreparedClasses>(model.prepare_added_classes(*classes, pool));
  predictor_ = std::make_unique<const Predictor>(model, classes);
  ready = true;
}

void parsnets_model::class_removed() { ready = false; }

void parsnets_model::places_moved() {
  ready = false;
  record_changed();
}

void parsnets_model::record_changed() { record = to_json(model.record).dump(); }

parsnets_status parsnets_model_load(const char* file, parsnets_model** model) {
  return created(model, "model", [&] {
    require(file, "file");
    return new parsnets_model(load_model(file));
  });
}

parsnets_status parsnets_model_save(const parsnets_model* model, const char* file) {
  return guarded([&] {
    require({{model, "model"}, {file, "file"}});
    save_model(model->model, file);
  });
}

parsnets_status parsnets_model_clone(const parsnets_model* model, parsnets_model** result) {
  return created(result, "copy", [&] {
    require(model, "model");
    return model->clone().release();
  });
}

void parsnets_model_free(parsnets_model* model) { delete model; }

parsnets_status parsnets_model_get_info(const parsnets_model* handle, parsnets_model_info* info) {
  return guarded([&] {
    require({{handle, "model"}, {info, "info"}});
    const Model& model = handle->model;
    parsnets_model_info known{};
    known.dimensions = model.dimensions;
    known.attributes = model.attributes();
    known.outputs = model.outputs();
    known.classes = model.classes.names.size();
    known.seen_classes = static_cast<std::size_t>(std::count(model.classes.seen.begin(), model.classes.seen.end(), 1));
    known.networks = model.gates.networks;
    known.open = model.gates.open;
    known.predicts_semantics = model.direction == Direction::forward ? 1 : 0;
    known.gamma = model.gamma;
    known.temperature = model.temperature;
    known.method = handle->method.c_str();
    known.options = model.options.c_str();
    known.record = handle->record.c_str();
    known.seen = model.classes.seen.data();
    known.semantics = model.classes.semantics.data();
    write_struct(info, known, "parsnets_model_info");
  });
}

parsnets_status parsnets_model_class_name(const parsnets_model* model, size_t index, const char** name) {
  return named(model, "model", name, [&] { return name_at(model->model.classes.names, index, "classes"); });
}

parsnets_status parsnets_model_attribute_name(const parsnets_model* model, size_t index, const char** name) {
  return named(model, "model", name, [&] {
    return optional_name_at(model->model.attribute_names, model->model.attributes(), index, "attributes");
  });
}

parsnets_status parsnets_model_feature_name(const parsnets_model* model, size_t index, const char** name) {
  return named(model, "model", name, [&] {
    return optional_name_at(model->model.feature_names, model->model.dimensions, index, "features");
  });
}

parsnets_status parsnets_model_set_feature_names(parsnets_model* model, const char* const* names, size_t dimensions) {
  return guarded([&] {
    require(model, "model");
    std::vector<std::string> given;
    if (names != nullptr) {
      check_count("dimensions", model->model.dimensions, dimensions);
      for (std::size_t i = 0; i < dimensions; ++i) {
        require(names[i], "names");
        check_utf8(names[i], fmt::format("the name of feature {}", i));
        given.emplace_back(names[i]);
      }
    }
    model->model.feature_names = std::move(given);
  });
}

parsnets_status parsnets_model_add_classes(parsnets_model* model, const char* const* names, const float* semantics,
                                           size_t classes, size_t attributes) {
  return guarded([&] {
    require({{model, "model"}, {names, "names"}, {semantics, "semantics"}});
    std::vector<std::string> checked;
    for (std::size_t c = 0; c < classes; ++c) {
      require(names[c], "names");
      check_utf8(names[c], "the name of a class");
      checked.emplace_back(names[c]);
    }
    model->model.add_classes(checked, {semantics, classes, attributes});
    Work work(1);
    model->class_added(work.pool);
  });
}

parsnets_status parsnets_model_remove_class(parsnets_model* model, const char* name) {
  return guarded([&] {
    require({{model, "model"}, {name, "name"}});
    model->model.remove_class(name);
    model->class_removed();
  });
}

parsnets_status parsnets_model_teach(parsnets_model* model, const char* name, const float* x, size_t samples,
                                     size_t dimensions, uint32_t threads) {
  return guarded([&] {
    require(name, "name");
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, x, "x", dimensions);
    Work work(threads);
    teach(model->model, name, input.view(), work.pool);
    model->places_moved();
  });
}

parsnets_status parsnets_model_add_class_by_examples(parsnets_model* model, const char* name, const float* x,
                                                     size_t samples, size_t dimensions, uint32_t threads) {
  return guarded([&] {
    require(name, "name");
    check_utf8(name, "the name of a class");
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, x, "x", dimensions);
    Work work(threads);
    add_class_by_examples(model->model, name, input.view(), work.pool);
    model->class_added(work.pool);
  });
}

parsnets_status parsnets_model_adapt(parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                     const int32_t* movable, size_t movable_count, uint32_t rounds, uint32_t threads,
                                     parsnets_adaptation* adaptation, double* support, double* degrees,
                                     size_t classes) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, x, "x", dimensions);
    require(adaptation, "adaptation");
    check_struct_size(adaptation->size, "parsnets_adaptation");
    const auto& names = model->model.classes.names;
    check_count("classes", names.size(), classes);
    AdaptOptions options;
    if (rounds > 0) options.rounds = static_cast<int>(std::min<std::uint32_t>(rounds, 1u << 30));
    if (movable != nullptr && movable_count == 0)
      throw Error(ErrorCode::usage, "argument 'movable': expected at least one class, or NULL");
    for (std::size_t i = 0; movable != nullptr && i < movable_count; ++i)
      options.classes.emplace_back(name_at(names, static_cast<std::size_t>(movable[i]), "classes"));
    Work work(threads);
    const Adaptation done = adapt(model->model, input.view(), options, work.pool);
    model->places_moved();
    for (double* values : {support, degrees})
      if (values != nullptr) std::fill_n(values, classes, 0.0);
    for (const ClassMove& move : done.moves) {
      if (support != nullptr) support[move.class_index] = move.support;
      if (degrees != nullptr) degrees[move.class_index] = move.degrees;
    }
    write_struct(adaptation,
                 {0, done.samples, done.convincing, done.moves.size(), done.rounds, 0, done.likelihood_gain},
                 "parsnets_adaptation");
  });
}

parsnets_status parsnets_model_suggest(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                       size_t count, uint32_t threads, size_t* rows, size_t* found) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, x, "x", dimensions);
    require({{rows, "rows"}, {found, "found"}});
    Work work(threads);
    const auto suggested = suggest(model->model, input.view(), count, work.pool);
    std::ranges::copy(suggested, rows);
    *found = suggested.size();
  });
}

parsnets_status parsnets_model_undo_adaptation(parsnets_model* model) {
  return guarded([&] {
    require(model, "model");
    undo_adaptation(model->model);
    model->places_moved();
  });
}

parsnets_status parsnets_model_calibrate(parsnets_model* model, double gamma, double temperature) {
  return guarded([&] {
    require(model, "model");
    if (!(gamma >= -1e40 && gamma <= 1e40))
      throw Error(ErrorCode::usage, fmt::format("argument 'gamma': expected -1e40 to 1e40, found {}", gamma));
    if (!(temperature >= 1e-45 && temperature <= 1e45))
      throw Error(ErrorCode::usage,
                  fmt::format("argument 'temperature': expected 1e-45 to 1e45, found {}", temperature));
    model->model.gamma = gamma;
    model->model.temperature = temperature;
  });
}

parsnets_status parsnets_model_calibrate_on(parsnets_model* model, const float* x, const int32_t* labels,
                                            size_t samples, size_t dimensions, uint32_t threads) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, labels, "labels", 1);
    Work work(threads);
    calibrate(model->model, input.view(), {labels, samples}, work.pool);
  });
}
