#include "model/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "model/packed/decoders.h"

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
    Sign{"_blocks", "MXFP4"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

[[noreturn]] void refuse(const Checkpoint& checkpoint, std::string_view method, const std::string& evidence) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: weights are quantized with {} ({}), which headscope does not decode; use the original "
                          "weights, another quantization, or a GGUF file",
                          checkpoint.path().string(), method, evidence));
}

// Names that only packed weights have, though config.json does not say so: what they mean is then unknown.
void reject_unstated(const Checkpoint& checkpoint) {
  for (const Sign& sign : kSigns) {
    for (const StoredTensor* tensor : checkpoint.tensors()) {
      if (tensor->name.ends_with(sign.suffix)) {
        refuse(
            checkpoint, sign.method,
            fmt::format("tensor '{}', without a matching quantization_config in config.json", printable(tensor->name)));
      }
    }
  }
}

struct Method {
  std::string_view name;
  std::vector<StoredTensor> (*weights)(const Checkpoint&, JsonValue);
};
constexpr std::array kMethods = {
    Method{"gptq", gptq_weights},
    Method{"awq", awq_weights},
    Method{"bitsandbytes", bitsandbytes_weights},
    Method{"compressed-tensors", compressed_tensors_weights},
    Method{"mxfp4", mxfp4_weights},
};

}  // namespace

void decode_packed_weights(Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) {
    std::vector<StoredTensor> weights = gguf_latent_weights(checkpoint);
    if (!weights.empty()) checkpoint.add_packed(std::move(weights));
    return;
  }
  const JsonValue settings = checkpoint.config().find("quantization_config");
  const auto stated = settings.find("quant_method").as_string();
  const std::string name = stated ? lower(*stated) : "";
  const auto method = std::ranges::find(kMethods, name, &Method::name);
  if (method != kMethods.end()) {
    checkpoint.add_packed(method->weights(checkpoint, settings));
  } else if (stated && name != "fp8") {
    refuse(checkpoint, printable(*stated), "quantization_config in config.json");
  } else if (!stated) {
    // These describe themselves, and files without a config are common.
    std::vector<StoredTensor> weights = bitsandbytes_weights(checkpoint, settings);
    if (!weights.empty()) checkpoint.add_packed(std::move(weights));
  }
  reject_unstated(checkpoint);
}

}  // namespace headscope
