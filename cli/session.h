#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "headscope/base/ranks.h"

namespace headscope::cli {

/// Where a command writes: results to `out`, everything else to `err`.
struct Session {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;                    ///< `err` is a terminal: a line may be drawn over.
  bool quiet = false;                       ///< No progress.
  std::vector<std::string> arguments = {};  ///< The command as it was typed, without the program's name.
  Ranks& ranks = one_rank();                ///< With whom the work is shared. Only rank 0 prints and writes results.
};

}  // namespace headscope::cli
