// The entry of libFuzzer. PARSNETS_FUZZ names the target.

#include <cstdio>
#include <cstdlib>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const parsnets::fuzz::Target target = [] {
    const char* name = std::getenv("PARSNETS_FUZZ");
    const auto found = parsnets::fuzz::targets().find(name == nullptr ? "" : name);
    if (found == parsnets::fuzz::targets().end()) {
      std::fprintf(stderr, "PARSNETS_FUZZ: expected one of:");
      for (const auto& [known, unused] : parsnets::fuzz::targets()) std::fprintf(stderr, " %s", known.c_str());
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
    return found->second;
  }();
  parsnets::fuzz::run(target, {reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
