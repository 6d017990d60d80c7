// What is linked into portable programs in place of shared libraries and of functions that only a newer glibc has.
#include <dlfcn.h>
#include <fmt/format-inl.h>
#include <link.h>
#include <sys/random.h>

// Of glibc 2.35 and 2.36; libgcc and libstdc++ of GCC 12 call them. Hidden, so that nobody else gets these.

#if defined(__GLIBC__) && defined(DLFO_STRUCT_HAS_EH_DBASE) && !DLFO_STRUCT_HAS_EH_DBASE
/// What is mapped at an address, and where its unwind table is: by the list of all that is loaded.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address, dl_find_object* found) noexcept {
  struct Search {
    ElfW(Addr) at;
    dl_find_object* found;
  } search{reinterpret_cast<ElfW(Addr)>(address), found};
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    const auto& wanted = *static_cast<Search*>(data);
    const ElfW(Phdr)* mapped = nullptr, *table = nullptr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      const ElfW(Addr) begin = info->dlpi_addr + part.p_vaddr;
      if (part.p_type == PT_LOAD && wanted.at >= begin && wanted.at < begin + part.p_memsz) mapped = &part;
      if (part.p_type == PT_GNU_EH_FRAME) table = &part;
    }
    if (mapped == nullptr) return 0;
    if (table == nullptr) return -1;
    *wanted.found = {};
    wanted.found->dlfo_map_start = reinterpret_cast<void*>(info->dlpi_addr + mapped->p_vaddr);
    wanted.found->dlfo_map_end = reinterpret_cast<void*>(info->dlpi_addr + mapped->p_vaddr + mapped->p_memsz);
    wanted.found->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + table->p_vaddr);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

/// For std::random_device.
extern "C" __attribute__((visibility("hidden"))) unsigned arc4random() noexcept {
  unsigned value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
#endif

// What libfmt.so of fmt 9 has: the instances that its header declares, as its own src/format.cc has them.

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;

#ifndef FMT_STATIC_THOUSANDS_SEPARATOR
template FMT_API locale_ref::locale_ref(const std::locale& loc);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
#endif

template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
