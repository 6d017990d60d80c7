// MATLAB files, as parsnets-decode hands them on. What it says is not trusted: a file may have taken it over.

#include "formats/mat.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// A variable's name or kind.
constexpr std::uint64_t kLongestName = 64 << 10;
/// Text is names of classes and files: what takes more bytes than the file and these is damage. Strings of fewer bytes
/// count as if they had so many, which is half of what they take in memory.
constexpr std::uint64_t kSpareText = 4u << 20, kLeastOfString = 16;

/// A file that needs more than this is made to do harm: memory is for a chunk of HDF5 and for text. SECURITY.md and
/// tests/budgets state it.
DecoderLimits limits_for(const InputFile& file) {
  const std::uint64_t megabytes = file.size() >> 20;
  return {(128 + 4 * megabytes) << 20, static_cast<unsigned>(4 + std::min<std::uint64_t>(megabytes, 1 << 20))};
}

}  // namespace

MatFile::MatFile(const std::filesystem::path& path)
    : file_(path), decoder_(file_.name(), "mat", file_.descriptor(), limits_for(file_)) {
  decoder_.ask([&](Channel& channel) {
    channel.put_number(static_cast<std::uint64_t>(mat::Question::list));
    channel.send();
    while (decoder_.has_more(channel)) {
      MatVariable variable{channel.get_text(kLongestName), channel.get_text(kLongestName)};
      variable.rows = channel.get_number();
      variable.cols = channel.get_number();
      variables_.push_back(std::move(variable));
      if (variables_.size() > file_.size() / 8) refuse("list of variables", "fewer variables", "more than fit in it");
    }
  });
}

std::unique_ptr<MatFile> MatFile::open(const std::filesystem::path& path) {
  return std::unique_ptr<MatFile>(new MatFile(path));
}

const MatVariable* MatFile::find(std::string_view name) const {
  // The last of a name counts, as in MATLAB.
  const auto it = std::find_if(variables_.rbegin(), variables_.rend(), [&](const auto& v) { return v.name == name; });
  return it == variables_.rend() ? nullptr : &*it;
}

void MatFile::refuse(const std::string& variable, std::string expected, std::string found) const {
  throw Error(BadInput{name(), variable, std::move(expected), std::move(found),
                       "the file is damaged or truncated: copy or save it again"});
}

void MatFile::ask(mat::Question question, const std::string& variable, const std::function<void(Channel&)>& take) {
  const MatVariable* found = find(variable);
  if (found == nullptr)
    throw Error(BadInput{name(), variable, "a variable of this name", "none", "check the file and the name"});
  decoder_.ask([&](Channel& channel) {
    channel.put_number(static_cast<std::uint64_t>(question));
    channel.put_number(static_cast<std::uint64_t>(found - variables_.data()));
    channel.send();
    take(channel);
  });
}

template <class T>
Matrix<T> MatFile::read_numeric(const std::string& variable, ProgressObserver* progress, const MatrixPlace& place) {
  Matrix<T> out;
  const auto question = std::is_same_v<T, float> ? mat::Question::floats : mat::Question::doubles;
  ask(question, variable, [&](Channel& channel) {
    if (!decoder_.has_more(channel)) throw ChannelEnded("an answer without a shape");
    const std::uint64_t rows = channel.get_number(), cols = channel.get_number();
    const auto count = checked_mul(rows, cols);
    if (!count || *count > mat::kMaxExpansion * file_.size())
      refuse(variable, "fewer values", std::to_string(rows) + "x" + std::to_string(cols));
    if constexpr (std::is_same_v<T, float>)
      out = new_matrix(rows, cols, place, "the values of " + name());
    else
      out = Matrix<T>(rows, cols);
    UsedRows filled(out);
    LoadProgress told(*count > 0 ? progress : nullptr, variable, *count * sizeof(T));
    std::uint64_t left = *count;
    while (decoder_.has_more(channel)) {
      const std::uint64_t row = channel.get_number(), col = channel.get_number(), high = channel.get_number(),
                          wide = channel.get_number();
      if (row > rows || high > rows - row || col > cols || wide > cols - col || high * wide > left)
        throw ChannelEnded("values outside their matrix");
      for (std::uint64_t r = row; r < row + high; ++r) channel.get(&out(r, col), wide * sizeof(T));
      left -= high * wide;
      filled.add(row, high);
      told.advance(high * wide * sizeof(T));
    }
    if (left != 0) throw ChannelEnded("too few values");
  });
  return out;
}

Matrix<float> MatFile::read_columns(const std::string& name, ProgressObserver* progress, const MatrixPlace& place) {
  return read_numeric<float>(name, progress, place);
}

Matrix<double> MatFile::read_columns_double(const std::string& name) { return read_numeric<double>(name, nullptr, {}); }

std::vector<std::string> MatFile::read_strings(const std::string& variable) {
  std::vector<std::string> out;
  std::uint64_t budget = kSpareText + file_.size();
  ask(mat::Question::strings, variable, [&](Channel& channel) {
    while (decoder_.has_more(channel)) {
      if (budget < kLeastOfString) refuse(variable, "less text", "more than the file can hold");
      out.push_back(channel.get_text(budget));
      if (!is_utf8(out.back())) throw ChannelEnded("text that is not UTF-8");
      budget -= std::min<std::uint64_t>(budget, std::max<std::uint64_t>(out.back().size(), kLeastOfString));
    }
  });
  return out;
}

}  // namespace parsnets
