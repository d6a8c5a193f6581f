#pragma once

#include <ostream>

#include "headscope/base/ranks.h"

namespace headscope::cli {

/// Where the program writes: results to `out`, everything else to `err`.
struct Session {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;      ///< `err` is a terminal: a line may be overwritten.
  bool quiet = false;         ///< No progress.
  Ranks& ranks = one_rank();  ///< The ranks that share the work. Only rank 0 prints and writes results.
};

}  // namespace headscope::cli
