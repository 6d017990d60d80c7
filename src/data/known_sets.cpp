#include "data/known_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace parsnets {

namespace {

constexpr const char* kXlsa17 =
    "xlsa17.zip, from the page of \"Zero-Shot Learning - A Comprehensive Evaluation of the Good, the Bad and the "
    "Ugly\" (MPI for Informatics)";

constexpr std::array<KnownSet, 6> kKnownSets{
    {{"APY", 15339, 32, 0x06baf7a8, 0x5dd47505, 0xe2c46864, 91141,
      "7a05d4b3b6af13f30f99f9f3dbfc058cff6f7564aa085bec36b7e768fa26d1b8", kXlsa17},
     {"AWA1", 30475, 50, 0xcf8c498a, 0xd207c68f, 0x79902f62, 134901,
      "752e0fad7b01b0ad966d7f5d5650817e85fb3008848d5c603b437b4d9219d664", kXlsa17},
     {"AWA2", 37322, 50, 0x3883e04c, 0x7d206d67, 0xd348a3a8, 156278,
      "dfe0e4f26ef5debaa77eff823a9316ac110e9b809b70d19c72dd11404f7be357", kXlsa17},
     {"CUB", 11788, 200, 0x3010ffca, 0x746dddb2, 0x8941c661, 255083,
      "3e4080e79b4049fcbc41b648f1c45f54af3c6c458ab6d8be526cc005b0831c2a", kXlsa17},
     {"FLO", 8189, 102, 0, 0, 0, 0, "", "the authors of \"Feature Generating Networks for Zero-Shot Learning\" (2018)"},
     {"SUN", 14340, 717, 0xf7389ad5, 0x563b5dcd, 0x6b6934bc, 291128,
      "90dcb2a60704ce1117ba1897523ba78dc6b625e606008918c4eade9cd8a5bf43", kXlsa17}}};

}  // namespace

const KnownSet* known_set(std::string_view name) {
  const auto found = std::ranges::find(kKnownSets, name, &KnownSet::name);
  return found == kKnownSets.end() ? nullptr : &*found;
}

void recognise(Dataset& data) {
  Split& split = data.split;
  // A folder without features still tells its size by the lists, which hold every sample of these sets.
  const std::size_t samples =
      data.labels.empty() ? split.trainval.size() + split.test_seen.size() + split.test_unseen.size() : data.samples();
  for (const auto& known : kKnownSets) {
    if (known.samples != samples || known.classes != data.classes()) continue;
    data.known_as = known.name;
    if (!known.has_checksums() || index_checksum(split.test_unseen) != known.test_unseen) return;
    split.proposed_of = known.name;
    if (index_checksum(split.trainval) == known.trainval && index_checksum(split.test_seen) == known.test_seen)
      split.version = fmt::format("Proposed Split v1 of {}", known.name);
  }
}

}  // namespace parsnets
