#include "serve/device_banks.hpp"

#include <gtest/gtest.h>

#include "parsnets/error.hpp"
#include "serve/http.hpp"
#include "serve/served_model.hpp"

namespace {

using namespace parsnets;
using namespace parsnets::test;

}  // namespace

TEST(DeviceBanks, ABankHoldsTheEditForTheExportedFile) {
  ThreadPool pool(1);
  const Model model = model_to_serve(pool);
  const DeviceBanks banks(model);
  ASSERT_TRUE(banks.possible());
  const std::span<const float> attributes = model.classes.semantics.row(1);
  const BankEdit edit{{{"new", {attributes.begin(), attributes.end()}}}, {model.classes.names[0]}};
  for (const auto& [name, precision] : precision_names()) {
    const std::string saved = banks.saved(edit, precision, pool);
    EXPECT_EQ(saved, banks.saved(edit, precision, pool));
    const DeviceModel device(device_file(model, precision, 0, pool), name);
    DeviceBank bank(device, 1);
    bank.load(std::as_bytes(std::span(saved)));
    EXPECT_EQ(bank.class_names()[0], "");
    EXPECT_EQ(bank.class_names()[model.classes.names.size()], "new");
    const DeviceModel other(
        device_file(model, precision == Precision::int8 ? Precision::float32 : Precision::int8, 0, pool), "other");
    EXPECT_THROW(DeviceBank(other, 1).load(std::as_bytes(std::span(saved))), Error) << "a bank belongs to one file";
  }
}

TEST(DeviceBanks, WhatARuntimeCannotTakeIsRefused) {
  ThreadPool pool(1);
  Model model = model_to_serve(pool);
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
