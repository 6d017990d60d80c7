#pragma once
// Names in edits of the bank: of attributes, of classes to start from, of classes to remove.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsnets/model.hpp"
#include "serve/request_json.hpp"

namespace parsnets {

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

  const Model& model_;
  std::vector<std::string> attributes_;
  std::unordered_map<std::string_view, std::size_t> attribute_places_, class_places_;
};

}  // namespace parsnets
