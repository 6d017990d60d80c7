#include "serve/bank_names.hpp"

#include <gtest/gtest.h>

#include "serve/http.hpp"
#include "small_training.hpp"

namespace {

using namespace parsnets;
using namespace parsnets::test;

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
  EXPECT_EQ(why_not(names, {{}, {"zebra", "hores"}}),
            "bank.remove[1]: expected a class of the model, found 'hores'; did you mean 'horse'?");
  EXPECT_EQ(why_not(names, {{}, {"zebra", "zebra"}}), "bank.remove[1]: expected each class once, found 'zebra' again");
  EXPECT_EQ(why_not(names, {{}, {"zebra", "horse", "deer"}}),
            "bank.remove[2]: expected at least one class that stays, found the last one");
  EXPECT_EQ(why_not(names, {{{"a", {1, 2}}, {"deer", {1, 2}}}, {}}),
            "bank.add[1].name: expected a new name, found 'deer', a class of the model");
  EXPECT_EQ(why_not(names, {{{"a", {1, 2}}, {"a", {1, 2}}}, {}}),
            "bank.add[1].name: expected a new name, found 'a' again");
  EXPECT_EQ(why_not(names, {{{"unknown", {1, 2}}}, {}}),
            "bank.add[0].name: 'unknown' is reserved for samples of no class");
  EXPECT_EQ(why_not(names, {{{"a", {}, "zebar", {}}}, {}}),
            "bank.add[0].like: expected a class of the model, found 'zebar'; did you mean 'zebra'?");
  EXPECT_EQ(why_not(names, {{{"a", {}, "deer", {}}}, {}}),
            "bank.add[0].like: expected a class with attributes, found 'deer', known by examples alone");
  EXPECT_EQ(why_not(names, {{{"a", {}, "zebra", {{"hoofs", 1.0f}}}}, {}}),
            "bank.add[0].attributes: expected an attribute of the model, found 'hoofs'");
  EXPECT_EQ(why_not(names, {{{"a", {}, "zebra", {{"stipes", 1.0f}}}}, {}}),
            "bank.add[0].attributes: expected an attribute of the model, found 'stipes'; did you mean 'stripes'?");
  EXPECT_EQ(
      why_not(names, {{{"a", {}, {}, {{"hooves", 1.0f}}}}, {}}),
      "bank.add[0].attributes: 'stripes' is missing; give all 2 attributes, or the class to start from as `like`");
}
