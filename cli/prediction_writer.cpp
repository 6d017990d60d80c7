
#include "prediction_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace parsnets::cli {

namespace {

constexpr std::size_t kWidestClass = 40, kWidestSample = 60;  // of the columns of a table

std::string percent(float confidence) { return fmt::format("{:.1f} %", 100 * confidence); }

bool starts_character(char byte) { return (byte & 0xC0) != 0x80; }  // in UTF-8

/// Characters, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

/// With spaces behind it, up to `width` characters.
std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

}  // namespace

std::string attribute_name(const std::vector<std::string>& names, std::size_t a) {
  return a < names.size() ? names[a] : fmt::format("attribute {}", a + 1);
}

PredictionWriter::PredictionWriter(const std::filesystem::path& out, PredictionFormat format, const Wanted& wanted,
                                   const Recogniser& model, std::span<const ListedImage> photos)
    : format_(format), wanted_(wanted), model_(model), images_(!photos.empty()), why_(wanted.reject && model.why) {
  if (!out.empty()) {
    check_writable(out);
    make_folder_of(out);
    file_.emplace(out);
  }
  switch (format_) {
    case PredictionFormat::csv:
      text_ = fmt::format("sample,{}rank,class,confidence{}{}\n", images_ ? "image," : "",
                          wanted_.reasons > 0 ? ",because" : "", why_ ? ",why" : "");
      break;
    case PredictionFormat::json:
      text_ = fmt::format("{{\n{}  \"predictions\": [\n",
                          wanted_.coverage ? fmt::format("  \"coverage\": {},\n", *wanted_.coverage) : "");
      break;
    case PredictionFormat::table:
      for (const auto& photo : photos)
        sample_width_ = std::max(sample_width_, std::min(width_of(escaped(photo.name)), kWidestSample));
      for (const auto& name : model_.names)
        class_width_ = std::max(class_width_, std::min(width_of(name), kWidestClass));
      text_ =
          fmt::format("{}  {}  confidence  {}\n", padded(images_ ? "image" : "sample", sample_width_),
                      padded("class", class_width_), wanted_.coverage ? "other classes of the set" : "next classes");
  }
}

void PredictionWriter::add(const Prediction& prediction) {
  if (format_ == PredictionFormat::csv)
    add_csv(prediction);
  else if (format_ == PredictionFormat::json)
    add_json(prediction);
  else
    add_table(prediction);
  is_first_ = false;
}

std::string PredictionWriter::reason_text(const Prediction& prediction) const {
  std::string text;
  const auto add = [&](const std::string& name, double amount) {
    text += fmt::format("{}{} {:+.4f}", text.empty() ? "" : "; ", name, amount);
  };
  for (const Contribution& one : prediction.reasons)
    if (one.amount > 0) add(attribute_name(model_.attribute_names, one.index), one.amount);
  const BesideAttributes& beside = prediction.beside;
  if (std::abs(beside.examples) > 1e-6) add("training samples", beside.examples);
  if (beside.calibration != 0) add("gamma", beside.calibration);
  return text;
}

void PredictionWriter::add_csv(const Prediction& prediction) {
  const std::string start =
      fmt::format("{},{}", prediction.sample, images_ ? csv_cell(prediction.image) + "," : std::string());
  if (prediction.verdict != nullptr && prediction.verdict->is_unknown) {
    text_ += fmt::format("{}1,unknown,{}{}\n", start, wanted_.reasons > 0 ? "," : "",
                         why_ ? "," + csv_cell(prediction.why) : "");
    return;
  }
  for (std::size_t i = 0; i < prediction.classes.size(); ++i) {
    const auto& one = prediction.classes[i];
    text_ += fmt::format("{}{},{},{:.4f}", start, i + 1,
                         csv_cell(model_.names[static_cast<std::size_t>(one.class_index)]), one.confidence);
    if (wanted_.reasons > 0) text_ += "," + (i == 0 ? csv_cell(reason_text(prediction)) : "");
    text_ += why_ ? ",\n" : "\n";
  }
}

void PredictionWriter::add_json(const Prediction& prediction) {
  nlohmann::ordered_json item{{"sample", prediction.sample}};
  if (images_) item["image"] = prediction.image;
  if (prediction.verdict != nullptr) {
    item["unknown"] = prediction.verdict->is_unknown;
    item["known_score"] = prediction.verdict->known_score;
    if (!prediction.why.empty()) item["why"] = prediction.why;
  }
  auto& list = item[wanted_.coverage ? "set" : "top"] = nlohmann::ordered_json::array();
  for (const auto& one : prediction.classes) {
    const auto c = static_cast<std::size_t>(one.class_index);
    list.push_back({{"class", model_.names[c]}, {"confidence", one.confidence}, {"seen", model_.seen[c] != 0}});
  }
  if (wanted_.reasons > 0) {
    item["runner_up"] = model_.names[static_cast<std::size_t>(prediction.runner_up)];
    auto& because = item["because"] = nlohmann::ordered_json::array();
    for (const Contribution& one : prediction.reasons)
      if (one.amount > 0)
        because.push_back(
            {{"attribute", attribute_name(model_.attribute_names, one.index)}, {"contribution", one.amount}});
    item["examples"] = prediction.beside.examples;
    item["calibration"] = prediction.beside.calibration;
  }
  text_ += fmt::format("{}    {}", is_first_ ? "" : ",\n",
                       item.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void PredictionWriter::add_table(const Prediction& prediction) {
  const bool unknown = prediction.verdict != nullptr && prediction.verdict->is_unknown;
  const std::string sample = images_ ? escaped(prediction.image) : std::to_string(prediction.sample);
  const auto name = [this](const RankedClass& one) { return model_.names[static_cast<std::size_t>(one.class_index)]; };
  std::string next;
  for (std::size_t i = unknown ? 0 : 1; i < prediction.classes.size(); ++i)
    next += fmt::format("{}{} {}", next.empty() ? "" : ", ", name(prediction.classes[i]),
                        percent(prediction.classes[i].confidence));
  std::string line = fmt::format("{}  {}  {:>10}", padded(sample, sample_width_),
                                 padded(unknown ? "unknown" : name(prediction.classes.front()), class_width_),
                                 unknown ? "" : percent(prediction.classes.front().confidence));
  const std::string indent(sample_width_ + class_width_ + 16, ' ');
  if (!next.empty()) line += (unknown ? "  nearest: " : "  ") + next;
  text_ += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  if (!prediction.why.empty()) text_ += indent + prediction.why + "\n";
  if (const std::string because = reason_text(prediction); !because.empty() && !unknown)
    text_ += fmt::format("{}because {} (against {})\n", indent, because,
                         model_.names[static_cast<std::size_t>(prediction.runner_up)]);
}

void PredictionWriter::flush() {
  if (file_)
    file_->write(text_);
  else
    std::cout << text_ << std::flush;
  text_.clear();
  begun_ = true;
}

bool PredictionWriter::break_off() {
  if (file_ || format_ != PredictionFormat::json || !begun_) return false;
  text_ += "\n  ]";
  flush();
  return true;
}

void PredictionWriter::finish(std::span<const SampleImage> unreadable) {
  if (format_ == PredictionFormat::json) {
    text_ += is_first_ ? "  ]" : "\n  ]";
    if (images_) {
      auto list = nlohmann::ordered_json::array();
      for (const auto& one : unreadable)
        list.push_back({{"sample", one.sample}, {"image", one.image}, {"problem", one.problem}});
      text_ += ",\n  \"unreadable\": " + list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    text_ += "\n}\n";
  }
  flush();
  if (file_) file_->commit();
}

std::string shortened(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; characters < width; ++end)
    if (starts_character(text[end])) ++characters;
  return text.substr(0, end - 1) + "…";
}

}  // namespace parsnets::cli
