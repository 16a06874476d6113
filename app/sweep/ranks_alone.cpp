// Without MPI there is one rank.
#include <cstdlib>
#include <stdexcept>

#include "app/sweep/ranks.h"
#include "app/words/numbers.h"

namespace attoscope::app {

Ranks::Ranks() {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr && to_number<int>(size).value_or(1) > 1)
    throw std::runtime_error("mpirun started " + std::string(size) +
                             " processes, but this attoscope was built without MPI: install libopenmpi-dev and build with "
                             "-DATTOSCOPE_MPI=ON, or let each compute a part with --shard");
}
Ranks::~Ranks() = default;

bool Ranks::agree(const std::function<void()>& preparation) const {
  preparation();
  return true;
}

std::vector<SweepAnswer> Ranks::run(const Sweep& sweep, const SweepOptions& options) { return run_sweep(sweep, options); }

}  // namespace attoscope::app
