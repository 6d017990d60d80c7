#pragma once
// A change of a file that other processes change, too.

#include <filesystem>

#include "parsnets/progress.hpp"

namespace parsnets {

/// Holds a file for reading, changing and replacing it as one step: another process that asks for the same file waits
/// until this object is gone. The lock (flock) is on the file itself, so that no lock file is left behind; since a
/// replaced file is another one of the same name, the lock counts only if the name still leads to it once it is held.
/// Replace the file at most once, as the last thing done under the lock. Readers do not wait.
class FileLock {
 public:
  /// Waits for its turn, and says so through `progress`. Throws bad_input when the file cannot be opened, failure when
  /// its file system has no locks, cancelled when the observer asks to stop.
  FileLock(const std::filesystem::path& path, ProgressObserver* progress);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace parsnets
