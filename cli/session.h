#pragma once

#include <ostream>

#include "headscope/app/option.h"
#include "headscope/base/ranks.h"

namespace headscope::cli {

/// What the command line lets a user say of every command, besides the command's own options.
struct CommonOptions {
  bool json = false;   ///< Print the result as JSON.
  bool quiet = false;  ///< No progress.
};
void describe(CommonOptions& common, OptionList& options);

/// Where the program writes: results to `out`, everything else to `err`.
struct Session {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  ///< `err` is a terminal: a line may be overwritten.
  CommonOptions common = {};
  Ranks& ranks = one_rank();  ///< The ranks that share the work. Only rank 0 prints and writes results.
};

}  // namespace headscope::cli
