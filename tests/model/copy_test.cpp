#include "model/copy.hpp"

#include <gtest/gtest.h>

#include "base/rows.hpp"
#include "parsnets/field.hpp"
#include "small_training.hpp"

namespace parsnets {

TEST(Copy, WhatACopyLearnsInTheFieldIsItsOwn) {
  test::TrainedModel t(Method::parsnets);
  const Matrix<float> pile = gather_rows(t.data.features.view(), t.data.split.test_unseen);
  const auto name = t.data.class_names[static_cast<std::size_t>(t.data.unseen_classes().front())];
  adapt(t.model, pile.view(), {}, t.pool);
  teach(t.model, name, {pile.data(), 2, pile.cols()}, t.pool);
  const Matrix<float> before = t.model.scores(pile.view(), t.pool);
  for (const auto& make : {shared_copy, copy_in_memory}) {
    Model copy = make(t.model);
    const Matrix<float> same = copy.scores(pile.view(), t.pool);
    EXPECT_TRUE(std::equal(same.values().begin(), same.values().end(), before.values().begin()));
    teach(copy, name, {pile.row(pile.rows() - 3).data(), 3, pile.cols()}, t.pool);
    adapt(copy, {pile.data(), pile.rows() / 2, pile.cols()}, {}, t.pool);
    const Matrix<float> own = copy.scores(pile.view(), t.pool), after = t.model.scores(pile.view(), t.pool);
    EXPECT_FALSE(std::equal(own.values().begin(), own.values().end(), before.values().begin()));
    EXPECT_TRUE(std::equal(after.values().begin(), after.values().end(), before.values().begin()));
  }
}

}  // namespace parsnets
