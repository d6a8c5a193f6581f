#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/image/image.h"
#include "headscope/image/preprocess.h"
#include "headscope/model/model.h"
#include "headscope/model/vocabulary.h"
#include "headscope/tokenize/tokenizer.h"

namespace headscope {

/// Position of a patch: in the grid of patches, and in the image it was cut from.
struct PatchPlace {
  std::size_t row = 0;
  std::size_t column = 0;
  PixelBox box;
};

/// Human-readable description of one token of an input.
struct InputToken {
  std::optional<std::uint32_t> id = std::nullopt;
  std::string text = {};  ///< "patch 3,4" for an image patch, "[class]" for the class token.
  std::size_t begin = 0;  ///< First byte of the text it came from; begin and end are 0 if there is none.
  std::size_t end = 0;
  std::optional<PatchPlace> patch = std::nullopt;
};

/// An input and its description.
struct DescribedInput {
  ModelInput input;
  std::string source;  ///< The text itself, or the name of the file.
  std::string file;    ///< Name of the file it came from, without its folder; empty if there is none.
  std::string name;    ///< Unique among the inputs of a run, see `name_inputs`.
  std::vector<InputToken> tokens;
  std::string target_source = {};  ///< Of what the decoder reads; empty if there is none.
  std::vector<InputToken> target_tokens = {};
  ImageSize picture;  ///< For images: size before preprocessing.
};

/// Returns a sentence if the tokenizer does not know much of the text: more than 10 % of the tokens of an input are
/// [UNK] or <unk>. Nothing otherwise.
[[nodiscard]] std::optional<std::string> unknown_tokens_warning(std::span<const DescribedInput> inputs);

/// Names inputs by their files, by `source` if they are rows of an array, or else "input 0", "input 1", ... If several
/// have the same name, all but the first get a number: "cat.png", "cat.png (2)".
void name_inputs(std::span<DescribedInput> inputs);

/// Gives each input the target of the same place. \throws Error  kInvalidArgument unless there are as many.
void add_targets(std::span<DescribedInput> inputs, std::span<const DescribedInput> targets);

struct InputOptions {
  SpecialTokens special = SpecialTokens::kAdd;
  /// Texts and ids are truncated to this many tokens.
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
};

/// Creates model inputs from texts, token ids and images. Tokenizer, vocabulary and preprocessing are loaded on first
/// use.
class InputReader {
 public:
  explicit InputReader(const Model& model, InputOptions options = {});

  /// Encodes text with the model's own tokenizer.
  /// \throws Error  kUnsupported if the model has no tokenizer or takes images; as `Tokenizer`.
  [[nodiscard]] DescribedInput text(std::string_view utf8);
  /// Reads a text file of at most 64 MiB: as one input, or as one input per non-blank line.
  [[nodiscard]] std::vector<DescribedInput> text_file(const std::filesystem::path& path, bool lines = false);
  /// Reads an npy file of integers, [tokens] or [inputs, tokens].
  [[nodiscard]] std::vector<DescribedInput> ids(const std::filesystem::path& path);
  [[nodiscard]] DescribedInput ids(std::vector<std::uint32_t> ids, std::string source);
  /// Reads an npy file of log-mel features of audio, [bands, frames] or [inputs, bands, frames].
  [[nodiscard]] std::vector<DescribedInput> features(const std::filesystem::path& path);

  /// What the decoder reads for a text: the token that decoding starts with (`decoder_start_token_id` of config.json,
  /// unless the tokenizer puts it there itself), then the text's tokens without the one that ends it, as in training.
  /// \throws Error  kUnsupported if the model has no decoder or no tokenizer, or does not say how decoding starts.
  [[nodiscard]] DescribedInput target(std::string_view utf8);
  /// Reads what the decoder reads, npy files as for `ids`, unchanged.
  [[nodiscard]] std::vector<DescribedInput> target_ids(const std::filesystem::path& path);
  [[nodiscard]] DescribedInput target_ids(std::vector<std::uint32_t> ids, std::string source);

  /// Reads a PNG or JPEG file.
  [[nodiscard]] DescribedInput image(const std::filesystem::path& path);
  /// Prepares an image that is in memory as one from a file: as gray for models that take one channel.
  [[nodiscard]] DescribedInput image(Image image, const std::string& source);
  /// Reads an npy file of normalized pixels, see `read_pixels`.
  [[nodiscard]] std::vector<DescribedInput> pixels(const std::filesystem::path& path);
  [[nodiscard]] DescribedInput pixels(Pixels pixels, std::string source) const;

 private:
  void expect(Modality modality) const;
  void expect_decoder() const;
  [[nodiscard]] DescribedInput encoded(std::string_view utf8);
  [[nodiscard]] DescribedInput listed(std::vector<std::uint32_t> ids, std::string source);
  [[nodiscard]] std::vector<DescribedInput> read_ids(const std::filesystem::path& path);
  [[nodiscard]] std::string token_text(std::uint32_t id);
  [[nodiscard]] DescribedInput described(PreprocessedImage image, std::string source) const;

  const Model& model_;
  InputOptions options_;
  bool looked_for_vocabulary_ = false;
  std::optional<Vocabulary> vocabulary_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<Preprocessing> preprocessing_;
};

}  // namespace headscope
