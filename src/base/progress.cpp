#include "parsnets/progress.hpp"

#include "parsnets/error.hpp"

namespace parsnets {

void report(ProgressObserver* observer, const ProgressEvent& event) {
  if (observer != nullptr && !observer->on_progress(event))
    throw Error(ErrorCode::cancelled, "interrupted during: " + std::string(event.stage));
}

void report_message(ProgressObserver* observer, std::string_view message) {
  if (observer != nullptr) observer->on_message(message);
}

}  // namespace parsnets
