#include "data/semantics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/file.hpp"
#include "base/text.hpp"
#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

std::size_t mark_missing(MatrixView<double> raw) {
  double lowest_other = std::numeric_limits<double>::infinity(), highest = -lowest_other;
  for (const double v : raw.values()) {
    if (std::isnan(v)) continue;
    if (v != -1) lowest_other = std::min(lowest_other, v);
    highest = std::max(highest, v);
  }
  const bool minus_one_is_missing = lowest_other >= 0 && highest > 1;
  std::size_t missing = 0;
  for (double& v : raw.values()) {
    if (minus_one_is_missing && v == -1) v = std::numeric_limits<double>::quiet_NaN();
    missing += std::isnan(v) ? 1 : 0;
  }
  return missing;
}

Semantics complete_semantics(MatrixView<const double> raw, MissingPolicy policy, const std::string& file,
                             const std::string& field, const std::vector<std::string>& class_names,
                             const std::vector<std::string>& attribute_names) {
  const auto attribute = [&](std::size_t a) {
    return "attribute " + (a < attribute_names.size() ? "'" + attribute_names[a] + "'" : std::to_string(a + 1));
  };
  const auto cell = [&](std::size_t c, std::size_t a) {
    return fmt::format("{}, class '{}', {}", field, class_names[c], attribute(a));
  };
  Semantics semantics;
  semantics.policy = policy;
  semantics.attribute_names = attribute_names;
  semantics.values = Matrix<float>(raw.rows(), raw.cols());
  for (std::size_t a = 0; a < raw.cols(); ++a) {
    double sum = 0;
    std::size_t present = 0;
    for (std::size_t c = 0; c < raw.rows(); ++c) {
      const double v = raw(c, a);
      if (std::isnan(v)) {
        if (policy == MissingPolicy::refuse)
          throw Error(BadInput{file, cell(c, a), "a value (missing values are not allowed)", "none",
                               "fill it in or use " + option_name("missing", "attribute-mean")});
        continue;
      }
      if (std::isinf(v) || std::abs(v) > std::numeric_limits<float>::max())
        throw Error(BadInput{file, cell(c, a), "a finite number", fmt::format("{}", v), "correct the value"});
      sum += v;
      ++present;
    }
    if (present == 0)
      throw Error(BadInput{file, field + ", " + attribute(a), "a value for at least one class", "none",
                           "remove the attribute"});
    semantics.missing += raw.rows() - present;
    const double fill = policy == MissingPolicy::zero ? 0.0 : sum / static_cast<double>(present);
    for (std::size_t c = 0; c < raw.rows(); ++c)
      semantics.values(c, a) = static_cast<float>(std::isnan(raw(c, a)) ? fill : raw(c, a));
  }
  return semantics;
}

std::vector<std::string> semantic_warnings(const Dataset& data) {
  std::vector<std::string> warnings;
  const auto values = data.semantics.values.view();
  if (values.cols() == 1)
    warnings.push_back(
        "the classes have only one attribute: it hardly tells them apart (similarity cosine sees its "
        "sign alone), so accuracies are close to chance");
  using Row = std::span<const float>;
  const auto before = [](Row a, Row b) { return std::ranges::lexicographical_compare(a, b); };
  std::map<Row, std::vector<std::size_t>, decltype(before)> alike(before);
  for (std::size_t c = 0; c < values.rows(); ++c) alike[values.row(c)].push_back(c);
  if (values.rows() > 1 && alike.size() == 1) {
    warnings.push_back(
        "all classes have the same attributes: none can be told from another, so accuracies are those "
        "of always giving the same answer");
    return warnings;
  }
  std::size_t doubled = 0;
  const std::vector<std::size_t>* first = nullptr;
  for (const auto& [row, classes] : alike)
    if (classes.size() > 1) {
      doubled += classes.size();
      if (first == nullptr || classes.front() < first->front()) first = &classes;
    }
  if (first != nullptr)
    warnings.push_back(
        fmt::format("{} classes share their attributes with another, such as '{}' and '{}': they cannot "
                    "be told apart, so only one of them is ever predicted",
                    doubled, data.class_names[(*first)[0]], data.class_names[(*first)[1]]));
  return warnings;
}

namespace {

/// The row of `table` for each class.
std::vector<std::size_t> rows_of(const ClassTable& table, const std::vector<std::string>& class_names,
                                 const std::string& from) {
  const auto refuse = [&](const std::string& found) {
    throw Error(BadInput{table.file, "classes", fmt::format("the {} classes of {}", class_names.size(), from), found,
                         "all tables of semantics must describe the same classes"});
  };
  const std::size_t count = table.semantics.values.rows();
  if (count != class_names.size()) refuse(std::to_string(count));
  std::vector<std::size_t> rows(count);
  const bool in_order = table.class_names.empty() || table.class_names == class_names;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t r = 0; r < count && !in_order; ++r)
    if (!places.emplace(table.class_names[r], r).second) refuse("'" + table.class_names[r] + "' twice");
  for (std::size_t c = 0; c < count; ++c) {
    const auto found = places.find(class_names[c]);
    if (!in_order && found == places.end()) refuse("none named '" + class_names[c] + "'");
    rows[c] = in_order ? c : found->second;
  }
  return rows;
}

std::vector<std::string> column_names(const std::vector<ClassTable>& tables) {
  std::vector<std::string> names;
  if (std::ranges::all_of(tables, [](const ClassTable& t) { return t.semantics.attribute_names.empty(); }))
    return names;
  std::vector<std::vector<std::string>> own;
  std::map<std::string, std::set<std::size_t>> having;  // the tables with a column of that name
  for (std::size_t t = 0; t < tables.size(); ++t) {
    own.push_back(tables[t].semantics.attribute_names);
    for (std::size_t j = own[t].size(); j < tables[t].semantics.values.cols(); ++j)
      own[t].push_back(fmt::format("{} {}", tables[t].semantics.name, j + 1));
    for (const auto& name : own[t]) having[name].insert(t);
  }
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const auto& name : own[t])
      names.push_back(having[name].size() > 1 ? tables[t].semantics.name + ":" + name : name);
  return names;
}

namespace fs = std::filesystem;

constexpr std::size_t kMostClasses = 1u << 17;  // names take more memory than the few bytes of short ones
constexpr Endings kTableEndings{".csv", ".npy", ".txt", ".vec"};

class NamedTable {
 public:
  explicit NamedTable(const fs::path& file) : file_(file.string()), table_(read_csv(file, true)) {
    const auto found = std::find(table_.header.begin(), table_.header.end(), "class");
    if (found == table_.header.end())
      throw Error(BadInput{file_, "header", "a column 'class'", quoted_list(table_.header),
                           table_.header.size() == 1 && table_.header[0].find(';') != std::string::npos
                               ? "separate cells by commas, not by semicolons"
                               : "the first line names the columns: class, then the attributes"});
    if (table_.rows() == 0) throw Error(BadInput{file_, "", "one row per class", "no rows", ""});
    if (table_.rows() > kMostClasses)
      throw Error(BadInput{file_, "", fmt::format("at most {} classes", kMostClasses), fmt::format("{}", table_.rows()),
                           "leave some out"});
    require_printable(table_.header, file_, "header");
    class_column_ = static_cast<std::size_t>(found - table_.header.begin());
  }

  std::vector<std::string> class_names() const {
    std::vector<std::string> names;
    std::unordered_set<std::string_view> known;
    for (std::size_t r = 0; r < table_.rows(); ++r) {
      const std::string name(table_.cell(r, class_column_));
      if (name.empty()) throw Error(BadInput{place(r), "class", "a class name", "an empty cell", ""});
      if (!known.insert(table_.cell(r, class_column_)).second)
        throw Error(
            BadInput{place(r), "class", "each class only once", "'" + name + "' twice", "keep one row per class"});
      require_printable({name}, place(r), "class");
      names.push_back(name);
    }
    return names;
  }

  ClassTable read(MissingPolicy missing) const {
    if (table_.header.size() < 2)
      throw Error(BadInput{file_, "header", "at least one attribute", "names of classes alone",
                           "add attributes, or name a table of vectors by " + option_name("semantics")});
    ClassTable out{file_, class_names(), {}};
    std::vector<std::string> attribute_names;
    for (std::size_t c = 0; c < table_.header.size(); ++c)
      if (c != class_column_) attribute_names.push_back(table_.header[c]);
    Matrix<double> raw(table_.rows(), attribute_names.size());
    for (std::size_t r = 0; r < table_.rows(); ++r)
      for (std::size_t c = 0, a = 0; c < table_.header.size(); ++c) {
        if (c == class_column_) continue;
        if (!parse_number(table_.cell(r, c), raw(r, a++)))
          throw Error(BadInput{place(r),
                               fmt::format("class '{}', attribute '{}'", out.class_names[r], table_.header[c]),
                               "a number or an empty cell", in_quotes(table_.cell(r, c)), ""});
      }
    mark_missing(raw.view());
    out.semantics = complete_semantics(raw.view(), missing, file_, "attributes", out.class_names, attribute_names);
    return out;
  }

 private:
  std::string place(std::size_t r) const { return fmt::format("{}:{}", file_, table_.line(r)); }

  std::string file_;
  CsvCells table_;
  std::size_t class_column_ = 0;
};

/// An .npy table names neither classes nor attributes.
ClassTable read_numbers(const fs::path& file, const std::string& name, MissingPolicy missing,
                        const std::vector<std::string>& class_names) {
  Matrix<double> raw = read_npy_double({file, ""});
  if (raw.rows() != class_names.size() || raw.cols() == 0)
    throw Error(BadInput{file.string(), "", fmt::format("{} rows, one per class", class_names.size()),
                         fmt::format("{} x {} values", raw.rows(), raw.cols()), "one row per class, in their order"});
  mark_missing(raw.view());
  return {file.string(), {}, complete_semantics(raw.view(), missing, file.string(), name, class_names, {})};
}

using Names = std::vector<std::string>;
using Vector = std::vector<double>;
using Words = std::map<std::string, Vector, std::less<>>;  // empty: not in the file so far

constexpr std::string_view kBlanks = " \t", kBetweenWords = "_-+. ";

Names split(std::string_view text, std::string_view at) {
  Names words;
  for (const auto word : split_at(text, at))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

std::string without_number(const std::string& name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits > 0 && digits + 1 < name.size() && name[digits] == '.' ? name.substr(digits + 1) : name;
}

/// What to look for: whole names, best first, and then words.
struct Wanted {
  Names whole, words;

  explicit Wanted(const std::string& name) {
    const std::string bare = without_number(name);
    whole = {name, in_lower_case(name), bare, in_lower_case(bare)};
    words = split(in_lower_case(bare), kBetweenWords);
  }
};

/// Fills in the words that are there; returns m.
std::size_t read_words(const fs::path& path, Words& words, ProgressObserver* observer) {
  InputFile file(path);
  LoadProgress progress(observer, path, file.size());
  std::size_t number = 1, dimensions = 0;
  const auto fail = [&](std::string_view word, const std::string& expected, const std::string& found) {
    throw Error(BadInput{fmt::format("{}:{}", file.name(), number),
                         word.empty() ? "" : fmt::format("vector of '{}'", word), expected, found,
                         "word vectors are text: a word and its numbers per line, separated by blanks"});
  };
  // Learns m from the first line; true if that line is "count m".
  const auto take_first = [&](std::string_view line) {
    const Names fields = split(line, kBlanks);
    std::size_t count = 0, m = 0;
    const auto is_count = [](const std::string& text, std::size_t& value) {
      return std::from_chars(text.data(), text.data() + text.size(), value).ptr == text.data() + text.size();
    };
    const bool counts = fields.size() == 2 && is_count(fields[0], count) && is_count(fields[1], m) && m > 0;
    if (fields.size() < 2) fail("", "a word and its vector", fmt::format("{} fields", fields.size()));
    dimensions = counts ? m : fields.size() - 1;
    return counts;
  };
  const auto vector_of = [&](std::string_view word, std::string_view rest) {
    Vector values;
    const Names fields = split(rest, kBlanks);
    for (const auto& field : fields) {
      double value = 0;
      const bool is_number = parse_number(field, value);
      if (!is_number || std::isnan(value)) {
        // Some tables have entries of several words, such as "new york" or "san na": this is one of them.
        if (values.empty() && (!is_number || fields.size() != dimensions)) return values;
        fail(word, "a finite number", "'" + field.substr(0, 40) + "'");
      }
      values.push_back(value);
    }
    if (values.size() != dimensions)
      fail(word, fmt::format("{} numbers, as in the first line", dimensions), std::to_string(values.size()));
    return values;
  };
  LineReader lines(file.name(), [&](void* to, std::size_t bytes) {
    const std::size_t got = file.read_some(to, bytes);
    progress.advance(got);
    return got;
  });
  for (std::string_view line; lines.next(line); ++number) {
    if (line.empty() || (dimensions == 0 && take_first(line))) continue;
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    const auto found = words.find(word);
    if (found != words.end() && found->second.empty()) found->second = vector_of(word, line.substr(word.size()));
  }
  return dimensions;
}

}  // namespace

std::vector<std::string> split_table_names(const std::string& semantics) {
  const auto parts = split_at(semantics, ",");
  const std::vector<std::string> names(parts.begin(), parts.end());
  for (const auto& name : names)
    if (names.size() > 1 && (name.empty() || std::ranges::count(names, name) > 1))
      throw Error(ErrorCode::usage, fmt::format("{}: expected different names separated by commas, found '{}'",
                                                option_name("semantics"), semantics));
  return names;
}

Semantics join_tables(std::vector<ClassTable> tables, const std::vector<std::string>& class_names,
                      const std::string& from) {
  std::map<std::string_view, const ClassTable*> by_name;
  for (const auto& table : tables)
    if (const auto [other, is_new] = by_name.emplace(table.semantics.name, &table); !is_new)
      throw Error(ErrorCode::usage, fmt::format("{}: expected tables of different names, found {} and {}",
                                                option_name("semantics"), other->second->file, table.file));
  Semantics joined;
  joined.policy = tables.front().semantics.policy;
  joined.attribute_names = column_names(tables);
  std::size_t columns = 0, first = 0;
  for (const auto& table : tables) columns += table.semantics.values.cols();
  joined.values = Matrix<float>(class_names.size(), columns);
  for (const auto& table : tables) {
    const auto& values = table.semantics.values;
    const auto rows = rows_of(table, class_names, from);
    for (std::size_t c = 0; c < rows.size(); ++c)
      std::ranges::copy(values.row(rows[c]), joined.values.row(c).begin() + static_cast<std::ptrdiff_t>(first));
    first += values.cols();
    joined.name += (joined.name.empty() ? "" : ",") + table.semantics.name;
    joined.missing += table.semantics.missing;
    if (tables.size() > 1) joined.tables.push_back({table.semantics.name, values.cols()});
  }
  return joined;
}

Semantics table_of(const Semantics& semantics, std::size_t t) {
  Semantics table;
  const bool one = semantics.tables.empty();
  std::size_t first = 0;
  for (std::size_t i = 0; i < t; ++i) first += semantics.tables[i].second;
  const std::size_t columns = one ? semantics.values.cols() : semantics.tables[t].second;
  table.name = one ? semantics.name : semantics.tables[t].first;
  table.policy = semantics.policy;
  table.values = Matrix<float>(semantics.values.rows(), columns);
  for (std::size_t c = 0; c < table.values.rows(); ++c)
    std::ranges::copy(semantics.values.row(c).subspan(first, columns), table.values.row(c).begin());
  if (!semantics.attribute_names.empty())
    table.attribute_names.assign(semantics.attribute_names.begin() + static_cast<std::ptrdiff_t>(first),
                                 semantics.attribute_names.begin() + static_cast<std::ptrdiff_t>(first + columns));
  return table;
}

std::vector<std::string> table_class_names(const fs::path& csv) { return NamedTable(csv).class_names(); }

ClassTable read_class_table(const fs::path& file, const std::string& name, MissingPolicy missing, Dataset& data,
                            ProgressObserver* progress) {
  ClassTable table = file.extension() == ".csv" ? NamedTable(file).read(missing)
                     : file.extension() == ".npy"
                         ? read_numbers(file, name, missing, data.class_names)
                         : ClassTable{file.string(), {}, read_word_table(file, data.class_names, data.notes, progress)};
  table.semantics.name = name;
  table.semantics.policy = missing;
  return table;
}

bool is_table_file(const fs::path& file) {
  return std::ranges::find(kTableEndings, file.extension().string()) != kTableEndings.end();
}

std::optional<fs::path> find_table_file(const fs::path& folder, const std::string& item) {
  return is_table_file(item) ? find_named(folder, item, kTableEndings) : std::nullopt;
}

std::string table_name(const fs::path& file, std::size_t tables) {
  return (tables == 1 ? file.filename() : file.stem()).string();
}

Semantics read_word_table(const std::filesystem::path& file, const Names& class_names, Names& notes,
                          ProgressObserver* progress) {
  std::vector<Wanted> wanted;
  Words words;
  for (const auto& name : class_names) {
    wanted.emplace_back(name);
    for (const auto* list : {&wanted.back().whole, &wanted.back().words})
      for (const auto& word : *list) words.emplace(word, Vector());
  }
  Semantics semantics;
  semantics.values = Matrix<float>(class_names.size(), read_words(file, words, progress));
  Names without, partial;
  for (std::size_t c = 0; c < class_names.size(); ++c) {
    const auto is_there = [&](const std::string& word) { return !words.at(word).empty(); };
    Names taken, missing;
    if (const auto found = std::ranges::find_if(wanted[c].whole, is_there); found != wanted[c].whole.end())
      taken = {*found};
    else
      for (const auto& word : wanted[c].words) (is_there(word) ? taken : missing).push_back(word);
    if (taken.empty()) {
      without.push_back(class_names[c]);
      continue;
    }
    for (const auto& word : missing) partial.push_back(fmt::format("'{}' of '{}'", word, class_names[c]));
    for (std::size_t j = 0; j < semantics.values.cols(); ++j) {
      double sum = 0;
      for (const auto& word : taken) sum += words.at(word)[j];
      semantics.values(c, j) = static_cast<float>(sum / static_cast<double>(taken.size()));
    }
  }
  if (!without.empty())
    throw Error(BadInput{file.string(), "", "a word of every class", "none of " + quoted_list(without, without.size()),
                         "add their words, or name the classes by words of the table"});
  if (!partial.empty())
    notes.push_back(fmt::format("{} lacks {} words, which are left out of the means: {}", file.filename().string(),
                                partial.size(), fmt::join(partial, ", ")));
  return semantics;
}

}  // namespace parsnets
