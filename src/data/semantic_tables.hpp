#pragma once
// Several tables of semantics side by side.

#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

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

}  // namespace parsnets
