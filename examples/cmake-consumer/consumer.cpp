// Uses the installed package: trains, predicts, and adds a class from its description alone.
#include <cstdio>
#include <parsnets/error.hpp>
#include <parsnets/evaluation.hpp>
#include <parsnets/predictor.hpp>
#include <parsnets/training.hpp>

using namespace parsnets;

int main(int argc, char** argv) try {
  const Dataset data = load_dataset(argc > 1 ? argv[1] : "/usr/share/parsnets/demo");
  ThreadPool pool;
  Model model = train(data, TrainOptions(), pool);
  std::printf("H %.1f on %zu classes\n", evaluate(model, data, pool).gzsl.h, data.classes());

  const auto truck = static_cast<std::size_t>(data.split.test_unseen.front());  // a sample of a class without training
  const auto name = data.class_names[static_cast<std::size_t>(data.labels[truck])];
  const auto description = data.semantics.values.row(static_cast<std::size_t>(data.labels[truck]));
  const MatrixView<const float> sample(data.features.row(truck).data(), 1, data.features.cols());
  const auto answer = [&] {
    RankedClass best;
    Predictor(model, pool).rank(sample, Ranking(model), pool, {&best, 1});
    return model.classes.names[static_cast<std::size_t>(best.class_index)];
  };
  model.remove_class(name);
  std::printf("without %s: %s\n", name.c_str(), answer().c_str());
  model.add_class(name, description);
  std::printf("with it: %s\n", answer().c_str());
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), static_cast<int>(error.code());
}
