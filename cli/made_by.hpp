#pragma once
// The command line that made a model, from its record.

#include <string>

#include "parsnets/train_record.hpp"

namespace parsnets::cli {

/// A word as a shell takes it: quoted where it must be.
std::string shell_word(const std::string& word);

/// "parsnets train --data CUB --preset auto --seed 1 --out m.safetensors"; `target` is the last part. Empty for a
/// record without a request, and for what no command line says: data or statistics from memory, two seeds.
std::string made_by(const TrainRecord& record, const std::string& data, const std::string& target);

}  // namespace parsnets::cli
