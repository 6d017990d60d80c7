#include "serve/photographs.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "parsnets/error.hpp"
#include "serve/served_model.hpp"

namespace {

using namespace parsnets;
using namespace parsnets::test;
using namespace std::chrono_literals;

/// Stays in run() until it is let go.
class Waiting : public MeanColours {
 public:
  Waiting() : MeanColours(4) {}
  std::string run(std::span<const float>, std::size_t, std::span<float> features) override {
    std::ranges::fill(features, 1.0f);
    entered.count_down();
    leave.wait();
    return "";
  }
  std::latch entered{1}, leave{1};
};

}  // namespace

TEST(Photographs, LimitsAreCheckedBeforeAnythingIsDecoded) {
  const auto photographs = mean_colours(48);
  const auto features_of = [&](const std::string& file) {
    return photographs->features_of(std::as_bytes(std::span(file)), Clock::now() + 1h).cols();
  };
  EXPECT_EQ(features_of(bmp_file(10, 10)), 48u);
  EXPECT_THROW(features_of(bmp_file(100, 100)), Error);
  EXPECT_THROW(features_of("text"), Error);
  EXPECT_THROW(features_of(bmp_file(1, 1)), Error) << "the backbone finds it damaged";
}

TEST(Photographs, WhoseTurnDoesNotComeInTimeIsToldSo) {
  auto backbone = std::make_unique<Waiting>();
  Waiting& waiting = *backbone;
  const Photographs photographs(std::move(backbone), mean_colours(4)->source(), {}, 1);
  const std::string file = bmp_file(10, 10);
  std::thread first([&] { photographs.features_of(std::as_bytes(std::span(file)), Clock::now() + 1h); });
  waiting.entered.wait();
  EXPECT_THROW(photographs.features_of(std::as_bytes(std::span(file)), Clock::now() + 1ms), HttpError);
  waiting.leave.count_down();
  first.join();
}
