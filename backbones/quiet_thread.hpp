#pragma once
// libjpeg, libpng, OpenCV's decoders and TBB print to standard error; problems come back as results instead.

namespace parsnets {

/// While it lives, what this thread prints to standard error through stdio or std::cerr is dropped. Other threads print
/// as ever. The first one puts a filter in front of both streams, which stays.
class QuietThread {
 public:
  QuietThread();
  ~QuietThread();
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;
};

}  // namespace parsnets
