#include "data/known_sets.hpp"

#include <fmt/format.h>

#include <array>

namespace parsnets {

namespace {

struct KnownSet {
  const char* name;
  std::size_t samples, classes;
  std::uint32_t trainval, test_seen, test_unseen;  ///< checksums of version 1
};

constexpr std::array<KnownSet, 5> kKnownSets{{{"APY", 15339, 32, 0x06baf7a8, 0x5dd47505, 0xe2c46864},
                                              {"AWA1", 30475, 50, 0xcf8c498a, 0xd207c68f, 0x79902f62},
                                              {"AWA2", 37322, 50, 0x3883e04c, 0x7d206d67, 0xd348a3a8},
                                              {"CUB", 11788, 200, 0x3010ffca, 0x746dddb2, 0x8941c661},
                                              {"SUN", 14340, 717, 0xf7389ad5, 0x563b5dcd, 0x6b6934bc}}};

}  // namespace

void recognise(Dataset& data) {
  Split& split = data.split;
  // A folder without features still tells its size by the lists, which hold every sample of these sets.
  const std::size_t samples =
      data.labels.empty() ? split.trainval.size() + split.test_seen.size() + split.test_unseen.size() : data.samples();
  for (const auto& known : kKnownSets) {
    if (known.samples != samples || known.classes != data.classes()) continue;
    data.known_as = known.name;
    if (index_checksum(split.test_unseen) != known.test_unseen) return;
    split.proposed_of = known.name;
    if (index_checksum(split.trainval) == known.trainval && index_checksum(split.test_seen) == known.test_seen)
      split.version = fmt::format("Proposed Split v1 of {}", known.name);
  }
}

}  // namespace parsnets
