#pragma once

#include <memory>

#include "arrays.h"
#include "headscope/run/run_folder.h"
#include "headscope/run/table.h"

namespace headscope::python {

// Results that Python holds. Arrays on their contents share the ownership.

struct HeldTable {
  std::shared_ptr<const Table> table;
};

struct HeldRun {
  std::shared_ptr<const InMemoryRun> run;
};

}  // namespace headscope::python
