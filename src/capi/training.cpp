// Training and evaluation behind parsnets.h.

#include <filesystem>
#include <system_error>

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

parsnets_status parsnets_train(const parsnets_dataset* dataset, const parsnets_options* options, uint32_t threads,
                               parsnets_progress_function progress, void* user, parsnets_model** model) {
  return guarded([&] {
    require(model, "model");
    *model = nullptr;
    require(dataset, "dataset");
    require(options, "options");
    const unsigned wanted = checked_threads(threads);
    CallbackObserver observer(progress, user);
    const BlasTurn turn;
    ThreadPool pool(wanted);
    *model = new parsnets_model(train(dataset->data, options->options, pool, observer.get()));
    std::error_code ignored;  // the model is there; a left-over checkpoint does no harm
    if (const auto& checkpoint = options->options.checkpoint; !checkpoint.empty())
      for (const char* ending : {".fold0", ".final"}) std::filesystem::remove(checkpoint.string() + ending, ignored);
  });
}

void parsnets::capi::write_evaluation(const TestReport& report, parsnets_evaluation* evaluation) {
  parsnets_evaluation known{};
  known.zsl_top1_per_class = report.zsl.top1_per_class;
  known.zsl_top1 = report.zsl.top1;
  known.zsl_top5 = report.zsl.top5;
  known.has_gzsl = report.has_gzsl ? 1 : 0;
  known.u = report.gzsl.u;
  known.s = report.gzsl.s;
  known.h = report.gzsl.h;
  known.ausuc = report.gzsl.ausuc;
  known.gamma = report.gzsl.gamma;
  write_struct(evaluation, known, "parsnets_evaluation");
}

parsnets_status parsnets_evaluate(const parsnets_model* model, const parsnets_dataset* dataset, uint32_t threads,
                                  parsnets_progress_function progress, void* user, parsnets_evaluation* evaluation) {
  return guarded([&] {
    require(model, "model");
    require(dataset, "dataset");
    require(evaluation, "evaluation");
    check_struct_size(evaluation->size, "parsnets_evaluation");
    const unsigned wanted = checked_threads(threads);
    CallbackObserver observer(progress, user);
    const BlasTurn turn;
    ThreadPool pool(wanted);
    write_evaluation(evaluate(model->model, dataset->data, pool, observer.get()), evaluation);
  });
}
