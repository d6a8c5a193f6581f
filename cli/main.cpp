#include <fcntl.h>
#include <unistd.h>

#include <iostream>

#include "cli/kernels.h"
#include "cli/run.h"

namespace {

// A file opened while a standard stream is closed would take its place, and receive what is printed.
void occupy_standard_streams() {
  int descriptor = ::open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  headscope::cli::use_better_kernels(argv);
  return headscope::cli::run(argc, argv, {std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1});
}
