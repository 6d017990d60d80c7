#pragma once
// What bench compares: rows of options.

#include <string>
#include <vector>

#include "parsnets/training.hpp"

namespace parsnets {

struct Entry {
  std::string label;
  TrainOptions options;
  std::string note = {};  ///< what a reader must know to compare the row with the others; "" if nothing
};

/// "ridge,scln:gates=anchor:open=100": methods with options on top of `base`. Throws usage for what it does not know.
std::vector<Entry> method_entries(const std::string& text, const TrainOptions& base);

/// The parts of the method: linear map, scln, mmg, both, each without and with refinement. Each row chooses
/// lambda and the number of steps on validation classes, unless they are given. The last row is the model that 'train'
/// gives with `base`.
std::vector<Entry> ablation_entries(const TrainOptions& base);

/// "name=v1,v2" or "k" (open = 10, 20, 30, 40, 80, 120, 160, 200 of 200 networks): each entry with each value.
std::vector<Entry> sweep_entries(const std::string& text, const std::vector<Entry>& entries);

}  // namespace parsnets
