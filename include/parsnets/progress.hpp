#pragma once
// How long work talks to its caller: it reports, and the caller may cancel.

#include <cstdint>
#include <string_view>

namespace parsnets {

/// How far a stage of the work is. The text is valid during the call.
struct ProgressEvent {
  std::string_view stage;      ///< what is being done, e.g. "load features"
  std::uint64_t done = 0;      ///< of total
  std::uint64_t total = 0;     ///< 0 when it is not known
  std::string_view unit = "";  ///< of done and total, e.g. "MB", "passes"
};

/// Called from the thread that called the library. Implementations need not be thread-safe.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;
  /// Returns false to cancel: the running call then throws Error(cancelled) and leaves nothing half-written.
  virtual bool on_progress(const ProgressEvent& event) = 0;
  /// A line worth telling a person (a pass of a solver, a choice made); ignored by default.
  virtual void on_message(std::string_view) {}
};

/// Forwards to `observer` unless it is null; throws Error(cancelled) when it returns false.
void report(ProgressObserver* observer, const ProgressEvent& event);
/// Forwards a line to `observer` unless it is null.
void report_message(ProgressObserver* observer, std::string_view message);

}  // namespace parsnets
