// Every file of the corpora through its target, and through all others. Usage: replay CORPORA

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "targets.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::printf("%s\n", entry.path().c_str());
    std::fflush(stdout);
    for (const auto& [name, target] : parsnets::fuzz::targets())
      parsnets::fuzz::run(target, std::as_bytes(std::span(bytes)));
    ++files;
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 1;
}
