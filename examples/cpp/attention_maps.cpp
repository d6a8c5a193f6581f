// Runs a model on a text and prints the heads that attend most to the token before, with progress on stderr.
#include <headscope/headscope.h>

#include <algorithm>
#include <cstdio>

int main(int argc, char** argv) try {
  headscope::CaptureRequest request;
  request.model.path = argc > 1 ? argv[1] : "models/demo";
  request.inputs.texts = {argc > 2 ? argv[2] : "Mary had a ball. John had a kite."};
  request.output.run = argc > 3 ? argv[3] : "";  // a folder for the maps; without one they stay in memory

  headscope::Context context;
  context.on_progress = [](std::string_view stage, double fraction) {
    std::fprintf(stderr, "%.*s: %.0f %%\n", static_cast<int>(stage.size()), stage.data(), 100 * fraction);
  };
  const headscope::CaptureOutcome outcome = headscope::run(request, context).value();

  auto heads = outcome.result.attention;
  std::ranges::sort(heads, std::greater{}, &headscope::HeadAttention::previous);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, heads.size()); ++i) {
    std::printf("%s attends to the token before with %.2f\n", to_string(heads[i].head).c_str(), heads[i].previous);
  }
  std::printf("%zu files\n", outcome.files.names.size());
} catch (const headscope::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
