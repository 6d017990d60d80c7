// Device files behind parsnets.h: export, files, info, scores and evaluation by the C runtime.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "capi/handles.hpp"
#include "data/feature_source.hpp"
#include "parsnets/device.hpp"
#include "parsnets/evaluation.hpp"

using namespace parsnets;
using namespace parsnets::capi;

struct parsnets_device {
  explicit parsnets_device(DeviceModel given) : model(std::move(given)) {
    if (model.source())  // its names may be any bytes
      source = to_json(*model.source()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  DeviceModel model;
  std::string source;  ///< JSON; empty: not known
};

namespace {

ExportOptions export_options_from(const parsnets_export_options* given) {
  ExportOptions options;
  const auto values = read_struct(given, PARSNETS_EXPORT_OPTIONS_INIT, "parsnets_export_options");
  if (checked(option_name("precision"), values.precision, PARSNETS_PRECISION_CHOSEN, PARSNETS_INT8) !=
      PARSNETS_PRECISION_CHOSEN)
    options.precision = static_cast<Precision>(values.precision - PARSNETS_FLOAT32);
  if (values.rank < -1)
    throw Error(ErrorCode::usage, fmt::format("{}: expected -1 or more, found {}", option_name("rank"), values.rank));
  if (values.rank >= 0) options.rank = static_cast<std::size_t>(values.rank);
  options.max_bytes = values.max_bytes;
  options.max_drop = checked(option_name("max-drop"), values.max_drop, 0, 100);
  return options;
}

std::int32_t number_of(Precision precision) { return static_cast<std::int32_t>(precision) + PARSNETS_FLOAT32; }
static_assert(PARSNETS_INT8 == int(Precision::int8) + PARSNETS_FLOAT32);

parsnets_export_result result_of(const Exported& exported) {
  parsnets_export_result result{};
  result.precision = number_of(exported.choice.precision);
  result.rank = static_cast<std::int32_t>(exported.choice.rank);
  result.has_validation = exported.validated ? 1 : 0;
  result.zsl_before = exported.before.zsl;
  result.h_before = exported.before.h;
  result.zsl_after = exported.choice.accuracy.zsl;
  result.h_after = exported.choice.accuracy.h;
  return result;
}

Samples checked_samples(const parsnets_device* device, const Samples& samples, const void* output,
                        const char* output_name, std::size_t columns) {
  require(device, "device");
  return checked_samples(samples, device->model.dimensions(), output, output_name, columns);
}

}  // namespace

parsnets_status parsnets_export(const parsnets_model* model, const parsnets_dataset* dataset,
                                const parsnets_export_options* options, uint32_t threads,
                                parsnets_progress_function progress, void* user, parsnets_device** device,
                                parsnets_export_result* result) {
  return created(device, "device", [&] {
    require(model, "model");
    if (result != nullptr) check_struct_size(result->size, "parsnets_export_result");
    Work work(threads, progress, user);
    Exported exported = export_model(model->model, dataset == nullptr ? nullptr : &dataset->data,
                                     export_options_from(options), work.pool, work.progress());
    const auto known = result_of(exported);
    auto made = std::make_unique<parsnets_device>(DeviceModel(std::move(exported.file), "the exported model"));
    if (result != nullptr) write_struct(result, known, "parsnets_export_result");
    return made.release();
  });
}

parsnets_status parsnets_device_load(const char* file, parsnets_device** device) {
  return created(device, "device", [&] {
    require(file, "file");
    return new parsnets_device(load_device_model(file));
  });
}

parsnets_status parsnets_device_save(const parsnets_device* device, const char* file) {
  return guarded([&] {
    require({{device, "device"}, {file, "file"}});
    AtomicFile out(file);
    out.write(device->model.bytes().data(), device->model.bytes().size());
    out.commit();
  });
}

parsnets_status parsnets_device_save_header(const parsnets_device* device, const char* file, const char* name) {
  return guarded([&] {
    require({{device, "device"}, {file, "file"}, {name, "name"}});
    write_text_file(file, c_header(device->model.bytes(), name));
  });
}

void parsnets_device_free(parsnets_device* device) { delete device; }

parsnets_status parsnets_device_get_info(const parsnets_device* device, parsnets_device_info* info) {
  return guarded([&] {
    require({{device, "device"}, {info, "info"}});
    const DeviceModel& model = device->model;
    parsnets_device_info known{};
    known.dimensions = model.dimensions();
    known.attributes = model.attributes();
    known.outputs = model.outputs();
    known.classes = model.class_names().size();
    known.seen_classes = static_cast<std::size_t>(std::ranges::count(model.class_seen(), 1));
    known.bytes = model.bytes().size();
    known.work_bytes = model.work_bytes();
    known.multiply_adds = model.multiply_adds();
    known.gamma = model.gamma();
    known.instruction_set = model.instruction_set();
    known.seen = model.class_seen().data();
    known.file = model.bytes().data();
    known.precision = number_of(model.precision());
    known.rank = static_cast<std::int32_t>(model.rank());
    known.source = device->source.empty() ? nullptr : device->source.c_str();
    write_struct(info, known, "parsnets_device_info");
  });
}

parsnets_status parsnets_device_class_name(const parsnets_device* device, size_t index, const char** name) {
  return named(device, "device", name, [&] { return name_at(device->model.class_names(), index, "classes"); });
}

parsnets_status parsnets_device_scores(const parsnets_device* device, const float* x, size_t samples, size_t dimensions,
                                       uint32_t threads, float* scores, size_t classes) {
  return guarded([&] {
    const Samples input = checked_samples(device, {x, samples, dimensions, threads}, scores, "scores", classes);
    check_count("classes", device->model.class_names().size(), classes);
    ThreadPool pool(threads);
    const Matrix<float> result = device->model.scores(input.view(), pool);
    std::ranges::copy(result.values(), scores);
  });
}

parsnets_status parsnets_device_rank(const parsnets_device* device, const float* x, size_t samples, size_t dimensions,
                                     const int32_t* candidates, size_t count, size_t k, uint32_t threads,
                                     int32_t* classes, float* scores, float* confidences) {
  return guarded([&] {
    const Samples input = checked_samples(device, {x, samples, dimensions, threads}, classes, "classes", k);
    const DeviceModel& model = device->model;
    require(candidates, "candidates");
    const Ranking ranking(model.class_seen(), model.gamma(), model.temperature(),
                          std::vector<std::int32_t>(candidates, candidates + count));
    const auto rank = [&](MatrixView<const float> rows, ThreadPool& pool, std::span<RankedClass> best) {
      const Matrix<float> result = model.scores(rows, pool);
      pool.parallel_for(rows.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) ranking.best(result.row(r), best.subspan(r * k, k));
      });
    };
    rank_batches(input, ranking, sizeof(float) * ranking.classes() + sizeof(RankedClass) * k, rank,
                 {k, classes, scores, confidences});
  });
}

parsnets_status parsnets_device_known(const parsnets_device* device, const float* x, size_t samples, size_t dimensions,
                                      uint32_t threads, float* known_scores, uint8_t* unknown) {
  return guarded([&] {
    const Samples input = checked_samples(device, {x, samples, dimensions, threads}, known_scores, "known_scores", 1);
    require(unknown, "unknown");
    ThreadPool pool(threads);
    std::ranges::copy(device->model.unknown(input.view(), Among::all, pool, std::span(known_scores, samples)), unknown);
  });
}

parsnets_status parsnets_device_evaluate(const parsnets_device* device, const parsnets_dataset* dataset,
                                         uint32_t threads, parsnets_progress_function progress, void* user,
                                         parsnets_evaluation* evaluation) {
  return guarded([&] {
    require({{device, "device"}, {dataset, "dataset"}, {evaluation, "evaluation"}});
    check_struct_size(evaluation->size, "parsnets_evaluation");
    Work work(threads, progress, user);
    write_evaluation(evaluate(device->model, dataset->data, work.pool, work.progress()), dataset->data, work.pool,
                     evaluation);
  });
}
