#include "photo_decoders.hpp"

#include <algorithm>
#include <bit>

#include "images/backbone.hpp"
#include "images/image_header.hpp"
#include "parsnets/error.hpp"
#include "photo_decoding.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kSpareMemory = 128u << 20, kLeastMemory = 512u << 20;
constexpr unsigned kSecondsOfAPhotograph = 10, kSecondsOfAProcess = 3600;
constexpr double kPixelsPerSecond = 1e6;  ///< far fewer than any processor decodes

}  // namespace

std::unique_ptr<PhotoDecoders::Process> PhotoDecoders::take(std::uint64_t memory) {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty() && idle_.back()->memory >= memory) {
    auto process = std::move(idle_.back());
    idle_.pop_back();
    return process;
  }
  if (!idle_.empty()) idle_.pop_back();  // too small
  memory = std::bit_ceil(std::max(memory, kLeastMemory));
  return std::unique_ptr<Process>(new Process{memory, {"a photograph", "photos", -1, {memory, kSecondsOfAProcess, 0}}});
}

void PhotoDecoders::give_back(std::unique_ptr<Process> process) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(process));
}

void PhotoDecoders::start() {
  auto process = take(0);
  process->decoder.sandbox();
  give_back(std::move(process));
}

std::string PhotoDecoders::decode(std::span<const std::byte> image, double pixels, std::span<float> input) {
  bool broke_down = false;
  std::string problem = decode_once(image, pixels, input, broke_down);
  // What an earlier photograph did to the process is not the fault of this one.
  if (broke_down && !problem.empty()) problem = decode_once(image, pixels, input, broke_down);
  return problem;
}

std::string PhotoDecoders::decode_once(std::span<const std::byte> image, double pixels, std::span<float> input,
                                       bool& broke_down) {
  auto process = take(kSpareMemory + image.size() + static_cast<std::uint64_t>(kDecodingBytesPerPixel * pixels));
  std::string problem;
  try {
    const auto exchange = [&](Channel& channel) {
      for (const std::uint64_t number :
           {static_cast<std::uint64_t>(input_.preset), static_cast<std::uint64_t>(input_.fit),
            std::uint64_t{input_.width}, std::uint64_t{input_.height}, std::uint64_t{image.size()}})
        channel.put_number(number);
      channel.put(image.data(), image.size());
      channel.send();
      if (!process->decoder.has_more(channel)) throw ChannelEnded("no pixels");
      channel.get(input.data(), input.size_bytes());
      if (process->decoder.has_more(channel)) throw ChannelEnded("more than its pixels");
    };
    process->decoder.ask(exchange, kSecondsOfAPhotograph + static_cast<unsigned>(pixels / kPixelsPerSecond));
  } catch (const Error& error) {
    // What is not the photograph's fault is a process that cannot be started: there are too many, or too little memory.
    const BadInput parts = error.parts();
    problem = error.code() == ErrorCode::bad_input ? parts.found : kNotEnoughMemory;
    broke_down = !broke_down && parts.expected != kCompleteImage;
  }
  give_back(std::move(process));
  return problem;
}

}  // namespace parsnets
