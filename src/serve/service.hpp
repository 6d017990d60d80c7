#pragma once
// What the server answers, as JSON: a model, its classes and samples, predictions and explanations.

#include <optional>
#include <string>

#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"
#include "serve/edited_bank.hpp"
#include "serve/request_json.hpp"
#include "serve/samples.hpp"

namespace parsnets {

struct ServiceOptions {
  std::string name{};                     ///< of the model file
  std::size_t batch = 4096;               ///< samples of a request, at most
  std::size_t bank_classes = 64;          ///< that a request may add
  std::size_t body_bytes = 16u << 20;     ///< told to clients
  std::uint64_t pixels = 0;               ///< of a photograph; told to clients
  std::optional<FeatureSource> photos{};  ///< the open backbone; none: photographs are not taken
};

/// Const methods may be called from several threads at once; each works in the thread that calls it.
class Service {
 public:
  Service(Model model, ServedSamples samples, ServiceOptions options);

  const RequestLimits& limits() const { return limits_; }
  const ServedSamples& samples() const { return samples_; }

  std::string model_json() const;
  std::string classes_json() const;
  std::string samples_json() const;
  /// The features of a request, n x d: its own or those of samples.
  Matrix<float> features_of(PredictRequest& request) const;
  /// Predictions of n x d features. Throws HttpError, bad_input and usage for what the model cannot do.
  std::string predict(const PredictRequest& request, MatrixView<const float> features) const;
  /// Of one sample. Throws HttpError for any option but the bank.
  std::string explain(const PredictRequest& request, MatrixView<const float> features) const;
  /// Which samples of the server a person should label, without those that the request teaches.
  std::string suggest(const SuggestRequest& request) const;
  /// Every class of the edited bank that attributes describe, as CSV, `class,<attributes>`.
  std::string bank_csv(const BankEdit& edit) const;
  /// The edited bank as DeviceBanks::saved(). Throws also what predictions with this bank throw.
  std::string device_bank(const BankEdit& edit, Precision precision) const;

 private:
  mutable ThreadPool pool_;  ///< of one thread: requests run side by side
  ServedSamples samples_;
  AttributeScale scale_;
  EditedBanks banks_;
  BankNames names_;
  DeviceBanks device_banks_;
  ServiceOptions options_;
  RequestLimits limits_;
};

}  // namespace parsnets
