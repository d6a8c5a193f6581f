#include <unistd.h>

#include <iostream>

#include "cli/run.h"

int main(int argc, char** argv) {
  return headscope::cli::run(argc, argv, {std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1});
}
