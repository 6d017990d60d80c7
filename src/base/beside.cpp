#include "base/beside.hpp"

#include <dlfcn.h>
#include <link.h>

namespace parsnets {

namespace fs = std::filesystem;

fs::path folder_of_this_code() {
  Dl_info info{};
  link_map* loaded = nullptr;
  fs::path file;
  std::error_code ignored;
  if (::dladdr1(reinterpret_cast<void*>(&folder_of_this_code), &info, reinterpret_cast<void**>(&loaded),
                RTLD_DL_LINKMAP) != 0 &&
      loaded != nullptr && loaded->l_name[0] != '\0')
    file = loaded->l_name;
  else
    file = fs::read_symlink("/proc/self/exe", ignored);
  return file.is_absolute() ? file.parent_path() : fs::path();
}

std::vector<fs::path> installed_with_this_code(const std::string& name, std::string& problem) {
  const fs::path folder = folder_of_this_code();
  if (folder.empty()) {
    problem = "no /proc that says where this program is";
    return {};
  }
  std::vector<fs::path> found;
  std::error_code ignored;
  // In the build folder and in a wheel; of an installed program; of an installed library; of a library in the build.
  for (const auto& place : {folder / name, folder / ".." / PARSNETS_MODULE_FOLDER / name, folder / "parsnets" / name,
                            folder / ".." / name, fs::path(PARSNETS_INSTALLED_MODULES) / name})
    if (fs::is_regular_file(place, ignored)) found.push_back(place.lexically_normal());
  if (found.empty()) problem = "none beside " + folder.string();
  return found;
}

}  // namespace parsnets
