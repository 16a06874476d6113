// Entry of libFuzzer: runs the loader ATTOSCOPE_LOADER, or writes the corpora into the folder ATTOSCOPE_SEEDS.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/loaders.h"

namespace {

using attoscope::testing::Loader;

const Loader* chosen = nullptr;

/// Writes DIRECTORY/LOADER/seed-N; prints the loaders' names.
void write_seeds(const std::filesystem::path& directory) {
  for (const Loader& loader : attoscope::testing::loaders()) {
    const std::filesystem::path folder = directory / loader.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& seed : loader.seeds())
      std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
    std::cout << loader.name << "\n";
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* const directory = std::getenv("ATTOSCOPE_SEEDS")) {
    write_seeds(directory);
    std::cout.flush();
    std::_Exit(0);
  }
  const char* const name = std::getenv("ATTOSCOPE_LOADER");
  chosen = name == nullptr ? nullptr : attoscope::testing::loader(name);
  if (chosen != nullptr) return 0;
  std::cerr << "ATTOSCOPE_LOADER names no loader, expected one of";
  for (const Loader& loader : attoscope::testing::loaders()) std::cerr << " " << loader.name;
  std::cerr << "\n";
  std::_Exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->load({reinterpret_cast<const char*>(data), size});
  return 0;
}
