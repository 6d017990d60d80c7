#include "serve/offline_page.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "parsnets/device.hpp"
#include "serve/edited_bank.hpp"
#include "serve/playground_files.hpp"
#include "serve/service.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

std::string_view text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Json picture_json(const Picture& picture) { return {{"type", picture.type}, {"bytes", base64(picture.bytes)}}; }

/// Predicted attributes in the units of the user: slope·v + offset.
Json scale_json(const Model& model) {
  const AttributeScale scale(model);
  std::vector<float> offset(model.attributes(), 0.0f), slope(model.attributes(), 1.0f);
  scale.to_user(offset);
  scale.to_user(slope);
  for (std::size_t j = 0; j < slope.size(); ++j) slope[j] -= offset[j];
  return {{"slope", slope}, {"offset", offset}};
}

}  // namespace

std::string offline_page(Model model, ServedSamples samples, Json backbone, const std::string& name, ThreadPool& pool) {
  const std::vector<std::byte> device = device_file(model, Precision::int8, 0, pool);
  ServiceOptions options;
  options.name = name;
  Json scale = scale_json(model);
  const Service service(std::move(model), std::move(samples), std::move(options));
  const ServedSamples& shown = service.samples();
  Json data{{"model", Json::parse(service.model_json())},
            {"classes", Json::parse(service.classes_json())},
            {"samples", Json::parse(service.samples_json())},
            {"scale", std::move(scale)},
            {"features", base64(text_of_bytes(std::as_bytes(shown.features.values())))},
            {"device", base64(text_of_bytes(device))},
            {"plain", base64(parsnets_wasm())},
            {"simd", base64(parsnets_simd_wasm())}};
  data["model"]["sets"] = false;
  data["model"]["offline"] = true;
  data["model"]["photos"] = !backbone.is_null();
  data["backbone"] = std::move(backbone);
  if (!shown.sheet.bytes.empty()) data["sheet"] = picture_json(shown.sheet);
  for (const Picture& picture : shown.pictures) data["pictures"].push_back(picture_json(picture));
  std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace), safe;
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);  // no tag can end the script
  std::string page(offline_html());
  static constexpr std::string_view kPlace = "@PAGE_DATA@";
  page.replace(page.find(kPlace), kPlace.size(), safe);
  return page;
}

}  // namespace parsnets
