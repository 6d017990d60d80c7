#include "serve/attribute_scale.hpp"

#include <gtest/gtest.h>

#include "small_training.hpp"

namespace {

using namespace parsnets;
using namespace parsnets::test;

}  // namespace

TEST(AttributeScale, LeadsBackToTheScaleOfTheDescriptions) {
  for (const SemanticScaling scaling : {SemanticScaling::none, SemanticScaling::standardize}) {
    TrainOptions options = small_options(Method::ridge);
    options.preprocessing.semantic_scaling = scaling;
    const TrainedModel trained(options);
    const AttributeScale scale(trained.model);
    for (std::size_t c = 0; c < trained.model.classes.names.size(); ++c) {
      const auto given = trained.model.classes.semantics.row(c);
      std::vector<float> values(given.begin(), given.end());
      trained.model.semantic_preprocess.apply(values);
      scale.to_user(values);
      for (std::size_t j = 0; j < values.size(); ++j) EXPECT_NEAR(values[j], given[j], 1e-3) << c << " " << j;
    }
  }
}

TEST(AttributeScale, AnAttributeThatAllClassesShareIsThatValue) {
  TrainedModel trained(Method::ridge);
  for (std::size_t c = 0; c < trained.model.classes.names.size(); ++c) trained.model.classes.semantics(c, 1) = 5;
  trained.model.semantic_preprocess = {};
  trained.model.semantic_preprocess.scaling = SemanticScaling::none;
  std::vector<float> values(trained.model.attributes(), 123);
  AttributeScale(trained.model).to_user(values);
  EXPECT_EQ(values[1], 5);
}
