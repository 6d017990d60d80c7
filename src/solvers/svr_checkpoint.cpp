#include "solvers/svr_checkpoint.hpp"

#include <cstring>
#include <type_traits>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "solvers/svr_fingerprint.hpp"

namespace parsnets {

namespace {

constexpr char kMagic[8] = {'P', 'N', 'S', 'V', 'R', '0', '0', '1'};

struct Header {
  char magic[8];
  std::uint64_t fingerprint;
  std::uint64_t samples, outputs, active, state_rows, passes;
};
static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<SvrCounters> &&
              std::is_trivially_copyable_v<SvrPass>);

// Calls f(pointer, bytes) for every part of the state in file order; sizes follow from the header alone.
template <class State, class F>
void for_each_part(State& s, const Header& h, F&& f) {
  const auto part = [&](auto* data, std::uint64_t count) { f(data, count * sizeof(*data)); };
  part(&s.counters, 1);
  part(s.output.data(), h.active);
  part(s.primal.data(), h.outputs);
  part(s.dual.data(), h.outputs);
  part(s.bias.data(), h.outputs);
  part(s.multiplier.data(), h.outputs);
  part(s.ascending.data(), h.outputs);
  part(s.momentum.data(), h.outputs);
  part(s.passes.data(), h.passes);
  part(s.beta.data(), h.samples * h.active);
  part(s.previous_beta.data(), h.samples * h.active);
  part(s.values.data(), h.state_rows * h.active);
  part(s.previous_values.data(), h.state_rows * h.active);
  part(s.result.data(), h.samples * h.outputs);
}

}  // namespace

std::uint64_t svr_fingerprint(const GatedSamples& samples, MatrixView<const float> targets,
                              MatrixView<const float> start, const SvrOptions& resolved) {
  Fingerprint f;
  f.matrix(samples.z);
  f.matrix(samples.open);
  f.value(static_cast<std::uint64_t>(samples.networks));
  f.matrix(targets);
  f.matrix(start);
  f.value(resolved.c);
  f.value(resolved.epsilon);
  f.value(static_cast<int>(resolved.global_bias));
  f.value(resolved.tolerance);
  f.value(resolved.block);
  f.value(static_cast<int>(resolved.form));
  f.value(resolved.seed);
  return f.get();
}

void write_svr_checkpoint(const std::filesystem::path& path, const SvrState& state, std::uint64_t fingerprint,
                          std::size_t state_rows) {
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.fingerprint = fingerprint;
  h.samples = state.result.rows();
  h.outputs = state.result.cols();
  h.active = state.output.size();
  h.state_rows = state_rows;
  h.passes = state.passes.size();
  Fingerprint sum;
  AtomicFile file(path);
  file.write(&h, sizeof h);
  sum.add(&h, sizeof h);
  for_each_part(state, h, [&](const void* data, std::uint64_t bytes) {
    file.write(data, bytes);
    sum.add(data, bytes);
  });
  const std::uint64_t checksum = sum.get();
  file.write(&checksum, sizeof checksum);
  file.commit();
}

void read_svr_checkpoint(const std::filesystem::path& path, SvrState& state, std::uint64_t fingerprint,
                         std::size_t state_rows) {
  InputFile file(path);
  const std::string advice = "remove the file or choose another checkpoint path to start over";
  Header h{};
  file.read(&h, sizeof h, "header");
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0)
    throw Error(BadInput{file.name(), "magic", "a checkpoint of the SVR solver", "another kind of file", advice});
  if (h.fingerprint != fingerprint || h.samples != state.result.rows() || h.outputs != state.result.cols() ||
      h.state_rows != state_rows)
    throw Error(BadInput{file.name(), "fingerprint", "a checkpoint of this problem with these options",
                         "one of a different problem (data, targets, start or options differ)", advice});
  // Every size but `active` and `passes` is now our own; those two must make the file's length come out right.
  std::uint64_t expected = sizeof h + sizeof(std::uint64_t);
  const bool plausible = h.active >= 1 && h.active <= h.outputs && h.passes <= file.size() / sizeof(SvrPass);
  if (plausible) {
    for_each_part(state, h, [&](const void*, std::uint64_t bytes) { expected += bytes; });
  }
  if (!plausible || expected != file.size())
    throw Error(BadInput{file.name(), "sizes", std::to_string(expected) + " bytes",
                         std::to_string(file.size()) + " bytes", "the file is damaged: " + advice});
  state.output.resize(h.active);
  state.passes.resize(h.passes);
  Fingerprint sum;
  sum.add(&h, sizeof h);
  for_each_part(state, h, [&](void* data, std::uint64_t bytes) {
    file.read(data, bytes, "state");
    sum.add(data, bytes);
  });
  std::uint64_t checksum = 0;
  file.read(&checksum, sizeof checksum, "checksum");
  bool sound = checksum == sum.get();
  for (std::uint32_t o : state.output) sound = sound && o < h.outputs;
  if (!sound)
    throw Error(BadInput{file.name(), "checksum", "the checksum of the content", "another one",
                         "the file is damaged: " + advice});
}

}  // namespace parsnets
