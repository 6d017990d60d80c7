#include "solvers/svr_shards_checkpoint.hpp"

#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <type_traits>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "solvers/svr_fingerprint.hpp"
#include "solvers/svr_group.hpp"

namespace parsnets {

namespace {

constexpr char kMagic[8] = {'P', 'N', 'S', 'V', 'R', 'S', '0', '1'};

struct Header {
  char magic[8];
  std::uint64_t fingerprint, samples, outputs, passes;
  std::int32_t round;
  float tau;
};
static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<SvrPass>);

std::uint64_t bytes_of_state(std::uint64_t outputs, std::uint64_t passes) {
  return outputs * (sizeof(float) + sizeof(std::uint8_t)) + passes * sizeof(SvrPass);
}

// Multipliers, their kinds and the passes behind each other, and back.
std::string text_of(const Header& h, const ShardState& s) {
  std::string text(bytes_of_state(h.outputs, h.passes), '\0');
  char* to = text.data();
  const auto put = [&](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  put(s.multiplier.data(), h.outputs * sizeof(float));
  put(s.ascending.data(), h.outputs);
  put(s.passes.data(), h.passes * sizeof(SvrPass));
  return text;
}
void take_state(const Header& h, const char* from, ShardState& s) {
  const auto get = [&](void* to, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    from += bytes;
  };
  s.round = h.round;
  s.tau = h.tau;
  s.multiplier.resize(h.outputs);
  s.ascending.resize(h.outputs);
  s.passes.resize(h.passes);
  get(s.multiplier.data(), h.outputs * sizeof(float));
  get(s.ascending.data(), h.outputs);
  get(s.passes.data(), h.passes * sizeof(SvrPass));
}

}  // namespace

std::uint64_t shard_options_key(const SvrOptions& o) {
  Fingerprint f;
  f.value(o.c);
  f.value(o.epsilon);
  f.value(static_cast<int>(o.global_bias));
  f.value(o.tolerance);
  f.value(o.max_passes);
  f.value(o.checkpoint_passes);
  f.value(static_cast<int>(o.checkpoint.empty()));
  f.value(static_cast<int>(o.resume));
  return f.get();
}

ShardCheckpoint::ShardCheckpoint(const GatedSamples& own_samples, MatrixView<const float> own_targets,
                                 const SvrOptions& options, std::vector<std::uint64_t> counts, Processes& processes)
    : options_(options),
      counts_(std::move(counts)),
      processes_(processes),
      samples_(std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0})),
      outputs_(own_targets.cols()) {
  if (options.checkpoint.empty()) return;
  // A sum over the samples, each with its number in the union: the same for any shares.
  std::uint64_t number = std::accumulate(
      counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(processes.rank()), std::uint64_t{0});
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < own_targets.rows() && options.problem == 0; ++i) {
    Fingerprint f;
    f.value(number++);
    f.add(own_samples.z.row(i).data(), own_samples.z.cols() * sizeof(float));
    f.add(own_samples.open.row(i).data(), own_samples.open.cols() * sizeof(std::uint16_t));
    f.add(own_targets.row(i).data(), own_targets.cols() * sizeof(float));
    sum += f.get();
  }
  processes.sum(std::span<std::uint64_t>(&sum, 1));
  Fingerprint f;
  f.value(options.problem != 0 ? options.problem : sum);
  f.value(static_cast<std::uint64_t>(own_samples.networks));
  f.value(options.c);
  f.value(options.epsilon);
  f.value(static_cast<int>(options.global_bias));
  fingerprint_ = f.get();
}

void ShardCheckpoint::write(const ShardState& state, const Matrix<float>& own_beta) const {
  const std::string own(reinterpret_cast<const char*>(own_beta.data()), own_beta.size() * sizeof(float));
  const auto parts = processes_.gather(own);
  together(processes_, [&] {
    if (processes_.rank() != 0) return;
    Header h{};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    h.fingerprint = fingerprint_;
    h.samples = samples_;
    h.outputs = outputs_;
    h.passes = state.passes.size();
    h.round = state.round;
    h.tau = state.tau;
    Fingerprint sum;
    AtomicFile file(options_.checkpoint);
    const auto put = [&](const void* data, std::size_t bytes) {
      file.write(data, bytes);
      sum.add(data, bytes);
    };
    put(&h, sizeof h);
    const std::string rest = text_of(h, state);
    put(rest.data(), rest.size());
    std::size_t row = outputs_ * sizeof(float);
    for (const std::string& part : parts)  // row by row, so that the checksum is the same for any shares
      for (std::size_t at = 0; at < part.size(); at += row) put(part.data() + at, row);
    const std::uint64_t checksum = sum.get();
    file.write(&checksum, sizeof checksum);
    file.commit();
  });
}

Matrix<float> ShardCheckpoint::read(ShardState& state) const {
  Header h{};
  std::string head, rest;
  std::vector<float> all;
  together(processes_, [&] {
    if (processes_.rank() != 0 || !std::filesystem::exists(options_.checkpoint)) return;
    InputFile file(options_.checkpoint);
    const std::string advice = "remove the file or choose another checkpoint path to start over";
    file.read(&h, sizeof h, "header");
    if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0)
      throw Error(BadInput{file.name(), "magic", "a checkpoint of the SVR solver of a group of processes",
                           "another kind of file", advice});
    if (h.fingerprint != fingerprint_ || h.samples != samples_ || h.outputs != outputs_)
      throw Error(BadInput{file.name(), "fingerprint", "a checkpoint of this problem with these options",
                           "one of a different problem (data, targets or options differ)", advice});
    const std::uint64_t fixed =
        sizeof h + bytes_of_state(outputs_, 0) + 4 * samples_ * outputs_ + sizeof(std::uint64_t);
    if (h.passes > file.size() / sizeof(SvrPass) || fixed + h.passes * sizeof(SvrPass) != file.size())
      throw Error(BadInput{file.name(), "sizes", std::to_string(fixed) + " bytes and those of the passes",
                           std::to_string(file.size()) + " bytes", "the file is damaged: " + advice});
    head.assign(reinterpret_cast<const char*>(&h), sizeof h);
    rest.resize(bytes_of_state(outputs_, h.passes));
    file.read(rest.data(), rest.size(), "state");
    all.resize(samples_ * outputs_);
    file.read(all.data(), all.size() * sizeof(float), "beta");
    Fingerprint sum;
    sum.add(head.data(), head.size());
    sum.add(rest.data(), rest.size());
    for (std::size_t i = 0; i < samples_; ++i) sum.add(all.data() + i * outputs_, outputs_ * sizeof(float));
    std::uint64_t checksum = 0;
    file.read(&checksum, sizeof checksum, "checksum");
    if (checksum != sum.get())
      throw Error(BadInput{file.name(), "checksum", "the checksum of the content", "another one",
                           "the file is damaged: " + advice});
  });
  processes_.broadcast(head);
  if (head.empty()) return {};
  std::memcpy(&h, head.data(), sizeof h);
  processes_.broadcast(rest);
  take_state(h, rest.data(), state);
  Matrix<float> own;
  std::uint64_t first = 0;
  for (std::size_t p = 0; p < counts_.size(); ++p) {  // part by part: no other process holds all
    std::string part;
    if (processes_.rank() == 0)
      part.assign(reinterpret_cast<const char*>(all.data() + first * outputs_), counts_[p] * outputs_ * sizeof(float));
    processes_.broadcast(part);
    if (processes_.rank() == p) {
      own = Matrix<float>(counts_[p], outputs_);
      std::memcpy(own.data(), part.data(), part.size());
    }
    first += counts_[p];
  }
  return own;
}

}  // namespace parsnets
