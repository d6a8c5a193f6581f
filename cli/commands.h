#pragma once

#include "cli/session.h"

namespace CLI {
class App;
}

namespace headscope::cli {

// One function a command: adds it to the program. The command itself runs while
// the command line is parsed, and writes to the session, which outlives it.
void add_inspect_command(CLI::App& app, Session& session);
void add_relate_command(CLI::App& app, Session& session);
void add_capture_command(CLI::App& app, Session& session);
void add_detect_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_organize_command(CLI::App& app, Session& session);
void add_report_command(CLI::App& app, Session& session);
void add_demo_command(CLI::App& app, Session& session);
void add_prune_command(CLI::App& app, Session& session);
void add_reproduce_command(CLI::App& app, Session& session);
void add_softmax_command(CLI::App& app, Session& session);

}  // namespace headscope::cli
