// parsnets doctor: is this machine fit for the work, and which libraries does this build run with.

#include <fmt/format.h>

#include "backbone_module.hpp"
#include "base/decoder.hpp"
#include "base/machine.hpp"
#include "base/matrix_product.hpp"
#include "command.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "process_group.hpp"

namespace parsnets::cli {

namespace {

std::string text_of(const std::vector<std::string>& engines) {
  if (engines.empty()) return "none (install libopencv-dnn-dev and libopencv-imgcodecs-dev and run `make photos`)";
  if (engines.size() == 1) return engines[0] + " decodes and runs networks; this build has no ONNX Runtime";
  return fmt::format("{} decodes; {} runs networks", engines[1], engines[0]);
}

}  // namespace

Command doctor_command() {
  Command command{"doctor", "check the machine and list the libraries of this build", "parsnets doctor --json"};
  command.run = [](Context&) {
    const MachineInfo info = machine_info();
    Output output;
    auto& json = output.json;
    json = {{"version", PARSNETS_VERSION}, {"cpu", info.cpu},        {"simd", info.simd}, {"threads", info.cores},
            {"memory_bytes", info.memory}, {"free_bytes", info.free}};
    std::string text =
        fmt::format("parsnets {} ({} build, {})\n", PARSNETS_VERSION, PARSNETS_BUILD_TYPE, PARSNETS_COMPILER);
    const auto line = [&](const std::string& name, const std::string& fact) {
      text += fmt::format("{:<10}{}\n", name, fact);
    };
    line("cpu", info.cpu + ", " + info.simd);
    line("threads", std::to_string(info.cores));
    line("memory", fmt::format("{}, {} free", format_bytes(static_cast<double>(info.memory)),
                               format_bytes(static_cast<double>(info.free))));
    ThreadPool pool;
    const ProductRates rates = measure_products(pool);
    json["products"] = {{"peak_gflops", rates.peak}, {"one_core_gflops", rates.one}, {"all_cores_gflops", rates.all}};
    line("products", fmt::format("{:.0f} GFLOP/s on one core, {:.0f} % of what its {} can do; {:.0f} on {}", rates.one,
                                 100 * rates.share(), info.simd, rates.all, info.cores));
    for (const auto& library : info.libraries) {
      json["libraries"][library.name] = library.version;
      line(library.name, library.version);
    }
    const std::string mpi = mpi_library();
    json["mpi"] = mpi;
    line("MPI", mpi.empty() ? "none (install libopenmpi-dev and openmpi-bin and build again)" : mpi);
    std::string not_loaded;
    const auto engines = backbone_engines(not_loaded);
    json["photos"] = engines;
    line("photos", text_of(engines));
    std::string sandbox;
    try {
      sandbox = Decoder("MAT files", "mat", -1, {64u << 20, 1}).sandbox();
    } catch (const Error& error) {
      sandbox = error.what();
    }
    json["sandbox"] = sandbox;
    line("sandbox", sandbox);
    json["problems"] = nlohmann::ordered_json::array();
    const auto problem = [&](const std::string& what) {
      json["problems"].push_back(what);
      text += "problem: " + what + "\n";
    };
    if (!not_loaded.empty()) problem("the module for photographs does not load: " + not_loaded);
    if (const std::string slow = problem_of(rates, PARSNETS_BUILD_TYPE); !slow.empty()) problem(slow);
    if (info.free > 0 && info.free < 500000000u)
      problem("less than 500 MB of memory are free; use --memory-limit when training");
    if (json["problems"].empty()) text += "no problems found\n";
    output.text = text;
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
