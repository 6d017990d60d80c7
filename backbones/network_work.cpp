#include "network_work.hpp"

#include <new>
#include <opencv2/core.hpp>
#include <vector>

#include "engine.hpp"
#include "network_process.hpp"
#include "onnx_outline.hpp"
#include "parsnets/error.hpp"
#include "photo_decoding.hpp"

namespace parsnets::decode {

namespace {

constexpr std::uint64_t kLongestSideOfInput = 1 << 14;

/// The engine, and in `wish` the layer that it reads. Throws what is wrong with the network.
std::unique_ptr<Engine> open_network(Input& file, NetworkWish& wish) {
  std::string network(file.size(), '\0');
  file.seek(0);
  file.read(network.data(), network.size(), "network");
  OnnxOutline outline;
  std::string problem = read_outline(std::as_bytes(std::span(network)), outline);
  if (problem.empty()) problem = outline.choose(wish.layer);
  if (problem.empty()) problem = outline.check_input(wish.width, wish.height);
  if (!problem.empty()) throw std::runtime_error(problem);
  const bool maxima = wish.maxima != 0;
  const std::string value = maxima ? outline.before_average(wish.layer) : wish.layer;
  const bool is_output = std::ranges::count(outline.outputs, value) > 0;
  const EngineOptions options{
      outline.inputs.front().name, value, is_output, outline.without_shape, wish.width, wish.height, maxima};
  std::optional<NetworkEngine> wanted;
  if (wish.engine > 0) wanted = static_cast<NetworkEngine>(wish.engine - 1);
  return open_engine(wanted, network, options);
}

/// Calls work(), and throws what it throws in words for the network's owner. A lack of memory ends the process.
template <class Body>
void explained(Body body) {
  std::string problem;
  try {
    return body();
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw std::bad_alloc();
    problem = error.err.empty() ? "OpenCV failed" : error.err;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  throw Error(BadInput{"", "", kUsableNetwork, problem, ""});
}

[[noreturn]] void serve_network(Channel& channel, Input& file) {
  std::unique_ptr<Engine> engine;
  std::string layer;
  std::vector<float> input, features;
  for (;;) {
    const auto question = static_cast<NetworkQuestion>(channel.get_number());
    if (question == NetworkQuestion::names) {
      answer(channel, [&] {
        put_reply(channel, DecoderReply::more);
        channel.put_text(engine_names());
      });
      continue;
    }
    NetworkWish wish = NetworkWish::get(channel);
    if (wish.width > kLongestSideOfInput || wish.height > kLongestSideOfInput) throw ChannelEnded("too large");
    if (question == NetworkQuestion::run) {
      input.resize(3 * wish.width * wish.height);
      channel.get(input.data(), input.size() * sizeof(float));
    }
    answer(channel, [&] {
      explained([&] {
        if (!engine) engine = open_network(file, wish);
        if (layer.empty()) layer = wish.layer;
        if (question == NetworkQuestion::run) engine->run(input, features);
      });
      put_reply(channel, DecoderReply::more);
      if (question == NetworkQuestion::run) {
        channel.put_number(features.size());
        channel.put(features.data(), features.size() * sizeof(float));
      } else {
        channel.put_text(layer);
        channel.put_text(engine->name());
      }
    });
  }
}

}  // namespace

Work open_network_work() {
  prepare_decoding();
  prepare_engines();
  const auto file = std::make_shared<Input>(Descriptor(kDecoderFile));
  return [file](Channel& channel) { serve_network(channel, *file); };
}

}  // namespace parsnets::decode
