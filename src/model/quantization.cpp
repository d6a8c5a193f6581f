#include "model/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// Tensors that occur only in packed layouts. AWQ and GPTQ share `qweight`; only GPTQ has `g_idx`.
struct Sign {
  std::string_view suffix;
  std::string_view method;
};
constexpr std::array kSigns = {
    Sign{".g_idx", "GPTQ"},
    Sign{".qweight", "AWQ or GPTQ"},
    Sign{".SCB", "bitsandbytes (8-bit)"},
    Sign{".absmax", "bitsandbytes (4-bit)"},
    Sign{".quant_state.bitsandbytes__nf4", "bitsandbytes (NF4)"},
    Sign{".quant_state.bitsandbytes__fp4", "bitsandbytes (FP4)"},
    Sign{".W_q", "HQQ"},
    Sign{".weight_packed", "compressed-tensors"},
    Sign{".weight_scale", "compressed-tensors or fbgemm FP8"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string spelled(std::string_view method) {
  const std::string name = lower(method);
  if (name == "gptq") return "GPTQ";
  if (name == "awq") return "AWQ";
  return printable(method);
}

[[noreturn]] void refuse(const Checkpoint& checkpoint, std::string_view method, const std::string& evidence) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: weights are quantized with {} ({}), which headscope does not decode; use the original "
                          "weights, FP8 with weight_scale_inv, or a GGUF file",
                          checkpoint.path().string(), method, evidence));
}

}  // namespace

void reject_packed_weights(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) return;
  const auto method = checkpoint.config().find("quantization_config").find("quant_method").as_string();
  if (method && lower(*method) != "fp8") {
    refuse(checkpoint, spelled(*method), "quantization_config in config.json");
  }
  for (const Sign& sign : kSigns) {
    for (const StoredTensor* tensor : checkpoint.tensors()) {
      if (tensor->name.ends_with(sign.suffix)) {
        refuse(checkpoint, sign.method, fmt::format("tensor '{}'", printable(tensor->name)));
      }
    }
  }
}

}  // namespace headscope
