#pragma once

/// \mainpage
///
/// headscope shows what the attention heads of a transformer do to each other. This header is the whole public
/// interface. There is one request per command of the program; `run` executes it:
///
/// \code
/// headscope::RelateRequest request;
/// request.model.path = "models/gpt2";
/// const auto outcome = headscope::run(request);
/// for (const headscope::Edge& edge : outcome->result.edges) { ... }
/// \endcode
///
/// Results go to a folder if `request.output.run` is set, and stay in memory otherwise. Errors are exceptions of type
/// headscope::Error, with a kind. A headscope::Context carries progress, cancellation and ranks.
///
/// The version of this interface is that of the program. While it starts with 0, a new minor version may change it.

#include "headscope/app/capture.h"   // IWYU pragma: export
#include "headscope/app/command.h"   // IWYU pragma: export
#include "headscope/app/compare.h"   // IWYU pragma: export
#include "headscope/app/detect.h"    // IWYU pragma: export
#include "headscope/app/families.h"  // IWYU pragma: export
#include "headscope/app/inspect.h"   // IWYU pragma: export
#include "headscope/app/organize.h"
#include "headscope/app/patch.h"         // IWYU pragma: export
#include "headscope/app/prune.h"         // IWYU pragma: export
#include "headscope/app/relate.h"        // IWYU pragma: export
#include "headscope/app/report.h"        // IWYU pragma: export
#include "headscope/app/reproduce.h"     // IWYU pragma: export
#include "headscope/app/softmax.h"       // IWYU pragma: export
#include "headscope/base/context.h"      // IWYU pragma: export
#include "headscope/base/error.h"        // IWYU pragma: export
#include "headscope/run/run_contents.h"  // IWYU pragma: export
