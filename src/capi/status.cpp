// Status codes, messages, versions and the checks of handles.hpp.

#include <fmt/format.h>

#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/machine.hpp"
#include "base/option_name.hpp"
#include "base/text.hpp"
#include "capi/handles.hpp"
#include "parsnets/version.hpp"

namespace parsnets::capi {

namespace {

/// The message of this thread's last failed call.
struct LastError {
  std::string kept, kept_parts;  ///< what `message` and `parts` point to, unless they are literals
  const char* message = "";
  const char* parts = "[]";
};
thread_local LastError last;

std::string json_parts(std::string_view message) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [text, option, value] : message_parts(message))
    if (option.empty())
      list.push_back(text);
    else if (value.empty())
      list.push_back({{"option", option}});
    else
      list.push_back({{"option", option}, {"value", value}});
  // Text from a damaged file may not be UTF-8.
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// For when there may be no memory left. `parts` is the message as JSON.
void keep_literal(const char* message, const char* parts) noexcept {
  last.message = message;
  last.parts = parts;
}

/// Keeps the message that `describe` returns, in which options may be mentioned.
template <class Describe>
void keep(Describe describe) noexcept {
  try {
    const std::string message = describe();
    std::string neutral = with_options(message, neutral_option), parts = json_parts(message);
    last.kept = std::move(neutral);
    last.kept_parts = std::move(parts);
    keep_literal(last.kept.c_str(), last.kept_parts.c_str());
  } catch (...) {
    keep_literal("out of memory while describing an error", "[\"out of memory while describing an error\"]");
  }
}

}  // namespace

parsnets_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    keep([&] { return e.message(option_name); });
    return static_cast<parsnets_status>(e.code());
  } catch (const std::bad_alloc&) {
    keep_literal("out of memory", "[\"out of memory\"]");
  } catch (const std::exception& e) {
    keep([&] { return std::string(e.what()); });
  } catch (...) {
    keep([] { return std::string("an exception of unknown type, perhaps from the progress function"); });
  }
  return PARSNETS_FAILURE;
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr)
    throw Error(ErrorCode::usage, fmt::format("argument '{}': expected a pointer, found NULL", name));
}

void require(std::initializer_list<std::pair<const void*, const char*>> arguments) {
  for (const auto& [pointer, name] : arguments) require(pointer, name);
}

void check_struct_size(std::size_t size, const char* name) {
  constexpr std::size_t kMost = 4096;
  if (size < 2 * sizeof(std::size_t) || size > kMost || size % sizeof(std::size_t) != 0)
    throw Error(ErrorCode::usage,
                fmt::format("struct {}, size: expected sizeof(struct {}), found {}", name, name, size));
}

void check_reserved(std::int64_t reserved, const char* name) {
  if (reserved != 0) throw Error(ErrorCode::usage, fmt::format("struct {}, reserved: expected 0", name));
}

void check_count(const char* name, std::size_t expected, std::size_t found) {
  if (found != expected)
    throw Error(BadInput{"input", name, fmt::format("{}, as in the model", expected), std::to_string(found),
                         "query the model's info again"});
}

Samples checked_samples(const Samples& samples, std::size_t dimensions, const void* output, const char* output_name,
                        std::size_t columns) {
  require(samples.x, "x");
  require(output, output_name);
  checked_threads(samples.threads);
  check_count("dimensions", dimensions, samples.dimensions);
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(float);
  for (const std::size_t width : {samples.dimensions, columns})
    if (const auto values = checked_mul(samples.count, width); !values || *values > most)
      throw Error(
          ErrorCode::usage,
          fmt::format("argument 'samples': expected arrays that fit into memory, found {} x {}", samples.count, width));
  return samples;
}

const char* optional_name_at(const std::vector<std::string>& names, std::size_t count, std::size_t index,
                             const char* what) {
  if (index >= count)
    throw Error(ErrorCode::usage,
                fmt::format("argument 'index': expected an index of {} {}, found {}", count, what, index));
  return names.empty() ? nullptr : names.at(index).c_str();
}

void check_utf8(const char* text, const std::string& what) {
  if (!is_utf8(text)) throw Error(BadInput{what, "", "UTF-8 text", in_quotes(text), "encode it as UTF-8"});
}

bool CallbackObserver::on_progress(const ProgressEvent& event) {
  const std::string stage(event.stage), unit(event.unit);
  const parsnets_progress progress{sizeof(parsnets_progress), stage.c_str(), event.done, event.total, unit.c_str()};
  return function_(&progress, user_) == 0;
}

Work::Work(std::uint32_t threads, parsnets_progress_function function, void* user)
    : observer_(function, user), pool(checked_threads(threads)) {}

}  // namespace parsnets::capi

const char* parsnets_last_error(void) { return parsnets::capi::last.message; }
const char* parsnets_last_error_parts(void) { return parsnets::capi::last.parts; }
const char* parsnets_version(void) { return PARSNETS_VERSION; }
uint32_t parsnets_abi_version(void) { return PARSNETS_ABI_VERSION; }
