#include "data/word_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include "base/file.hpp"
#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "formats/csv_lines.hpp"
#include "formats/load_progress.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Names = std::vector<std::string>;
using Vector = std::vector<double>;
using Words = std::map<std::string, Vector, std::less<>>;  // empty: not in the file so far

constexpr std::string_view kBlanks = " \t", kBetweenWords = "_-+. ";

/// The locale has no say.
std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

Names split(std::string_view text, std::string_view at) {
  Names parts;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find_first_of(at, start), text.size());
    if (end > start) parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
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
    whole = {name, lower(name), bare, lower(bare)};
    words = split(lower(bare), kBetweenWords);
  }
};

class TableReader {
 public:
  TableReader(const std::filesystem::path& path, Words& words, ProgressObserver* progress)
      : file_(path), progress_(progress, path, file_.size()), words_(words) {}

  /// Fills in the words that are there; returns m.
  std::size_t read() {
    file_.seek(0);
    LineReader lines([this](void* to, std::size_t bytes) {
      const std::size_t got = file_.read_some(to, bytes);
      progress_.advance(got);
      return got;
    });
    for (std::string_view line; lines.next(line); ++number_) {
      if (line.empty()) continue;
      if (dimensions_ == 0 && take_first(line)) continue;
      const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
      const auto found = words_.find(word);
      if (found != words_.end() && found->second.empty()) read_vector(line.substr(word.size()), found->second, word);
    }
    return dimensions_;
  }

 private:
  /// Learns m from the first line; true if that line is "count m".
  bool take_first(std::string_view line) {
    const Names fields = split(line, kBlanks);
    std::size_t count = 0, dimensions = 0;
    const auto is_count = [](const std::string& text, std::size_t& value) {
      return std::from_chars(text.data(), text.data() + text.size(), value).ptr == text.data() + text.size();
    };
    if (fields.size() == 2 && is_count(fields[0], count) && is_count(fields[1], dimensions) && dimensions > 0) {
      dimensions_ = dimensions;
      return true;
    }
    if (fields.size() < 2) fail("", "a word and its vector", fmt::format("{} fields", fields.size()));
    dimensions_ = fields.size() - 1;
    return false;
  }

  void read_vector(std::string_view rest, Vector& vector, std::string_view word) {
    Vector values;
    const Names fields = split(rest, kBlanks);
    for (const auto& field : fields) {
      double value = 0;
      const bool is_number = parse_number(field, value);
      if (!is_number || std::isnan(value)) {
        // Some tables have entries of several words, such as "new york" or "san na": this is one of them.
        if (values.empty() && (!is_number || fields.size() != dimensions_)) return;
        fail(word, "a finite number", "'" + field.substr(0, 40) + "'");
      }
      values.push_back(value);
    }
    if (values.size() != dimensions_)
      fail(word, fmt::format("{} numbers, as in the first line", dimensions_), std::to_string(values.size()));
    vector = std::move(values);
  }

  [[noreturn]] void fail(std::string_view word, const std::string& expected, const std::string& found) const {
    throw Error(BadInput{fmt::format("{}:{}", file_.name(), number_),
                         word.empty() ? "" : fmt::format("vector of '{}'", word), expected, found,
                         "word vectors are text: a word and its numbers per line, separated by blanks"});
  }

  InputFile file_;
  LoadProgress progress_;
  Words& words_;
  std::size_t number_ = 1, dimensions_ = 0;
};

}  // namespace

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
  semantics.values = Matrix<float>(class_names.size(), TableReader(file, words, progress).read());
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
  if (!partial.empty()) {
    std::string list;
    for (const auto& one : partial) list += (list.empty() ? "" : ", ") + one;
    notes.push_back(fmt::format("{} lacks {} words, which are left out of the means: {}", file.filename().string(),
                                partial.size(), list));
  }
  return semantics;
}

}  // namespace parsnets
