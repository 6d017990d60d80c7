#include "serve/edited_bank.hpp"

#include <gtest/gtest.h>

#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "rejecting_model.hpp"

namespace {

using namespace parsnets;
using namespace parsnets::test;

BankEdit edit_of(const Model& model) {
  BankEdit edit;
  edit.remove = {model.classes.names[2], model.classes.names[5]};
  const auto row = model.classes.semantics.row(5);
  edit.add.push_back({model.classes.names[5], {row.begin(), row.end()}});
  edit.add.push_back({"new", std::vector<float>(model.attributes(), 0.5f)});
  return edit;
}

}  // namespace

TEST(EditedBank, ScoresAreThoseOfAModelThatWasChanged) {
  ThreadPool pool(1);
  Model model = rejecting_model("classes closed", pool);
  const EditedBanks banks(shared_copy(model), pool);
  const BankEdit edit = edit_of(model);
  const auto bank = banks.after(edit, pool);
  model.remove_classes(edit.remove);
  for (const auto& added : edit.add) model.add_class(added.name, added.attributes);
  EXPECT_EQ(bank->model.classes.names, model.classes.names);
  const Matrix<float> x = small_samples(20);
  const Matrix<float> expected = model.scores(x.view(), pool);
  Matrix<float> found(20, model.classes.names.size());
  bank->predictor.scores(x.view(), pool, found.view());
  EXPECT_TRUE(std::ranges::equal(expected.values(), found.values())) << "to the bit";
}

TEST(EditedBank, KeepsTheLatestEdits) {
  ThreadPool pool(1);
  const EditedBanks banks(rejecting_model("classes closed", pool), pool);
  BankEdit edit = edit_of(banks.original().model);
  const auto first = banks.after(edit, pool);
  EXPECT_EQ(banks.after(edit, pool), first);
  edit.add[1].attributes[0] += 1;
  EXPECT_NE(banks.after(edit, pool), first);
  for (std::size_t i = 0; i < EditedBanks::kKept; ++i) {
    edit.add[1].attributes[0] += 1;
    banks.after(edit, pool);
  }
  edit.add[1].attributes[0] = 0.5f;
  EXPECT_NE(banks.after(edit, pool), first) << "it was forgotten";
  EXPECT_EQ(&*banks.after({}, pool), &banks.original());
}

TEST(EditedBank, EditsThatDoNotFitAreRefused) {
  ThreadPool pool(1);
  const EditedBanks banks(rejecting_model("classes closed", pool), pool);
  const Model& model = banks.original().model;
  const std::vector<float> values(model.attributes(), 1.0f);
  EXPECT_THROW(banks.after({{}, {"no such class"}}, pool), Error);
  EXPECT_THROW(banks.after({{{model.classes.names[0], values}}, {}}, pool), Error);
  EXPECT_THROW(banks.after({{{"a", values}, {"a", values}}, {}}, pool), Error);
  EXPECT_THROW(banks.after({{}, model.classes.names}, pool), Error);
}
