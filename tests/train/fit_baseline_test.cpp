// What all class descriptions have in common says nothing of a class: baselines fit what differs.

#include "small_training.hpp"

namespace parsnets {
namespace {

struct FitBaseline : test::SmallTraining {
  double zsl(const Dataset& set, const char* method) {
    const Model model = train(set, test::options_with(method, "semantic-scaling=none;calibrate=false"), pool);
    return evaluate(model, set, pool).zsl.top1_per_class;
  }
};

TEST_F(FitBaseline, SaeIsAsGoodWithDescriptionsThatAreNotCentred) {
  Dataset moved = test::small_training_set();
  for (float& value : moved.semantics.values.values()) value += 10;
  for (const char* method : {"sae", "sae-reverse"}) {
    const double centred = zsl(data, method);
    EXPECT_GT(centred, 50) << method;
    EXPECT_NEAR(zsl(moved, method), centred, 2) << method;
  }
}

}  // namespace
}  // namespace parsnets
