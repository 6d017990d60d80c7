#pragma once
// Class banks that requests change for themselves: the model of the server with classes added and removed.

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "parsnets/model.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/ranking.hpp"
#include "serve/request_json.hpp"

namespace parsnets {

/// A model with its classes prepared. Const methods may be called from several threads at once.
struct ServedBank {
  Model model;
  std::shared_ptr<const PreparedClasses> prepared;
  Predictor predictor;
  Ranking ranking;                  ///< among all classes
  std::vector<std::string> opened;  ///< of each class, the JSON of its object up to the score

  ServedBank(Model with_classes, std::shared_ptr<const PreparedClasses> classes);
};

/// Keeps the latest banks, so that the same edit is not made twice. Thread-safe.
class EditedBanks {
 public:
  /// Takes the model over.
  EditedBanks(Model model, ThreadPool& pool);

  const ServedBank& original() const { return *original_; }
  /// The bank after the edit: first classes are removed, then added. Throws bad_input as Model does.
  std::shared_ptr<const ServedBank> after(const BankEdit& edit, ThreadPool& pool) const;

  static constexpr std::size_t kKept = 8;  ///< banks

 private:
  std::shared_ptr<const ServedBank> original_;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<std::string, std::shared_ptr<const ServedBank>>> kept_;  ///< the latest first
};

}  // namespace parsnets
