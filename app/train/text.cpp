#include "app/train/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdexcept>

#include "app/files/files.h"
#include "app/words/numbers.h"
#include "kernels/train/plan/chronicle.h"

namespace attoscope {
namespace {

constexpr const char* own_name = "the chronicle";

}  // namespace

TextSource read_text(const std::string& file) {
  const std::string bytes = file.empty() ? chronicle() : read_file(file, max_text);
  TextSource source{file, XXH3_64bits(bytes.data(), bytes.size()), nullptr};
  try {
    source.corpus = corpus_of(bytes, file);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  return source;
}

TextSource read_same_text(const TextSource& source, const std::string& file) {
  TextSource read = read_text(file);
  if (read.digest == source.digest) return read;
  throw std::runtime_error((file.empty() ? "the text of this program" : file) + " has changed: its digest is " +
                           hex16(read.digest) + ", expected " + hex16(source.digest) + ", which the training began with");
}

std::string text_name(const TextSource& source) { return source.file.empty() ? own_name : source.file; }

}  // namespace attoscope
