#pragma once
// The tables of training options: one per method family, and what is common to all. Flags, config files, Python
// parameters, docs/options.md, model files and searches are read off them.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// Methods by name, as options and tables spell them, in the order in which help lists them.
std::vector<std::string> method_names();
/// The default options of a method. Throws usage for a name that is none.
MethodOptions method_options(std::string_view name);
std::string method_name(const MethodOptions& method);

/// All options of the method that `options` has, with a row `method` that cannot be assigned. Refers to `options`.
OptionTable train_option_table(TrainOptions& options);

/// The method and all options as a model file keeps them, and back. `file` is named in errors (bad_input).
std::string options_text(const TrainOptions& options);
TrainOptions options_from_text(const std::string& text, const std::string& file);

/// The options that have other values than by default, with these values as texts.
std::map<std::string, std::string> changed_options(const TrainOptions& options);

/// Options of all methods at once, as flags, config files and bindings set them in any order; `method` says which
/// count.
struct TrainSettings {
  std::string method = "parsnets";
  ParsNetsOptions parsnets;
  PaperOptions paper;
  BaselineOptions baseline;
  CalibrationOptions calibration;
  SearchOptions search;
  RunOptions run;
  std::set<std::string> given;  ///< options of methods that were assigned by name, whatever the value

  /// Those of the method. Throws usage naming the options that were given and that the method does not have.
  TrainOptions options() const;
  /// The same, but options of other methods are left out.
  TrainOptions options_of_method() const;
  /// The options that only other methods have.
  std::vector<std::string> options_of_others() const;
  void set(const TrainOptions& options);
};
/// A row per option of any method; an option that several methods have is set in all of them. Refers to `settings`.
OptionTable train_option_table(TrainSettings& settings);

/// The options that methods have beside those that are common to all, for help and documentation.
struct MethodFamily {
  std::string title;
  std::vector<std::string> methods;
  OptionTable options;  ///< refers to nothing that ends
};
std::vector<MethodFamily> method_families();

/// What is smaller than in the paper, since the features have too few dimensions; "" if nothing.
std::string reduced_paper(const TrainOptions& resolved, const Dataset& data);

/// Reports every impossible combination of resolved options at once; throws usage.
void validate(const TrainOptions& options);

FeatureScaling feature_scaling_of(const MethodOptions& method);
SemanticOptions& semantics_of(MethodOptions& method);
const SemanticOptions& semantics_of(const MethodOptions& method);

}  // namespace parsnets
