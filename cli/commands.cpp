#include "command.hpp"

namespace parsnets::cli {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  for (const auto make :
       {train_command,     stats_command,        eval_command,         predict_command,       explain_command,
        adapt_command,     classes_list_command, classes_add_command,  classes_teach_command, classes_remove_command,
        export_command,    bench_device_command, bench_command,        report_command,        reproduce_command,
        reference_command, data_inspect_command, data_convert_command, data_split_command,    data_synth_command,
        info_command,      doctor_command,       completion_command,   docs_command})
    commands.push_back(make());
  return commands;
}

}  // namespace parsnets::cli
