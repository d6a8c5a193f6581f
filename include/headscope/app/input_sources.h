#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/app/option.h"
#include "headscope/capture/inputs.h"
#include "headscope/forward/forward.h"
#include "headscope/image/image.h"
#include "headscope/model/model.h"

namespace headscope {

/// An image in memory and what it is called, such as the name of the file it was read from; may be empty.
struct NamedImage {
  Image image;
  std::string name;
};

/// What a model is run on: texts, files, or images, token ids and pixels in memory. A folder stands for its files of
/// the right type (.txt, .text, .md; .npy; .png, .jpg, .jpeg), a name with * or ? for the files that it matches, both
/// in natural order.
struct InputSources {
  std::vector<std::string> texts = {};
  std::vector<std::filesystem::path> text_files = {};
  std::vector<std::filesystem::path> ids = {};
  std::vector<std::filesystem::path> images = {};
  std::vector<NamedImage> pictures = {};  ///< Images in memory, prepared like those in files.
  std::vector<std::filesystem::path> pixels = {};
  std::vector<std::filesystem::path> features = {};
  std::vector<ModelInput> in_memory = {};  ///< Ids or pixels that are in memory; called "ids" or "pixels".
  bool lines = false;                      ///< Each line of a text file is an input of its own.
  bool special = true;                     ///< Add the tokenizer's special tokens.
  std::optional<std::size_t> max_tokens = {};

  [[nodiscard]] bool empty() const noexcept {
    return texts.empty() && text_files.empty() && ids.empty() && images.empty() && pictures.empty() && pixels.empty() &&
           features.empty() && in_memory.empty();
  }
};
/// --text, --text-file, --ids, --image, --pixels, --features (each may be repeated, and several files may follow),
/// --lines, --no-special, --max-tokens
void describe(InputSources& inputs, OptionList& options);

/// Reads the inputs in the order texts, text files, ids, images, pictures, pixels, features, in memory.
/// \throws Error  as `InputReader`; kInvalidArgument if there are none; kIo if a folder or a pattern yields no file;
/// kResource if they do not fit the budget.
[[nodiscard]] std::vector<DescribedInput> read_inputs(const Model& model, const InputSources& given,
                                                      const Context& context);

/// What the decoder reads, for a model that has one: a text or ids per input, in the order of the inputs. All texts are
/// before all ids.
struct TargetSources {
  std::vector<std::string> texts = {};
  std::vector<std::filesystem::path> ids = {};

  [[nodiscard]] bool empty() const noexcept { return texts.empty() && ids.empty(); }
};
/// --target, --target-ids (each may be repeated)
void describe(TargetSources& targets, OptionList& options);

/// Gives every input its target. `given` has the options for texts.
/// \throws Error  as `InputReader`; kInvalidArgument unless there is one target per input of a model with a decoder,
///                and none for others; kResource if they do not fit the budget.
void read_targets(const Model& model, const InputSources& given, const TargetSources& targets,
                  std::vector<DescribedInput>& inputs, const Context& context);

/// Bytes that inputs take.
[[nodiscard]] std::size_t memory_of(std::span<const DescribedInput> inputs) noexcept;

/// Distinguishes inputs that came from files of the same name.
[[nodiscard]] std::string fingerprint(std::span<const DescribedInput> inputs);

}  // namespace headscope
