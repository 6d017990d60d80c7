// parsnets predict: classes and confidences for the rows of a features file, streamed in batches.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>

#include "base/memory_limit.hpp"
#include "command.hpp"
#include "data/rows.hpp"
#include "eval/score_source.hpp"
#include "feature_input.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/ranking.hpp"

namespace parsnets::cli {

Command predict_command() {
  struct State {
    std::string model, input;
    int top = 5, batch = 1024;
    std::uint64_t memory_limit = 0;
    Among among = Among::all;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "predict";
  command.summary = "predict the classes of new samples, with confidences";
  command.example = "parsnets predict --model out/demo.safetensors --input data/demo/features.npy --top 3";
  command.options.text("model", state->model, "model file")
      .text("input", state->input, "features of the samples: .npy, .npz, .csv or .mat, one row each")
      .integer("top", state->top, 1, 100000, "number of classes per sample")
      .choice("among", state->among, {{"all", Among::all}, {"seen", Among::seen}, {"unseen", Among::unseen}},
              "candidate classes")
      .integer("batch", state->batch, 1, 1000000, "samples per batch");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    if (state->model.empty() || state->input.empty())
      throw Error(ErrorCode::usage, "predict: expected --model FILE and --input FILE");
    const Model model = load_model(state->model);
    const Matrix<float> input = read_feature_input(state->input, context.progress);
    const Ranking ranking(model, state->among);
    std::vector<RankedClass> top(std::min(static_cast<std::size_t>(state->top), ranking.candidates().size()));
    require_memory(state->memory_limit,
                   scoring_bytes(model.classes.names.size(), model.outputs(), model.dimensions) +
                       12.0 * state->batch * static_cast<double>(input.cols()),
                   "prediction", "raise the limit or lower --batch");
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    const auto batch = static_cast<std::size_t>(state->batch);
    const PreparedClasses prepared = model.prepare_classes(pool);
    // Written as it is computed, so that memory does not grow with the input.
    const auto write = [&](std::size_t start, MatrixView<const float> scores) {
      const std::size_t rows = scores.rows();
      std::string text;
      if (start == 0) text += context.common.json ? "{\n  \"predictions\": [\n" : "sample,rank,class,confidence\n";
      for (std::size_t r = 0; r < rows; ++r) {
        ranking.best(scores.row(r), top);
        if (context.common.json) {
          nlohmann::ordered_json item{{"sample", start + r}, {"top", nlohmann::ordered_json::array()}};
          for (const auto& one : top) {
            const auto c = static_cast<std::size_t>(one.class_index);
            item["top"].push_back({{"class", model.classes.names[c]},
                                   {"confidence", one.confidence},
                                   {"seen", model.classes.seen[c] != 0}});
          }
          text += fmt::format("    {}{}\n", item.dump(), start + r + 1 < input.rows() ? "," : "");
        } else {
          for (std::size_t i = 0; i < top.size(); ++i)
            text += fmt::format("{},{},{},{:.4f}\n", start + r, i + 1,
                                csv_cell(model.classes.names[static_cast<std::size_t>(top[i].class_index)]),
                                top[i].confidence);
        }
      }
      if (context.common.json && start + rows == input.rows()) text += "  ]\n}\n";
      std::cout << text;
    };
    for (std::size_t start = 0; start < input.rows(); start += batch) {
      report(context.progress, {"predict", start, input.rows(), "samples"});
      std::vector<std::int32_t> rows(std::min(batch, input.rows() - start));
      std::iota(rows.begin(), rows.end(), static_cast<std::int32_t>(start));
      check_finite_rows(input.view(), rows, state->input);
      model.visit_scores({input.row(start).data(), rows.size(), input.cols()}, prepared, pool,
                         [&](std::size_t first, MatrixView<const float> scores) { write(start + first, scores); });
    }
    Output output;
    output.already_printed = true;
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
