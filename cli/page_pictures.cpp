#include "page_pictures.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <sstream>

#include "base/file.hpp"
#include "command.hpp"
#include "parsnets/error.hpp"
#include "temporary_folder.hpp"

extern char** environ;

namespace parsnets::cli {

namespace {

constexpr int kWidth = 1000;

std::string file_url(const std::filesystem::path& page) {
  std::string url = "file://";
  for (const char c : std::filesystem::absolute(page).string())
    url += std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/-_.~", c) != nullptr
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return url;
}

/// Runs the browser to its end with its output in `out`; no shell is involved.
void run_browser(const std::string& browser, std::vector<std::string> arguments, const std::filesystem::path& out) {
  std::vector<char*> raw{const_cast<char*>(browser.c_str())};
  for (auto& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, browser.c_str(), &actions, nullptr, raw.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || ::waitpid(child, &status, 0) < 0 || status != 0)
    throw Error(ErrorCode::failure, browser + " could not draw the page");
}

/// Figures of the page and their heights in pixels, as it tells them with #figures.
std::vector<std::pair<std::string, int>> listed_figures(const std::string& dom) {
  std::vector<std::pair<std::string, int>> figures;
  std::smatch found;
  if (!std::regex_search(dom, found, std::regex("data-figures=\"([^\"]*)\""))) return figures;
  std::istringstream list(found[1]);
  for (std::string item; list >> item;) {
    const auto colon = item.rfind(':');
    figures.emplace_back(item.substr(0, colon), static_cast<int>(std::strtol(item.c_str() + colon + 1, nullptr, 10)));
  }
  return figures;
}

/// The SVG of a figure in the page that #svg makes; empty: none. Text in it cannot end the element: `<` is escaped.
std::string svg_in(const std::string& dom, const std::string& id) {
  const std::string start = "<script type=\"text/plain\" data-svg=\"" + id + "\">";
  const auto begin = dom.find(start);
  if (begin == std::string::npos) return "";
  const auto end = dom.find("</script>", begin);
  return dom.substr(begin + start.size(), end - begin - start.size());
}

}  // namespace

std::vector<std::string> parse_picture_formats(const std::string& text) {
  std::vector<std::string> formats;
  for (const auto& name : parts_of(text)) {
    refuse_if(name != "png" && name != "svg" && name != "pdf", "--pictures: expected png, svg or pdf, found '{}'",
              name);
    if (std::ranges::find(formats, name) == formats.end()) formats.push_back(name);
  }
  return formats;
}

std::string find_browser() {
  const char* path = std::getenv("PATH");
  for (const auto& folder : parts_of(path == nullptr ? "/usr/bin" : path, ':'))
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (std::string file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0) return file;
  throw Error(BadInput{"--pictures", "", "an installed Chromium to draw with", "none",
                       "install the package chromium, or use the buttons in the page"});
}

std::vector<std::filesystem::path> write_page_pictures(const std::filesystem::path& page,
                                                       const std::filesystem::path& folder,
                                                       const std::vector<std::string>& formats,
                                                       ProgressObserver* progress) {
  const std::string browser = find_browser(), url = file_url(page);
  std::filesystem::create_directories(folder);
  const TemporaryFolder profile;
  const auto log = profile / "dom.html";
  const auto draw = [&](const std::string& mark, int height, const std::string& action) {
    run_browser(browser,
                {"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=2",
                 "--virtual-time-budget=3000", "--no-pdf-header-footer", "--user-data-dir=" + profile.path().string(),
                 fmt::format("--window-size={},{}", kWidth, height), action, url + mark},
                log);
  };
  const auto dump = [&](const std::string& mark) {
    draw(mark, 2000, "--dump-dom");
    return read_text_file(log);
  };
  const auto figures = listed_figures(dump("#figures"));
  if (figures.empty()) throw Error(ErrorCode::failure, browser + " drew no figure of the page");
  const std::string svgs = std::ranges::count(formats, "svg") > 0 ? dump("#svg") : "";
  std::vector<std::filesystem::path> files;
  for (const auto& [id, height] : figures)
    for (const auto& format : formats) {
      report(progress, {"draw figures", files.size(), figures.size() * formats.size(), "pictures"});
      const std::string name = id.starts_with("fig-") ? id.substr(4) : id;
      files.push_back(folder / (name + "." + format));
      const std::string file = std::filesystem::absolute(files.back()).string();
      if (format == "png") draw("#only=" + id, height + 40, "--screenshot=" + file);
      if (format == "pdf") draw("#paper=" + id, 2000, "--print-to-pdf=" + file);
      if (format == "svg") {
        const std::string svg = svg_in(svgs, id);
        if (svg.empty()) throw Error(ErrorCode::failure, browser + " drew no " + name);
        write_text_file(files.back(), svg + "\n");
      }
    }
  return files;
}

}  // namespace parsnets::cli
