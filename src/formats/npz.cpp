// Reads the members of .npz archives with libzip.

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>

#include "base/file.hpp"
#include "base/text.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::string_view kEnding = ".npy";
constexpr const char* kGetArchiveAgain = "the archive is truncated or damaged: copy or write it again";
constexpr std::uint64_t kMaxDeflateRatio = 1032, kDeflateSlack = 64;

struct CloseArchive {
  void operator()(zip_t* archive) const {
    if (archive != nullptr) zip_discard(archive);
  }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::shared_ptr<zip_t>;

Archive open_archive(const std::filesystem::path& file) {
  const InputFile checked(file);  // says what is wrong with the path itself
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_RDONLY, &code), CloseArchive());
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(
        BadInput{file.string(), "zip directory", "an .npz archive as numpy.savez writes it", why, kGetArchiveAgain});
  }
  return archive;
}

// Names in the order of the archive; throws for one that occurs twice, since readers disagree on which one counts.
std::vector<std::string> entry_names(zip_t* archive, const std::filesystem::path& file) {
  std::vector<std::string> names;
  const zip_int64_t entries = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    if (name == nullptr)
      throw Error(BadInput{file.string(), fmt::format("zip directory, entry {}", i), "a name",
                           zip_error_strerror(zip_get_error(archive)), kGetArchiveAgain});
    names.emplace_back(name);
  }
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw Error(BadInput{file.string(), "member " + in_quotes(*twice), "unique member names", "a duplicate",
                         "write the archive again with numpy.savez"});
  return names;
}

bool is_array(const std::string& name) { return name.size() > kEnding.size() && name.ends_with(kEnding); }
std::string array_name(const std::string& name) { return name.substr(0, name.size() - kEnding.size()); }

/// The file is closed before its archive.
struct Member {
  Archive archive;
  std::unique_ptr<zip_file_t, CloseMember> file;
};

NpySource open_entry(const Archive& archive, const std::filesystem::path& file, zip_uint64_t index,
                     const std::string& member) {
  const std::string name = fmt::format("{}: member {}", file.string(), in_quotes(member));
  const auto zip_error = [&] { return std::string(zip_error_strerror(zip_get_error(archive.get()))); };

  zip_stat_t about;
  zip_stat_init(&about);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(archive.get(), index, 0, &about) != 0 || (about.valid & kNeeded) != kNeeded)
    throw Error(BadInput{name, "zip directory", "the member's size", zip_error(), kGetArchiveAgain});
  if ((about.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && about.encryption_method != ZIP_EM_NONE)
    throw Error(BadInput{name, "", "an unencrypted member", "an encrypted one", "decrypt the archive first"});
  if (about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE)
    throw Error(BadInput{name, "compression", "stored or deflated", fmt::format("zip method {}", about.comp_method),
                         "write it with numpy.savez or numpy.savez_compressed"});
  const std::uint64_t packed = about.comp_size;
  const std::uint64_t without_overflow = std::min<std::uint64_t>(packed, UINT64_MAX / (2 * kMaxDeflateRatio));
  const std::uint64_t bound =
      about.comp_method == ZIP_CM_STORE ? packed : without_overflow * kMaxDeflateRatio + kDeflateSlack;
  if (packed > std::filesystem::file_size(file) || about.size > bound)
    throw Error(BadInput{name, "declared size",
                         fmt::format("at most the {} bytes that {} packed bytes can hold", bound, packed),
                         fmt::format("{} bytes", about.size), kGetArchiveAgain});
  const auto opened = std::make_shared<Member>();
  opened->file.reset(zip_fopen_index(archive.get(), index, 0));
  if (!opened->file) throw Error(BadInput{name, "", "a readable zip member", zip_error(), kGetArchiveAgain});
  opened->archive = archive;
  const auto damaged = [name, opened](std::string_view field) {
    throw Error(BadInput{name, std::string(field), "an intact zip member",
                         zip_error_strerror(zip_file_get_error(opened->file.get())), kGetArchiveAgain});
  };
  const auto read = [name, opened, damaged](void* destination, std::size_t bytes, std::string_view field) {
    auto* out = static_cast<char*>(destination);
    for (std::size_t done = 0; done < bytes;) {
      const zip_int64_t got = zip_fread(opened->file.get(), out + done, bytes - done);
      if (got < 0) damaged(field);
      if (got == 0)
        throw Error(BadInput{name, std::string(field), fmt::format("{} bytes", bytes),
                             fmt::format("the end of the member after {}", done), kGetArchiveAgain});
      done += static_cast<std::size_t>(got);
    }
  };
  const auto finish = [name, opened, damaged, size = about.size] {
    char extra = 0;  // libzip compares the checksum when it meets the end of the member
    const zip_int64_t got = zip_fread(opened->file.get(), &extra, 1);
    if (got < 0) damaged("checksum");
    if (got > 0) throw Error(BadInput{name, "values", fmt::format("{} bytes", size), "more", kGetArchiveAgain});
  };
  return {name, about.size, read, finish};
}

}  // namespace

std::vector<std::string> npz_members(const std::filesystem::path& file) {
  std::vector<std::string> members;
  for (const auto& name : entry_names(open_archive(file).get(), file))
    if (is_array(name)) members.push_back(array_name(name));
  return members;
}

void visit_npz(const std::filesystem::path& file,
               const std::function<void(const std::string& member, const NpySource& source)>& take) {
  const Archive archive = open_archive(file);
  const auto names = entry_names(archive.get(), file);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (is_array(names[i])) take(array_name(names[i]), open_entry(archive, file, i, array_name(names[i])));
}

NpySource open_npz_member(const std::filesystem::path& file, const std::string& member) {
  const Archive archive = open_archive(file);
  const auto names = entry_names(archive.get(), file);
  const auto place = std::find(names.begin(), names.end(), member + std::string(kEnding));
  if (place != names.end()) return open_entry(archive, file, static_cast<zip_uint64_t>(place - names.begin()), member);
  std::string present;
  for (const auto& name : names)
    if (is_array(name) && present.size() < 200) present += (present.empty() ? "" : ", ") + in_quotes(array_name(name));
  throw Error(BadInput{file.string(), "member " + in_quotes(member), "an array of that name",
                       present.empty() ? "no arrays" : "only " + present,
                       "save it with numpy.savez(file, name=array)"});
}

}  // namespace parsnets
