#pragma once
// Class banks that requests change for themselves: the model of the server with classes added and removed.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/prediction.hpp"
#include "parsnets/device.hpp"
#include "parsnets/model.hpp"
#include "parsnets/predictor.hpp"
#include "serve/request_json.hpp"

namespace parsnets {

// Predicted attributes in the scale in which classes are described.

/// A model predicts attributes as it scales them for training. Of each attribute, the line through the seen classes
/// that leads back, by least squares: exact where scaling is one line for all classes.
class AttributeScale {
 public:
  explicit AttributeScale(const Model& model);
  /// m predicted attributes in place.
  void to_user(std::span<float> predicted) const;

 private:
  std::vector<float> slope_, offset_;  ///< m
};

/// A model with its classes prepared. Const methods may be called from several threads at once.
struct ServedBank {
  Model model;
  std::shared_ptr<const PreparedClasses> prepared;
  Predictor predictor;
  Ranking ranking;                  ///< among all classes
  std::vector<std::string> opened;  ///< of each class, the JSON of its object up to the score

  ServedBank(Model with_classes, PreparedClasses classes);
};

/// Keeps the latest banks, so that the same edit is not made twice. Thread-safe.
class EditedBanks {
 public:
  /// Takes the model over. `samples`: the features of the samples that edits teach, which must outlive it.
  EditedBanks(Model model, ThreadPool& pool, MatrixView<const float> samples = {});

  const ServedBank& original() const { return *original_; }
  /// The bank after the edit: first classes are removed, then added, then taught. Throws bad_input as Model does.
  std::shared_ptr<const ServedBank> after(const BankEdit& edit, ThreadPool& pool) const;

  static constexpr std::size_t kKept = 8;  ///< banks

 private:
  std::shared_ptr<const ServedBank> original_;
  MatrixView<const float> samples_;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<std::string, std::shared_ptr<const ServedBank>>> kept_;  ///< the latest first
};

// Names in edits of the bank: of attributes, of classes to start from, of classes to remove.

/// Const methods may be called from several threads at once.
class BankNames {
 public:
  /// `model` must outlive it.
  explicit BankNames(const Model& model);

  const std::vector<std::string>& attributes() const { return attributes_; }  ///< m; made up if the model has none
  /// The edit with all attributes of each class that it adds, in the order of the model. Throws HttpError 400 that
  /// names the place in the request: names that the model does not have, names that it has already or that come twice,
  /// and attributes that are missing.
  BankEdit resolved(BankEdit edit) const;

 private:
  std::vector<float> start_of(const AddedClass& added, const std::string& field) const;
  void name_attributes(AddedClass& added, const std::string& field) const;
  void check_removed(const BankEdit& edit) const;
  void check_added(const BankEdit& edit) const;
  void check_taught(const BankEdit& edit) const;

  const Model& model_;
  std::vector<std::string> attributes_;
  std::unordered_map<std::string_view, std::size_t> attribute_places_, class_places_;
};

// Class banks for device files of the served model.

/// Makes the device file of a precision when it is first asked for, and keeps it. Thread-safe.
class DeviceBanks {
 public:
  /// `model` must outlive it.
  explicit DeviceBanks(const Model& model) : model_(model) {}

  /// Whether there can be banks: the model is one of class space.
  bool possible() const { return model_.direction == Direction::forward && model_.targets == Targets::classes; }
  /// The bytes that pnrt_bank_load() takes on a device with the file that export_model() makes of the model in this
  /// precision, all else by default: its classes after the edit. Throws HttpError 400 unless possible(), bad_input for
  /// classes that the runtime cannot take.
  std::string saved(const BankEdit& edit, Precision precision, ThreadPool& pool) const;

 private:
  const DeviceModel& device(Precision precision, ThreadPool& pool) const;

  const Model& model_;
  mutable std::mutex mutex_;
  mutable std::map<Precision, std::unique_ptr<const DeviceModel>> devices_;
};

}  // namespace parsnets
