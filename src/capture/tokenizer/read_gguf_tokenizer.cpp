#include "capture/tokenizer/pipeline.h"
namespace headscope {
std::unique_ptr<const TokenizerPipeline> read_gguf_tokenizer(const Checkpoint&) {
  return nullptr;
}
std::unique_ptr<const TokenizerPipeline> read_bpe_files(const Checkpoint&) {
  return nullptr;
}
std::unique_ptr<const TokenizerPipeline> read_word_piece_file(const Checkpoint&) {
  return nullptr;
}
}  // namespace headscope
