#pragma once
// Word vectors as class semantics: text files of GloVe, word2vec and fastText.

#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Semantics of C x m from a table with a word and m numbers per line; a first line "count m" is skipped. A class is
/// looked up by its name as it is, in lower case, and both without a leading number such as "001."; a class that is
/// not found is the mean of its words that are, in lower case, split at _ - + . and blanks. Words of a class that are
/// missing while others are there go to `notes`. Streams the file; keeps the words of the classes alone. Throws
/// bad_input naming every class of which no word is there.
Semantics read_word_table(const std::filesystem::path& file, const std::vector<std::string>& class_names,
                          std::vector<std::string>& notes, ProgressObserver* progress);

}  // namespace parsnets
