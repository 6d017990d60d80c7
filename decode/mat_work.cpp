#include <memory>

#include "base/decoder.hpp"
#include "mat_reader.hpp"
#include "work.hpp"

namespace parsnets::decode {

namespace {

template <class T>
void put_columns(Channel& channel, mat::Reader& file, std::size_t index) {
  mat::read_columns<T>(
      file, index,
      {[&](std::uint64_t rows, std::uint64_t cols) {
         put_reply(channel, DecoderReply::more);
         for (const auto number : {rows, cols}) channel.put_number(number);
       },
       [&](std::uint64_t row, std::uint64_t col, std::uint64_t rows, std::uint64_t cols, const T* values) {
         put_reply(channel, DecoderReply::more);
         for (const auto number : {row, col, rows, cols}) channel.put_number(number);
         channel.put(values, rows * cols * sizeof(T));
       }});
}

void put_list(Channel& channel, const mat::Reader& file) {
  for (const auto& variable : file.variables) {
    put_reply(channel, DecoderReply::more);
    channel.put_text(variable.name);
    channel.put_text(variable.kind);
    channel.put_number(variable.rows);
    channel.put_number(variable.cols);
  }
}

[[noreturn]] void serve_mat(Channel& channel, Input& input) {
  std::unique_ptr<mat::Reader> file;
  for (;;) {
    const auto question = static_cast<mat::Question>(channel.get_number());
    const std::size_t index = question == mat::Question::list ? 0 : channel.get_number();
    answer(channel, [&] {
      if (!file) file = mat::open(input);
      if (question == mat::Question::list) return put_list(channel, *file);
      if (question == mat::Question::floats) return put_columns<float>(channel, *file, index);
      if (question == mat::Question::doubles) return put_columns<double>(channel, *file, index);
      for (const auto& text : mat::read_strings(*file, index)) {
        put_reply(channel, DecoderReply::more);
        channel.put_text(text);
      }
    });
  }
}

}  // namespace

Work open_work(std::string_view name) {
  if (name != "mat") return {};
  const auto file = std::make_shared<Input>(Descriptor(kDecoderFile));
  return [file](Channel& channel) { serve_mat(channel, *file); };
}

}  // namespace parsnets::decode
