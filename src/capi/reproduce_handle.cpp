// The study of all data sets and the texts of its tables behind parsnets.h.

#include <algorithm>
#include <cstring>

#include "base/json_file.hpp"
#include "capi/handles.hpp"
#include "experiments/reproduce.hpp"

using namespace parsnets;
using namespace parsnets::capi;

parsnets_status parsnets_reproduce(const char* root, const char* out, const parsnets_reproduce_options* options,
                                   uint32_t threads, parsnets_progress_function progress, void* user) {
  return guarded([&] {
    require(root, "root");
    require(out, "out");
    constexpr parsnets_reproduce_options kDefaults = PARSNETS_REPRODUCE_OPTIONS_INIT;
    const auto values = options == nullptr ? kDefaults : read_struct(options, kDefaults, "parsnets_reproduce_options");
    if (values.seeds < 1 || values.seeds > 1000)
      throw Error(ErrorCode::usage,
                  option_name("seeds") + ": expected 1 to 1000, found " + std::to_string(values.seeds));
    if (values.points < 10 || values.points > 100000)
      throw Error(ErrorCode::usage,
                  option_name("points") + ": expected 10 to 100000, found " + std::to_string(values.points));
    ReproduceOptions wanted;
    wanted.root = root;
    wanted.out = out;
    if (values.methods != nullptr) wanted.methods = values.methods;
    wanted.seeds = static_cast<int>(values.seeds);
    wanted.seed = values.seed;
    wanted.ablation = values.ablation != 0;
    wanted.sparsity = values.sparsity != 0;
    wanted.report = values.report != 0;
    wanted.points = values.points;
    if (values.own_rows != nullptr) wanted.rows = values.own_rows;
    CallbackObserver observer(progress, user);
    const BlasGuard turn;
    ThreadPool pool(checked_threads(threads));
    reproduce(wanted, pool, observer.get());
  });
}

parsnets_status parsnets_table_text(const char* json, const char* format, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    require(json, "json");
    require(format, "format");
    require(length, "length");
    const ResultTable table = result_table_from(parse_json(json, "json"), "json");
    const std::string made = to_text(table, table_format_of("table." + std::string(format), "format"));
    *length = made.size();
    if (text == nullptr || capacity == 0) return;
    const std::size_t copied = std::min(made.size(), capacity - 1);
    std::memcpy(text, made.data(), copied);
    text[copied] = '\0';
  });
}
