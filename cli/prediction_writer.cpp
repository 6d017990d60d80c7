#include "prediction_writer.hpp"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "feature_input.hpp"

namespace parsnets::cli {

bool writes_json(const std::filesystem::path& out, bool json) {
  return out.extension() == ".json" || (json && out.extension() != ".csv");
}

PredictionWriter::PredictionWriter(const std::filesystem::path& out, bool json, const std::vector<std::string>& names,
                                   std::span<const std::uint8_t> seen)
    : json_(json), names_(names), seen_(seen) {
  if (!out.empty()) {
    check_writable(out);
    make_folder_of(out);
    file_.emplace(out);
  }
  text_ = json_ ? "{\n  \"predictions\": [\n" : "sample,rank,class,confidence\n";
}

void PredictionWriter::add(std::span<const RankedClass> top) {
  if (json_) {
    nlohmann::ordered_json item{{"sample", samples_}, {"top", nlohmann::ordered_json::array()}};
    for (const auto& one : top) {
      const auto c = static_cast<std::size_t>(one.class_index);
      item["top"].push_back({{"class", names_[c]}, {"confidence", one.confidence}, {"seen", seen_[c] != 0}});
    }
    text_ += fmt::format("{}    {}", samples_ > 0 ? ",\n" : "", item.dump());
  } else {
    for (std::size_t i = 0; i < top.size(); ++i)
      text_ += fmt::format("{},{},{},{:.4f}\n", samples_, i + 1,
                           csv_cell(names_[static_cast<std::size_t>(top[i].class_index)]), top[i].confidence);
  }
  ++samples_;
}

void PredictionWriter::flush() {
  if (file_)
    file_->write(text_);
  else
    std::cout << text_ << std::flush;
  text_.clear();
}

void PredictionWriter::finish() {
  if (json_) text_ += samples_ > 0 ? "\n  ]\n}\n" : "  ]\n}\n";
  flush();
  if (file_) file_->commit();
}

}  // namespace parsnets::cli
