#pragma once
// The command line that made a model, from its record: it repeats the training.

#include <string>

#include "parsnets/train_record.hpp"

namespace parsnets::cli {

/// A word as a shell takes it: quoted where it must be.
std::string shell_word(const std::string& word);

/// "parsnets train --data CUB --search auto --seed 1 --out m.safetensors": gives the same bytes where the data set and
/// statistics files are in the current folder. Empty for a record without a request, and for what no command line says:
/// data or statistics from memory, two seeds.
std::string made_by(const TrainRecord& record, const std::string& out);

}  // namespace parsnets::cli
