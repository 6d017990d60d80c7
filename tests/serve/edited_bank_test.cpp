#include "serve/edited_bank.hpp"

#include <gtest/gtest.h>

#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "rejecting_model.hpp"
#include "serve/http.hpp"
#include "serve/served_model.hpp"
#include "small_device.hpp"

namespace {

using namespace parsnets::test;
using namespace parsnets;

BankEdit edit_of(const Model& model) {
  BankEdit edit;
  edit.remove = {model.classes.names[2], model.classes.names[5]};
  const auto row = model.classes.semantics.row(5);
  edit.add.push_back({model.classes.names[5], {row.begin(), row.end()}});
  edit.add.push_back({"new", std::vector<float>(model.attributes(), 0.5f)});
  return edit;
}

/// Three classes of two attributes.
Model named_model() {
  Model model;
  model.attribute_names = {"hooves", "stripes"};
  model.classes.names = {"horse", "zebra", "deer"};
  model.classes.seen = {1, 1, 0};
  model.classes.semantics = Matrix<float>(3, 2);
  for (std::size_t i = 0; i < 6; ++i) model.classes.semantics.data()[i] = static_cast<float>(i);
  return model;
}

/// Why an edit is refused: the message, which begins with the place.
std::string why_not(const BankNames& names, const BankEdit& edit) {
  try {
    names.resolved(edit);
    return "";
  } catch (const HttpError& e) {
    EXPECT_EQ(e.status(), 400);
    EXPECT_TRUE(std::string(e.what()).starts_with(e.place().field + ": ") ||
                std::string(e.what()).starts_with(e.place().field + "."))
        << e.what();
    return e.what();
  }
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

TEST(BankNames, AClassStartsFromAnotherAndHasItsOwnValues) {
  const Model model = named_model();
  const BankNames names(model);
  const BankEdit edit =
      names.resolved({{{"unicorn", {}, "zebra", {{"stripes", 7.0f}}}, {"copy", {}, "horse", {}}, {"a", {8, 9}}}, {}});
  EXPECT_EQ(edit.add[0].attributes, (std::vector<float>{2, 7}));
  EXPECT_EQ(edit.add[1].attributes, (std::vector<float>{0, 1}));
  EXPECT_EQ(edit.add[2].attributes, (std::vector<float>{8, 9}));
  EXPECT_EQ(names.resolved({{{"all", {}, {}, {{"stripes", 1.0f}, {"hooves", 2.0f}}}}, {}}).add[0].attributes,
            (std::vector<float>{2, 1}));
  EXPECT_EQ(names.resolved({{{"horse", {}, "horse", {}}}, {"horse"}}).add[0].attributes, (std::vector<float>{0, 1}))
      << "also from a class that is removed";
}

TEST(BankNames, AttributesWithoutNamesAreNumbered) {
  Model model = named_model();
  model.attribute_names.clear();
  const BankNames names(model);
  EXPECT_EQ(names.attributes(), (std::vector<std::string>{"attribute 1", "attribute 2"}));
  EXPECT_EQ(names.resolved({{{"a", {}, "horse", {{"attribute 2", 5.0f}}}}, {}}).add[0].attributes,
            (std::vector<float>{0, 5}));
}

TEST(BankNames, ErrorsNameThePlaceAndTheNearestName) {
  Model model = named_model();
  model.classes.described = {1, 1, 0};
  const BankNames names(model);
  for (const auto& [edit, why] : std::vector<std::pair<BankEdit, std::string>>{
           {{{}, {"zebra", "hores"}},
            "bank.remove[1]: expected a class of the model, found 'hores'; did you mean 'horse'?"},
           {{{}, {"zebra", "zebra"}}, "bank.remove[1]: expected each class once, found 'zebra' again"},
           {{{}, {"zebra", "horse", "deer"}},
            "bank.remove[2]: expected at least one class that stays, found the last one"},
           {{{{"a", {1, 2}}, {"deer", {1, 2}}}, {}},
            "bank.add[1].class: expected a new name, found 'deer', a class of the model"},
           {{{{"a", {1, 2}}, {"a", {1, 2}}}, {}}, "bank.add[1].class: expected a new name, found 'a' again"},
           {{{{"unknown", {1, 2}}}, {}}, "bank.add[0].class: 'unknown' is reserved for samples of no class"},
           {{{{"a", {}, "zebar", {}}}, {}},
            "bank.add[0].like: expected a class of the model, found 'zebar'; did you mean 'zebra'?"},
           {{{{"a", {}, "deer", {}}}, {}},
            "bank.add[0].like: expected a class with attributes, found 'deer', known by examples alone"},
           {{{{"a", {}, "zebra", {{"hoofs", 1.0f}}}}, {}},
            "bank.add[0].attributes: expected an attribute of the model, found 'hoofs'"},
           {{{{"a", {}, "zebra", {{"stipes", 1.0f}}}}, {}},
            "bank.add[0].attributes: expected an attribute of the model, found 'stipes'; did you mean 'stripes'?"},
           {{{{"a", {}, {}, {{"hooves", 1.0f}}}}, {}},
            "bank.add[0].attributes: 'stripes' is missing; give all 2 attributes, or the class to start from as "
            "`like`"}})
    EXPECT_EQ(why_not(names, edit), why);
}

TEST(DeviceBanks, ABankHoldsTheEditForTheExportedFile) {
  ThreadPool pool(1);
  const Model model = model_to_serve();
  const DeviceBanks banks(model);
  ASSERT_TRUE(banks.possible());
  const std::span<const float> attributes = model.classes.semantics.row(1);
  const BankEdit edit{{{"new", {attributes.begin(), attributes.end()}}}, {model.classes.names[0]}};
  for (const auto& [name, precision] : precision_names()) {
    const std::string saved = banks.saved(edit, precision, pool);
    EXPECT_EQ(saved, banks.saved(edit, precision, pool));
    SmallBank bank(device_file(model, precision, 0, pool), 1);
    ASSERT_EQ(bank.load(std::as_bytes(std::span(saved))), PNRT_OK) << name;
    EXPECT_EQ(bank.name(0), nullptr);
    EXPECT_STREQ(bank.name(model.classes.names.size()), "new");
    SmallBank other(device_file(model, precision == Precision::int8 ? Precision::float32 : Precision::int8, 0, pool),
                    1);
    EXPECT_EQ(other.load(std::as_bytes(std::span(saved))), PNRT_OTHER_MODEL) << "a bank belongs to one file";
  }
}

TEST(DeviceBanks, WhatARuntimeCannotTakeIsRefused) {
  ThreadPool pool(1);
  Model model = model_to_serve();
  const std::vector<float> attributes(model.attributes(), 0.5f);
  {
    const DeviceBanks banks(model);
    EXPECT_THROW(banks.saved({{{std::string(64, 'x'), attributes}}, {}}, Precision::int8, pool), Error);
    EXPECT_THROW(banks.saved({{}, {"no such class"}}, Precision::int8, pool), Error);
  }
  model.targets = Targets::semantics;
  const DeviceBanks none(model);
  EXPECT_FALSE(none.possible());
  EXPECT_THROW(none.saved({}, Precision::int8, pool), HttpError);
}

TEST(AttributeScale, LeadsBackToTheScaleOfTheDescriptions) {
  for (const SemanticScaling scaling : {SemanticScaling::none, SemanticScaling::standardize}) {
    BaselineOptions ridge;
    ridge.semantics.scaling = scaling;
    const TrainOptions options{ridge, {}, {}, {}};
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
  TrainedModel trained("ridge");
  for (std::size_t c = 0; c < trained.model.classes.names.size(); ++c) trained.model.classes.semantics(c, 1) = 5;
  trained.model.semantic_preprocess = {};
  trained.model.semantic_preprocess.scaling = SemanticScaling::none;
  std::vector<float> values(trained.model.attributes(), 123);
  AttributeScale(trained.model).to_user(values);
  EXPECT_EQ(values[1], 5);
}
