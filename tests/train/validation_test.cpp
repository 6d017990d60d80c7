#include "train/validation.hpp"

#include <gtest/gtest.h>

#include <set>

#include "small_training.hpp"

namespace parsnets {

TEST(Validation, FoldsNeverTouchATestSampleAndKeepClassesApart) {
  Dataset data = test::small_training_set();
  for (const bool drawn : {false, true}) {
    data.split.validation_drawn = drawn;
    const auto folds = validation_folds(data, 3, 7);
    ASSERT_EQ(folds.size(), 3u);
    if (!drawn) {
      EXPECT_EQ(folds[0].unseen, data.split.val) << "the split's own classes come first";
    }
    std::set<std::vector<std::int32_t>> held;
    for (const auto& fold : folds) {
      const std::set<std::int32_t> trainval(data.split.trainval.begin(), data.split.trainval.end());
      std::set<std::int32_t> used;
      for (const auto* list : {&fold.fit, &fold.seen, &fold.unseen})
        for (const auto s : *list) {
          EXPECT_TRUE(trainval.contains(s));
          EXPECT_TRUE(used.insert(s).second) << "a sample in two lists";
        }
      for (const auto c : fold.held_classes)
        EXPECT_FALSE(std::binary_search(fold.fit_classes.begin(), fold.fit_classes.end(), c));
      for (const auto s : fold.seen)
        EXPECT_TRUE(std::binary_search(fold.fit_classes.begin(), fold.fit_classes.end(),
                                       data.labels[static_cast<std::size_t>(s)]));
      EXPECT_NEAR(static_cast<double>(fold.seen.size()) / static_cast<double>(fold.seen.size() + fold.fit.size()), 0.2,
                  0.03);
      held.insert(fold.held_classes);
    }
    EXPECT_EQ(held.size(), folds.size()) << "folds hold out different classes";
  }
  data = test::small_training_set();
  data.split.val.clear();
  EXPECT_TRUE(validation_folds(data, 3, 1).empty()) << "without validation classes";
}

}  // namespace parsnets
