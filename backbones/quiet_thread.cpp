#include "quiet_thread.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <streambuf>

namespace parsnets {

namespace {

thread_local bool quiet = false;

/// Drops, or writes to standard error; returns how many bytes it took.
ssize_t drop_or_write(const char* text, std::size_t length) {
  if (quiet) return static_cast<ssize_t>(length);
  ssize_t put = 0;
  do put = ::write(STDERR_FILENO, text, length);
  while (put < 0 && errno == EINTR);
  return put;
}

ssize_t write_of_stdio(void*, const char* text, std::size_t length) {
  const ssize_t put = drop_or_write(text, length);
  return put < 0 ? 0 : put;
}

class Filter final : public std::streambuf {
 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const char text = traits_type::to_char_type(character);
    return drop_or_write(&text, 1) == 1 ? character : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize length) override {
    return std::max<ssize_t>(0, drop_or_write(text, static_cast<std::size_t>(length)));
  }
};

void install_filters() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (FILE* filtered = ::fopencookie(nullptr, "w", {nullptr, write_of_stdio, nullptr, nullptr})) {
      std::setvbuf(filtered, nullptr, _IONBF, 0);
      stderr = filtered;
    }
    static Filter& filter = *new Filter;  // never destroyed: std::cerr is flushed after the objects of this module
    std::cerr.rdbuf(&filter);
  });
}

}  // namespace

QuietThread::QuietThread() {
  install_filters();
  quiet = true;
}

QuietThread::~QuietThread() { quiet = false; }

}  // namespace parsnets
