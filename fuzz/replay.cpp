// Every file of the corpora through its target, and through all others; or mutations of those of one target.
//
//   replay_corpora CORPORA                         all files
//   replay_corpora CORPORA TARGET RUNS [SECONDS]   mutations 0, 1, ..., the same in every run; SECONDS of the processor
//
// What a mutation does wrong ends the process; mutation.failed is the file.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "mutation.hpp"
#include "targets.hpp"

namespace {

using namespace parsnets::fuzz;

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int replay(const char* corpora) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpora)) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = bytes_of(entry.path());
    std::printf("%s\n", entry.path().c_str());
    std::fflush(stdout);
    for (const auto& [name, target] : targets()) run(target, std::as_bytes(std::span(bytes)));
    ++files;
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 1;
}

/// The file of the mutation that is running, for whom it ends.
std::string running;

void leave_file(int) {
  std::ofstream("mutation.failed", std::ios::binary).write(running.data(), std::ssize(running));
  std::_Exit(1);
}

int mutate(const std::filesystem::path& corpora, const std::string& name, std::uint64_t runs, double seconds) {
  const auto found = targets().find(name);
  if (found == targets().end()) return 2;
  std::vector<std::filesystem::path> paths{std::filesystem::directory_iterator(corpora / name), {}};
  std::ranges::sort(paths);
  std::vector<std::string> seeds;
  for (const auto& path : paths) seeds.push_back(bytes_of(path));
  const std::vector<std::string> tokens{"nan",
                                        "1e999",
                                        "-1",
                                        "4294967295",
                                        "\"\"",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        ":",
                                        "null",
                                        "\r\n",
                                        "\xef\xbb\xbf",
                                        "\\ud800",
                                        "class",
                                        "features",
                                        "shape",
                                        "dtype",
                                        "F16",
                                        "Content-Length: ",
                                        "HTTP/1.1",
                                        "PK\x05\x06",
                                        "TREE",
                                        "SNOD",
                                        "\xff\xff\xff\xff"};
  std::signal(SIGABRT, leave_file);
  std::signal(SIGSEGV, leave_file);
  const Mutator mutator(seeds, tokens);
  std::uint64_t accepted = 0, i = 0;
  for (; i < runs && static_cast<double>(std::clock()) < seconds * CLOCKS_PER_SEC; ++i) {
    running = mutator.file(i);
    accepted += run(found->second, std::as_bytes(std::span(running))) ? 1 : 0;
  }
  std::printf("%s: %llu runs, %llu accepted\n", name.c_str(), static_cast<unsigned long long>(i),
              static_cast<unsigned long long>(accepted));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return replay(argv[1]);
  if (argc != 4 && argc != 5) return 2;
  return mutate(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argc == 5 ? std::strtod(argv[4], nullptr) : 1e9);
}
