#pragma once

#include "cli/command.h"
#include "cli/session.h"

namespace headscope::cli {

// One function a command: adds it to the program. The command itself runs while
// the command line is parsed, and writes to the session, which outlives it.
void add_inspect_command(Command& app, Session& session);
void add_relate_command(Command& app, Session& session);
void add_capture_command(Command& app, Session& session);
void add_detect_command(Command& app, Session& session);
void add_compare_command(Command& app, Session& session);
void add_organize_command(Command& app, Session& session);
void add_report_command(Command& app, Session& session);
void add_demo_command(Command& app, Session& session);
void add_prune_command(Command& app, Session& session);
void add_reproduce_command(Command& app, Session& session);
void add_softmax_command(Command& app, Session& session);

}  // namespace headscope::cli
