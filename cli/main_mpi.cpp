#include <unistd.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "cli/interrupt.h"
#include "cli/kernels.h"
#include "cli/run.h"
#include "headscope/base/error.h"
#include "headscope/mpi/mpi_ranks.h"

int main(int argc, char** argv) {
  using namespace headscope;
  cli::use_better_kernels(argv);
  try {
    const std::unique_ptr<Ranks> ranks = mpi_ranks(cli::check_for_interrupt);
    std::ostringstream nowhere;  // rank 0 speaks for all
    const bool speaks = ranks->is_root();
    return cli::run(argc, argv,
                    {.out = speaks ? std::cout : nowhere,
                     .err = speaks ? std::cerr : nowhere,
                     .terminal = speaks && ::isatty(STDERR_FILENO) == 1,
                     .common = {.quiet = !speaks},
                     .ranks = *ranks});
  } catch (const Error& error) {
    std::cerr << "headscope: " << error.what() << '\n';
    return cli::exit_code(error.kind());
  }
}
