#include "serve/edited_bank.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/copy.hpp"
#include "serve/json_reader.hpp"

namespace parsnets {

namespace {

/// Equal for equal edits alone.
std::string key_of(const BankEdit& edit) {
  std::string key;
  const auto add_text = [&](const std::string& text) { key += fmt::format("{}:{}", text.size(), text); };
  for (const auto& name : edit.remove) add_text(name);
  key += '|';
  for (const auto& added : edit.add) {
    add_text(added.name);
    key.append(reinterpret_cast<const char*>(added.attributes.data()), added.attributes.size() * sizeof(float));
  }
  return key;
}

}  // namespace

ServedBank::ServedBank(Model with_classes, std::shared_ptr<const PreparedClasses> classes)
    : model(std::move(with_classes)), prepared(std::move(classes)), predictor(model, prepared), ranking(model) {
  for (std::size_t c = 0; c < model.classes.names.size(); ++c)
    opened.push_back(fmt::format("{{\"name\":{},\"seen\":{},\"score\":", json_string(model.classes.names[c]),
                                 model.classes.seen[c] != 0));
}

EditedBanks::EditedBanks(Model model, ThreadPool& pool) {
  auto prepared = std::make_shared<const PreparedClasses>(model.prepare_classes(pool));
  original_ = std::make_shared<const ServedBank>(std::move(model), std::move(prepared));
}

std::shared_ptr<const ServedBank> EditedBanks::after(const BankEdit& edit, ThreadPool& pool) const {
  if (edit.empty()) return original_;
  const std::string key = key_of(edit);
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, key, &decltype(kept_)::value_type::first);
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front().second;
    }
  }
  std::shared_ptr<const ServedBank> made;
  if (edit.add.empty()) {
    Model model = shared_copy(original_->model);
    model.remove_classes(edit.remove);
    auto prepared = std::make_shared<const PreparedClasses>(model.prepare_classes(pool));
    made = std::make_shared<const ServedBank>(std::move(model), std::move(prepared));
  } else {
    const auto before = after({{}, edit.remove}, pool);  // kept, too: while a class is edited, the others stay
    Model model = shared_copy(before->model);
    std::vector<std::string> names;
    Matrix<float> values(edit.add.size(), model.attributes());
    for (const auto& added : edit.add) {
      std::ranges::copy(added.attributes, values.row(names.size()).begin());
      names.push_back(added.name);
    }
    model.add_classes(names, values.view());
    auto prepared = std::make_shared<const PreparedClasses>(model.prepare_added_classes(*before->prepared, pool));
    made = std::make_shared<const ServedBank>(std::move(model), std::move(prepared));
  }
  std::lock_guard lock(mutex_);
  kept_.emplace_front(key, made);
  if (kept_.size() > kKept) kept_.pop_back();
  return made;
}

}  // namespace parsnets
