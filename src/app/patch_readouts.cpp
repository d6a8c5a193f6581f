#include "app/patch_readouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "headscope/base/error.h"
#include "headscope/io/npy.h"
#include "headscope/model/network.h"
#include "headscope/model/vocabulary.h"
#include "headscope/tokenize/tokenizer.h"

namespace headscope::app {
namespace {

[[noreturn]] void reject(const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, why);
}

// Turns answers into tokens or classes.
class Answers {
 public:
  Answers(const Model& model, std::size_t outputs, bool classes)
      : model_(model), outputs_(outputs), classes_(classes) {}

  /// One per input.
  [[nodiscard]] std::vector<std::uint32_t> parse(const std::vector<std::string>& texts, const std::string& option,
                                                 std::size_t inputs) {
    if (texts.size() != 1 && texts.size() != inputs) {
      reject(fmt::format("{}: found {} for {} inputs, expected one, or one for each", option, texts.size(), inputs));
    }
    std::vector<std::uint32_t> ids;
    for (const std::string& text : texts) ids.push_back(parse(text, option));
    ids.resize(inputs, ids.front());
    return ids;
  }

  /// The mask token of a masked language model; nothing if its tokenizer has none.
  [[nodiscard]] std::optional<std::uint32_t> mask() {
    for (const std::string_view text : {"[MASK]", "<mask>"}) {
      const std::vector<Token> tokens = encode(text);
      if (tokens.size() == 1) return tokens.front().id;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::uint32_t parse(const std::string& text, const std::string& option) {
    const bool is_id = text.starts_with('#') || classes_;
    std::uint32_t id = 0;
    if (is_id) {
      const char* end = text.data() + text.size();
      const auto [rest, error] = std::from_chars(text.data() + (text.starts_with('#') ? 1 : 0), end, id);
      if (error != std::errc() || rest != end) {
        reject(fmt::format("{}: expected {}, found '{}'", option,
                           classes_ ? "the number of a class" : "the number of a token after '#'", printable(text)));
      }
    } else {
      const std::vector<Token> tokens = encode(text);
      if (tokens.size() != 1) {
        reject(fmt::format("{}: '{}' is {} tokens, expected one (a word often begins with a blank); or give #ID",
                           option, printable(text), tokens.size()));
      }
      id = tokens.front().id;
      if (is_unknown(id)) {
        reject(fmt::format("{}: '{}' is not in the vocabulary of the model", option, printable(text)));
      }
    }
    if (id >= outputs_) {
      reject(fmt::format("{}: {} {} does not exist, the model has {}", option, classes_ ? "class" : "token", id,
                         outputs_));
    }
    return id;
  }

  [[nodiscard]] bool is_unknown(std::uint32_t id) {
    if (!vocabulary_) vocabulary_ = Vocabulary::load(model_.checkpoint());
    if (!vocabulary_ || id >= vocabulary_->size()) return false;
    const std::string text = vocabulary_->token(id);
    return text == "[UNK]" || text == "<unk>";
  }

  [[nodiscard]] std::vector<Token> encode(std::string_view text) {
    if (!tokenizer_) tokenizer_ = Tokenizer::load(model_.checkpoint());
    if (!tokenizer_) {
      throw Error(ErrorKind::kUnsupported, "the model has no tokenizer: give tokens as #ID, or --labels");
    }
    return tokenizer_->encode(text, SpecialTokens::kNone);
  }

  const Model& model_;
  std::size_t outputs_;
  bool classes_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<Vocabulary> vocabulary_;
};

// The labels in memory or of the npy file; negative ones do not count.
std::vector<std::int64_t> read_labels(const PatchRequest& request, std::size_t expected, std::size_t outputs,
                                      std::string_view what) {
  const bool in_memory = !request.labels_in_memory.empty();
  const std::string name = in_memory ? "--labels" : request.labels.string();
  std::vector<std::int64_t> labels = request.labels_in_memory;
  if (!in_memory) labels = npy_values<std::int64_t>(NpyFile::open(request.labels).array(), name);
  if (labels.size() != expected) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: found {} labels, expected {}: one per {}", name, labels.size(), expected, what));
  }
  for (const std::int64_t label : labels) {
    if (label >= 0 && static_cast<std::uint64_t>(label) >= outputs) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: label {} is out of range, the model has {} outputs", name, label, outputs));
    }
  }
  return labels;
}

std::vector<std::vector<Readout>> from_labels(const PatchRequest& request, std::span<const ModelInput> inputs,
                                              std::size_t outputs, bool classes) {
  std::size_t expected = 0;
  for (const ModelInput& input : inputs) expected += classes ? 1 : output_ids(input).size();
  const std::vector<std::int64_t> labels = read_labels(request, expected, outputs, classes ? "image" : "token");
  std::vector<std::vector<Readout>> readouts(inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t row = 0; row < (classes ? 1 : output_ids(inputs[i]).size()); ++row, ++next) {
      if (labels[next] < 0 || (!classes && row < request.loss_from.value_or(0))) continue;
      readouts[i].push_back({row, static_cast<std::uint32_t>(labels[next]), {}});
    }
  }
  return readouts;
}

// The rows at which a given answer counts.
std::vector<std::size_t> answer_rows(const PatchRequest& request, const ModelInput& input, bool causal, bool classes,
                                     Answers& answers) {
  if (classes) return {0};
  const std::vector<std::uint32_t>& ids = output_ids(input);
  std::vector<std::size_t> rows;
  if (!causal && !request.loss_from) {
    const auto mask = answers.mask();
    for (std::size_t row = 0; row < ids.size(); ++row) {
      if (mask && ids[row] == *mask) rows.push_back(row);
    }
    return rows;
  }
  for (std::size_t row = request.loss_from.value_or(ids.size() - 1); row < ids.size(); ++row) {
    rows.push_back(row);
  }
  return rows;
}

void check_options(const PatchRequest& request, bool classes, bool causal) {
  const bool difference = request.metric == PatchMetric::kLogitDifference;
  if (difference && (request.answers.empty() || request.others.empty())) {
    reject("--metric logit-diff needs two tokens: give --answer and --other");
  }
  if (!difference && !request.others.empty()) reject("--other is used only by --metric logit-diff");
  if (has_labels(request) && !request.answers.empty()) reject("give --labels or --answer, not both");
  if (classes && request.loss_from) reject("--loss-from is a position of a text: the model classifies images");
  if (has_labels(request) || !request.answers.empty()) return;
  if (classes) reject("no loss is defined for an image without its class: give --labels or --answer");
  if (!causal) {
    reject(
        "no loss is defined for a masked language model without the hidden tokens: give --answer for the mask token "
        "of the text, or --labels");
  }
}

}  // namespace

bool has_labels(const PatchRequest& request) noexcept {
  return !request.labels.empty() || !request.labels_in_memory.empty();
}

std::vector<std::vector<Readout>> make_readouts(const PatchRequest& request, const Model& model,
                                                std::span<const ModelInput> inputs) {
  const Network network = resolve_network(model);
  const bool classes = !network.output.classifiers.empty();
  const bool causal = network.causal || network.target;
  if (!classes && !network.output.unembedding) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: no loss is defined, because the model has no output head; --screen-only needs none",
                            model.checkpoint().path().string()));
  }
  const std::size_t outputs = classes ? network.output.classifiers.front().out() : network.output.unembedding->out();
  check_options(request, classes, causal);
  std::vector<std::vector<Readout>> readouts;
  if (has_labels(request)) {
    readouts = from_labels(request, inputs, outputs, classes);
  } else if (request.answers.empty()) {
    for (const ModelInput& input : inputs)
      readouts.push_back(next_token_readouts(input, request.loss_from.value_or(0)));
  } else {
    Answers parser(model, outputs, classes);
    const std::vector<std::uint32_t> right = parser.parse(request.answers, "--answer", inputs.size());
    std::vector<std::uint32_t> wrong;
    if (!request.others.empty()) wrong = parser.parse(request.others, "--other", inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      readouts.emplace_back();
      for (const std::size_t row : answer_rows(request, inputs[i], causal, classes, parser)) {
        readouts[i].push_back({row, right[i], wrong.empty() ? std::nullopt : std::optional<std::uint32_t>(wrong[i])});
      }
    }
  }
  if (std::ranges::all_of(readouts, [](const auto& of_input) { return of_input.empty(); })) {
    reject(request.loss_from
               ? fmt::format("--loss-from {}: no input has a prediction at or after it", *request.loss_from)
           : !causal && !classes ? "no input has a mask token or a label: there is no prediction to measure"
                                 : "the inputs are too short: there is no next token to predict");
  }
  return readouts;
}

}  // namespace headscope::app
