#pragma once
// The playground as one file that needs no server: the page, the runtime as WebAssembly, a device file and samples.

#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"
#include "serve/samples.hpp"

namespace parsnets {

/// The HTML text. The model is an int8 device file in it, its prediction sets stay behind. `backbone`: what
/// photo_reader.js reads; null: the page takes no photographs. `name`: of the model file, for the page. Throws what
/// device_file() throws.
std::string offline_page(Model model, ServedSamples samples, nlohmann::ordered_json backbone, const std::string& name,
                         ThreadPool& pool);

}  // namespace parsnets
