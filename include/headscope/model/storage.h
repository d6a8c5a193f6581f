#pragma once

namespace headscope {

/// Order of a weight matrix's axes.
enum class Storage {
  kOutIn,  ///< [out, in], as nn.Linear stores it: y = x W^T.
  kInOut,  ///< [in, out], as GPT-2's Conv1D stores it: y = x W.
};

}  // namespace headscope
