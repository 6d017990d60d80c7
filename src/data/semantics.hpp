#pragma once
// From raw attribute tables to complete Semantics: finds missing values and applies the policy.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Marks missing values of a raw C x m table with NaN: NaN itself, and -1 in a table whose other values lie on a
/// scale from 0 to something above 1 (AwA's convention; a -1/+1 table is left alone). Returns how many there are.
std::size_t mark_missing(MatrixView<double> raw);

/// Completes `raw` (C x m, NaN = missing) by the policy. `file` and `field` name the source in errors: an infinite
/// value, an attribute no class has, or any missing value under MissingPolicy::refuse.
Semantics complete_semantics(MatrixView<const double> raw, MissingPolicy policy, const std::string& file,
                             const std::string& field, const std::vector<std::string>& class_names,
                             const std::vector<std::string>& attribute_names);

/// What makes results on the data set meaningless, a sentence each: one attribute only, classes with equal attributes.
std::vector<std::string> semantic_warnings(const Dataset& data);

// Several tables of semantics side by side.

/// A table as a file has it.
struct ClassTable {
  std::string file;                      ///< for messages
  std::vector<std::string> class_names;  ///< of its rows; empty: the classes of the data set, in their order
  Semantics semantics;                   ///< named after the table
};

/// "att,sent" as names. Throws usage for an empty name or one that occurs twice.
std::vector<std::string> split_table_names(const std::string& semantics);

/// The tables side by side, rows in the order of `class_names`, which `from` has. Throws bad_input unless each table
/// describes exactly these classes. Where one table names its columns, those without names get "<table> 1", …, and a
/// name that two tables have gets "<table>:" in front.
Semantics join_tables(std::vector<ClassTable> tables, const std::vector<std::string>& class_names,
                      const std::string& from);

/// Table t of `semantics`, or all of it where it has one table.
Semantics table_of(const Semantics& semantics, std::size_t t);

// One table of class semantics in a file of its own. Internal to src/data.

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

// Word vectors as class semantics: text files of GloVe, word2vec and fastText.

/// Semantics of C x m from a table with a word and m numbers per line; a first line "count m" is skipped. A class is
/// looked up by its name as it is, in lower case, and both without a leading number such as "001."; a class that is
/// not found is the mean of its words that are, in lower case, split at _ - + . and blanks. Words of a class that are
/// missing while others are there go to `notes`. Streams the file; keeps the words of the classes alone. Throws
/// bad_input naming every class of which no word is there.
Semantics read_word_table(const std::filesystem::path& file, const std::vector<std::string>& class_names,
                          std::vector<std::string>& notes, ProgressObserver* progress);

}  // namespace parsnets
