#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "command.hpp"

namespace parsnets::cli {

namespace {

volatile std::sig_atomic_t interrupt_count = 0;

volatile std::sig_atomic_t next_ends = 0;
std::atomic<std::int64_t> interrupted_at = 0;  // milliseconds of the monotonic clock

char interrupt_answer[256] = "";

void on_interrupt(int) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t at = std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
  // A process group may deliver one Ctrl-C twice; only a later one means "at once".
  if (next_ends != 0 || (interrupt_count > 0 && at - interrupted_at > 500)) ::_exit(130);
  if (interrupt_count > 0) return;
  interrupt_count = 1;
  interrupted_at = at;
  if (::write(STDERR_FILENO, interrupt_answer, std::strlen(interrupt_answer)) < 0) return;  // nobody reads it
}

char farewell_text[512] = "";

void on_termination(int) {
  const auto written = ::write(STDERR_FILENO, farewell_text, std::strlen(farewell_text));
  ::_exit(written < 0 ? 1 : 128 + SIGTERM);
}

int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/// Three digits, or a whole number: 0.123, 12.3, 1460.
std::string rate_text(double rate) { return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate); }

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const int total = static_cast<int>(seconds);
  return total < 3600 ? fmt::format("{}:{:02}", total / 60, total % 60)
                      : fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f: the write fails, and a message says so
}

void end_when_terminated(const std::string& farewell) {
  std::strncpy(farewell_text, farewell.c_str(), sizeof farewell_text - 1);
  struct sigaction action {};
  action.sa_handler = on_termination;
  ::sigaction(SIGTERM, &action, nullptr);
}

void answer_interrupts(const std::string& line) {
  const std::string text = (::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") + line + "\n";
  std::strncpy(interrupt_answer, text.c_str(), sizeof interrupt_answer - 1);
}

bool interrupted() { return interrupt_count > 0; }

void end_at_next_interrupt() { next_ends = 1; }

TerminalProgress::TerminalProgress(bool quiet) : quiet_(quiet), bar_(::isatty(STDERR_FILENO) == 1) {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  if (term != nullptr && std::string(term) == "dumb") bar_ = false;
  colour_ = bar_ && (no_color == nullptr || *no_color == '\0');
}

TerminalProgress::~TerminalProgress() { clear(); }

void TerminalProgress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

bool TerminalProgress::on_progress(const ProgressEvent& event) {
  if (interrupted()) return false;
  if (quiet_) return true;
  const auto now = Clock::now();
  if (event.stage != stage_) {
    clear();
    stage_ = event.stage;
    started_ = last_ = now;
    return true;  // short stages are never shown
  }
  const std::chrono::duration<double> since_start = now - started_, since_last = now - last_;
  if (since_last.count() >= (bar_ ? 0.1 : 10.0)) {
    last_ = now;
    draw(event, since_start.count());
  }
  return true;
}

void TerminalProgress::on_message(std::string_view message) {
  if (quiet_) return;
  clear();
  say(fmt::format("{}\n", message));
}

void TerminalProgress::draw(const ProgressEvent& event, double elapsed) {
  const double done = static_cast<double>(event.done), total = static_cast<double>(event.total);
  const double rate = elapsed > 0 ? done / elapsed : 0;
  std::string tail = fmt::format("{}/{} {}, {}/s", event.done, event.total, event.unit, rate_text(rate));
  if (event.total == 0) tail = fmt::format("{} {}, {}", event.done, event.unit, duration(elapsed));
  if (event.total > 0 && rate > 0 && done < total) tail += ", " + duration((total - done) / rate) + " left";
  if (!bar_) {
    say(fmt::format("{}: {}\n", event.stage, tail));
    return;
  }
  const int room = std::clamp(terminal_width() - static_cast<int>(event.stage.size() + tail.size()) - 6, 0, 40);
  const int filled = event.total > 0 ? std::min(room, static_cast<int>(done / total * room)) : 0;
  const std::string bar =
      std::string(static_cast<std::size_t>(filled), '#') + std::string(static_cast<std::size_t>(room - filled), '.');
  fmt::print(stderr, "\r\033[K{} {}[{}]{} {}", event.stage, colour_ ? "\033[36m" : "", bar, colour_ ? "\033[0m" : "",
             tail);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace parsnets::cli
