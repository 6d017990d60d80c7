// Intervals and paired comparisons behind parsnets.h.

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

parsnets_interval parsnets::capi::interval_of(const BootstrapInterval& interval) {
  return {interval.estimate, interval.low, interval.high};
}

namespace {

Outcomes outcomes_from(const parsnets_outcomes* given, const char* name) {
  require(given, name);
  const auto known = read_struct(given, parsnets_outcomes{}, "parsnets_outcomes");
  if (known.reserved != 0) throw Error(ErrorCode::usage, "struct parsnets_outcomes, reserved: expected 0");
  const auto list = [](const auto* values, std::size_t count, const char* field) {
    if (count > 0) require(values, field);
    return std::vector(values, values + count);
  };
  const bool gzsl = known.seen_samples > 0;
  return {known.runs,
          list(known.unseen_labels, known.unseen_samples, "unseen_labels"),
          list(known.seen_labels, known.seen_samples, "seen_labels"),
          list(known.zsl, known.unseen_samples, "zsl"),
          list(known.unseen, gzsl ? known.unseen_samples : 0, "unseen"),
          list(known.seen, known.seen_samples, "seen")};
}

UncertaintyOptions options_from(const parsnets_uncertainty_options* given) {
  const parsnets_uncertainty_options defaults = PARSNETS_UNCERTAINTY_OPTIONS_INIT;
  const auto known = given == nullptr ? defaults : read_struct(given, defaults, "parsnets_uncertainty_options");
  return {known.replicates, known.draws, known.seed};
}

parsnets_difference difference_of(const PairedDifference& result) {
  return {interval_of(result.difference), result.p, result.exact ? 1 : 0, 0};
}

}  // namespace

parsnets_status parsnets_bootstrap_intervals(const parsnets_outcomes* outcomes,
                                             const parsnets_uncertainty_options* options, uint32_t threads,
                                             parsnets_intervals* intervals) {
  return guarded([&] {
    require(intervals, "intervals");
    check_struct_size(intervals->size, "parsnets_intervals");
    ThreadPool pool(checked_threads(threads));
    const auto found = bootstrap_intervals(outcomes_from(outcomes, "outcomes"), pool, options_from(options));
    parsnets_intervals known{};
    known.zsl = interval_of(found.zsl);
    known.u = interval_of(found.u);
    known.s = interval_of(found.s);
    known.h = interval_of(found.h);
    write_struct(intervals, known, "parsnets_intervals");
  });
}

parsnets_status parsnets_compare_paired(const parsnets_outcomes* first, const parsnets_outcomes* second,
                                        const parsnets_uncertainty_options* options, uint32_t threads,
                                        parsnets_comparison* comparison) {
  return guarded([&] {
    require(comparison, "comparison");
    check_struct_size(comparison->size, "parsnets_comparison");
    ThreadPool pool(checked_threads(threads));
    const auto found =
        compare_paired(outcomes_from(first, "first"), outcomes_from(second, "second"), pool, options_from(options));
    parsnets_comparison known{};
    known.zsl = difference_of(found.zsl);
    if (found.has_gzsl) {
      known.u = difference_of(found.u);
      known.s = difference_of(found.s);
      known.h = difference_of(found.h);
    }
    write_struct(comparison, known, "parsnets_comparison");
  });
}
