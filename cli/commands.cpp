#include "command.hpp"

namespace parsnets::cli {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  for (const auto make : {extract_command,      train_command,       stats_command,         eval_command,
                          predict_command,      explain_command,     calibrate_command,     adapt_command,
                          classes_list_command, classes_add_command, classes_teach_command, classes_remove_command,
                          serve_command,        export_command,      bench_device_command,  bench_command,
                          report_command,       reproduce_command,   reference_command,     data_inspect_command,
                          data_convert_command, data_split_command,  data_synth_command,    info_command,
                          doctor_command,       completion_command,  docs_command})
    commands.push_back(make());
  return commands;
}

OptionTable common_options(CommonOptions& common) {
  OptionTable table;
  table.flag("json", common.json, "print one JSON object on standard output")
      .flag("quiet", common.quiet, "suppress progress; results, warnings and errors stay")
      .unsigned_integer("seed", common.seed, "random seed")
      .integer("threads", common.threads, 0, 1024,
               "number of worker threads (0: one per core); does not affect results");
  return table;
}

std::string group_summary(const std::string& group) {
  return group == "data" ? "inspect, convert, split and generate data sets" : "change the class bank of a model";
}

}  // namespace parsnets::cli
