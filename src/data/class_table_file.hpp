#pragma once
// One table of class semantics in a file of its own. Internal to src/data.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/semantic_tables.hpp"

namespace parsnets {

/// The column `class` of a .csv. Throws bad_input for an empty or repeated name.
std::vector<std::string> table_class_names(const std::filesystem::path& csv);

/// A .csv with a column `class`, an .npy with a row per class in the order of data.class_names, or word vectors (.txt,
/// .vec) of these classes. `name`: of the table. What had to be assumed goes to data.notes.
ClassTable read_class_table(const std::filesystem::path& file, const std::string& name, MissingPolicy missing,
                            Dataset& data, ProgressObserver* progress);

/// Whether the ending is that of a table: .csv, .npy, .txt, .vec.
bool is_table_file(const std::filesystem::path& file);

/// The file that an item of LoadOptions::semantics names, by its ending: in the folder or by its path. Nothing for
/// names without one of these endings and where there is no such file.
std::optional<std::filesystem::path> find_table_file(const std::filesystem::path& folder, const std::string& item);

/// How tables of several files are called: by their names without ending. One table alone keeps its ending.
std::string table_name(const std::filesystem::path& file, std::size_t tables);

}  // namespace parsnets
