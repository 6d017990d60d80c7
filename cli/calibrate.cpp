// parsnets calibrate: teaches a model which samples are of none of its classes, at a stated rate.

#include "command.hpp"
#include "eval_protocols.hpp"
#include "load_flags.hpp"
#include "parsnets/field.hpp"
#include "parsnets/open_set.hpp"
#include "parsnets/training.hpp"

namespace parsnets::cli {

Command calibrate_command() {
  struct State {
    std::string model, data;
    std::filesystem::path out;
    LoadOptions load;
    OpenSetOptions options;
    bool force = false;
  };
  auto state = std::make_shared<State>();
  Command command{"calibrate", "calibrate the rejection of unknown samples and prediction sets on held-out classes",
                  "parsnets calibrate out/demo.safetensors data/demo --false-accept 5% -o out/open.safetensors"};
  command.by_place = {"model", "data"};
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("data", state->data, "data set folder that the model was trained on")
      .path("out", state->out, "model file to write (default: change --model in place)")
      .share("false-accept", state->options.false_accept, "share of unknown samples that may be accepted")
      .integer("folds", state->options.folds, 2, 1000,
               "fits, each without a part of the seen classes; at most one per two classes")
      .flag("force", state->force,
            fmt::format("store the rejection although its AUROC on held-out classes is below {:g}", kLeastAuroc));
  add_data_options(command.options, state->load);
  command.run = [state](Context& context) {
    refuse_if(state->model.empty() || state->data.empty(), "calibrate: expected --model FILE and --data DIR");
    const auto held = hold(state->model, state->out, context.progress);
    Model model = load_model(state->model);
    state->options.seed = context.common.seed;
    state->options.memory_limit = state->load.memory_limit;
    const Dataset data = load_as_trained(state->load, state->data, model.record.data, context);
    warn(context, source_doubt(model.record.data.source, data));
    ThreadPool pool(context.threads());
    const RejectionRecord record = calibrate_open_set(model, data, state->options, pool, context.progress);
    const std::string unsure = drop_weak_rejection(model, state->force);
    const std::string file = save_changed(model, state->model, state->out).string();
    if (is_taught(model) || is_adapted(model))
      warn(context, "folds are fitted anew: what classes have learned since training is not in these figures");
    warn(context, unsure.empty() ? weak_rejection(model) : unsure);
    return Output{{{"model", file},
                   {"units", "percent"},
                   {"rejection", rejection_json(record)},
                   {"has_rejection", !model.rejection.empty()}},
                  file + ": " + rejection_text(record)};
  };
  return command;
}

}  // namespace parsnets::cli
