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
                                   std::span<const std::uint8_t> seen, std::optional<double> coverage)
    : json_(json), names_(names), seen_(seen), classes_key_(coverage ? "set" : "top") {
  if (!out.empty()) {
    check_writable(out);
    make_folder_of(out);
    file_.emplace(out);
  }
  if (!json_)
    text_ = "sample,rank,class,confidence\n";
  else
    text_ =
        fmt::format("{{\n{}  \"predictions\": [\n", coverage ? fmt::format("  \"coverage\": {},\n", *coverage) : "");
}

void PredictionWriter::add(std::span<const RankedClass> classes, const Verdict* verdict) {
  if (json_) {
    nlohmann::ordered_json item{{"sample", samples_}};
    if (verdict != nullptr) {
      item["unknown"] = verdict->is_unknown;
      item["known_score"] = verdict->known_score;
    }
    auto& list = item[classes_key_] = nlohmann::ordered_json::array();
    for (const auto& one : classes) {
      const auto c = static_cast<std::size_t>(one.class_index);
      list.push_back({{"class", names_[c]}, {"confidence", one.confidence}, {"seen", seen_[c] != 0}});
    }
    text_ += fmt::format("{}    {}", samples_ > 0 ? ",\n" : "", item.dump());
  } else if (verdict != nullptr && verdict->is_unknown) {
    text_ += fmt::format("{},1,unknown,\n", samples_);
  } else {
    for (std::size_t i = 0; i < classes.size(); ++i)
      text_ += fmt::format("{},{},{},{:.4f}\n", samples_, i + 1,
                           csv_cell(names_[static_cast<std::size_t>(classes[i].class_index)]), classes[i].confidence);
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
