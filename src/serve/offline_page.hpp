#pragma once
// The playground as one file that needs no server: the page, the runtime as WebAssembly, a device file and samples.

#include <cstddef>
#include <span>
#include <string>

#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"
#include "serve/samples.hpp"

namespace parsnets {

/// The HTML text. The model is an int8 device file in it, its prediction sets stay behind. `name`: of the model file,
/// for the page. Throws what device_file() throws.
std::string offline_page(Model model, ServedSamples samples, const std::string& name, ThreadPool& pool);

}  // namespace parsnets
