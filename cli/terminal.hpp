#pragma once
// What a person sees while work goes on: a bar on a terminal, a sparse line now and then elsewhere.

#include <chrono>
#include <string>

#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// From here on Ctrl-C (and SIGTERM) ask running work to stop; one that comes more than half a second later ends the
/// process at once. A write beyond the limit of file sizes fails as one on a full disk does.
void catch_interrupts();
/// From here on the first Ctrl-C writes this line to standard error: for work that does not stop at once.
void answer_interrupts(const std::string& line);
bool interrupted();
/// From here on the next Ctrl-C (or SIGTERM) ends the process, however soon it comes.
void end_at_next_interrupt();
/// From here on SIGTERM writes this to standard error and ends the process: one that waits for others in a collective
/// call could not stop otherwise.
void end_when_terminated(const std::string& farewell);

/// Writes to standard error. Cancels when interrupted() is true.
class TerminalProgress : public ProgressObserver {
 public:
  explicit TerminalProgress(bool quiet);
  ~TerminalProgress() override;
  bool on_progress(const ProgressEvent& event) override;
  void on_message(std::string_view message) override;
  /// Removes the bar so that a line can be written.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const ProgressEvent& event, double elapsed);

  bool quiet_, bar_, colour_;
  bool drawn_ = false;
  std::string stage_;
  Clock::time_point started_, last_;
};

}  // namespace parsnets::cli
