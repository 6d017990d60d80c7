#pragma once
// What stands behind the handles of parsnets.h, and the checks that all its functions share. Internal to src/capi.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "base/options.hpp"
#include "eval/uncertainty.hpp"
#include "features/statistics.hpp"
#include "model/prediction.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/model.hpp"
#include "parsnets/parsnets.h"
#include "parsnets/predictor.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/training.hpp"
#include "train/train_options.hpp"

struct parsnets_dataset {
  parsnets::Dataset data;
};

struct parsnets_options {
  parsnets_options();
  parsnets_options(const parsnets_options&) = delete;  // the table refers to the fields
  parsnets_options& operator=(const parsnets_options&) = delete;

  parsnets::TrainSettings settings;
  parsnets::OptionTable table;
  std::string text;  ///< what was last handed out
};

struct parsnets_model {
  explicit parsnets_model(parsnets::Model given);
  parsnets_model(parsnets::Model given, std::string method_name, std::string record_text);

  /// A copy that shares the weights.
  std::unique_ptr<parsnets_model> clone() const;

  /// Made by the first caller after a change of the classes; the others wait for it.
  const parsnets::Predictor& predictor() const;
  void class_added(parsnets::ThreadPool& pool);
  void class_removed();
  void places_moved();
  void record_changed();

  parsnets::Model model;
  std::string method;
  std::string record;  ///< JSON of model.record

 private:
  mutable std::mutex mutex;
  mutable std::atomic<bool> ready{false};
  mutable std::shared_ptr<const parsnets::PreparedClasses> classes;
  mutable std::unique_ptr<const parsnets::Predictor> predictor_;
};

struct parsnets_statistics {
  parsnets::Statistics sums;
};

namespace parsnets::capi {

/// A data set of classes alone: no samples, no split. Throws bad_input as parsnets_dataset_from_arrays.
Dataset classes_from(const parsnets_arrays& arrays);

/// `count` names, all different; throws bad_input. `field` names them.
std::vector<std::string> distinct_names(const char* const* given, std::size_t count, const char* field);

/// The status of the exception being handled; keeps its message for parsnets_last_error().
parsnets_status status_of_exception() noexcept;

/// Throws usage for NULL.
void require(const void* pointer, const char* name);
/// The same for the first of several that is NULL.
void require(std::initializer_list<std::pair<const void*, const char*>> arguments);

/// Runs `body` so that no exception leaves it.
template <class Body>
parsnets_status guarded(Body&& body) noexcept {
  try {
    body();
    return PARSNETS_OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// Runs `make` likewise. `*result` becomes the handle that it returns, or NULL. `name`: of the argument `result`.
template <class Handle, class Make>
parsnets_status created(Handle** result, const char* name, Make&& make) noexcept {
  return guarded([&] {
    require(result, name);
    *result = nullptr;
    *result = make();
  });
}

/// Throws usage unless a struct may have this size: see "Structs" in parsnets.h.
void check_struct_size(std::size_t size, const char* name);

/// A struct of the caller, or NULL, over the defaults, whatever version of the header it comes from.
template <class Struct>
Struct read_struct(const Struct* given, Struct defaults, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, size) == 0);
  if (given == nullptr) return defaults;
  check_struct_size(given->size, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Struct); i < given->size; ++i)
    if (bytes[i] != 0)
      throw Error(ErrorCode::usage,
                  std::string("struct ") + name + ": a field that this version does not know is not zero");
  std::memcpy(&defaults, given, std::min(given->size, sizeof(Struct)));
  return defaults;
}

/// `value` into a struct of the caller: as many fields as it has, zeros in those that are unknown here.
template <class Struct>
void write_struct(Struct* target, Struct value, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, size) == 0);
  check_struct_size(target->size, name);
  value.size = target->size;
  if (value.size > sizeof(Struct))
    std::memset(reinterpret_cast<unsigned char*>(target) + sizeof(Struct), 0, value.size - sizeof(Struct));
  std::memcpy(static_cast<void*>(target), &value, std::min(value.size, sizeof(Struct)));
}

/// Throws usage for a model that was not calibrated for `what`, unknown samples or prediction sets.
[[noreturn]] void throw_not_calibrated(const char* what);

/// A value from `low` to `high`; throws usage for others. `what` names it.
template <class Value>
Value checked(const std::string& what, Value value, std::type_identity_t<Value> low, std::type_identity_t<Value> high) {
  if (value >= low && value <= high) return value;
  throw Error(ErrorCode::usage, fmt::format("{}: expected {} to {}, found {}", what, low, high, value));
}
inline unsigned checked_threads(std::uint32_t threads) { return checked("argument 'threads'", threads, 0, 1024); }

/// Throws usage unless a field that later versions may use is 0. `name`: of its struct.
void check_reserved(std::int64_t reserved, const char* name);

/// What a caller gives to be predicted: count x dimensions.
struct Samples {
  const float* x;
  std::size_t count, dimensions;
  std::uint32_t threads;

  MatrixView<const float> view() const { return {x, count, dimensions}; }
};

/// Throws bad_input unless a number is the model's.
void check_count(const char* name, std::size_t expected, std::size_t found);

/// The samples. Throws for all that is wrong with them for a model of `dimensions` features, or with an output of
/// `columns` values for each, before any work is done.
Samples checked_samples(const Samples& samples, std::size_t dimensions, const void* output, const char* output_name,
                        std::size_t columns);
inline Samples checked_samples(const parsnets_model* model, const Samples& samples, const void* output,
                               const char* output_name, std::size_t columns) {
  require(model, "model");
  return checked_samples(samples, model->model.dimensions, output, output_name, columns);
}

/// Where the k best classes of each sample go, samples x k each; scores and confidences may be NULL.
struct RankedOutput {
  std::size_t k;
  std::int32_t* classes;
  float* scores;
  float* confidences;
};

/// From rows x d features to rows x k best classes.
using Rank = std::function<void(MatrixView<const float> x, ThreadPool& pool, std::span<RankedClass> best)>;

/// Ranks samples in batches; `bytes` is what `rank` takes for a sample. Throws usage unless 1 <= k <= the number of
/// candidates.
void rank_batches(const Samples& input, const Ranking& ranking, std::size_t bytes, const Rank& rank,
                  const RankedOutput& out);

/// The results of an evaluation on `data` into a struct of the caller; the intervals if it has fields for them.
void write_evaluation(const Evaluation& result, const Dataset& data, ThreadPool& pool, parsnets_evaluation* evaluation);

/// An interval as the C ABI gives it.
parsnets_interval interval_of(const BootstrapInterval& interval);

/// Name `index` of `count` things, or nullptr when there are no names; throws usage unless index < count.
const char* optional_name_at(const std::vector<std::string>& names, std::size_t count, std::size_t index,
                             const char* what);
/// Element `index` of a list; throws as above.
inline const char* name_at(const std::vector<std::string>& names, std::size_t index, const char* what) {
  return optional_name_at(names, names.size(), index, what);
}

/// Sets `*name` to what `find` returns. `what`: the name of the argument `handle`.
template <class Handle, class Find>
parsnets_status named(const Handle* handle, const char* what, const char** name, Find&& find) noexcept {
  return guarded([&] {
    require({{handle, what}, {name, "name"}});
    *name = find();
  });
}

/// Throws bad_input unless the text is UTF-8: it could not be stored.
void check_utf8(const char* text, const std::string& what);

/// Forwards progress to a C function.
class CallbackObserver : public ProgressObserver {
 public:
  CallbackObserver(parsnets_progress_function function, void* user) : function_(function), user_(user) {}
  /// What the library takes: nullptr when there is no function.
  ProgressObserver* get() { return function_ == nullptr ? nullptr : this; }
  bool on_progress(const ProgressEvent& event) override;

 private:
  parsnets_progress_function function_;
  void* user_;
};

/// What a call that computes needs.
class Work {
  CallbackObserver observer_;

 public:
  /// Throws usage for more threads than anyone can mean.
  explicit Work(std::uint32_t threads, parsnets_progress_function function = nullptr, void* user = nullptr);
  ProgressObserver* progress() { return observer_.get(); }

  ThreadPool pool;
};

// Samples of the caller in batches, so that intermediate results stay small.

inline constexpr std::size_t kFew = 128;  ///< samples; starting threads for so few would take longer than they save
inline constexpr std::size_t kBytes = std::size_t{32} << 20;  ///< of results at a time before they are handed on

/// Rows at a time so that results of `bytes` each fit; no more than there are, and at least 1.
inline std::size_t batch_of(const Samples& input, std::size_t bytes) {
  return std::clamp<std::size_t>(std::min(kBytes / bytes, input.count), 1, 8192);
}

inline unsigned threads_for(const Samples& input) { return input.count <= kFew ? 1 : input.threads; }

/// Calls body(first, rows) for batches of samples.
template <class Body>
void for_each_batch(const Samples& input, std::size_t rows, const Body& body) {
  for (std::size_t first = 0; first < input.count; first += rows)
    body(first, MatrixView<const float>(input.x + first * input.dimensions, std::min(rows, input.count - first),
                                        input.dimensions));
}

}  // namespace parsnets::capi
