#include "app/train/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdexcept>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

constexpr const char* shipped_name = "Debian's common licences";

}  // namespace

TextSource read_text(const std::string& file) {
  const std::string path = file.empty() ? shipped_text_file() : file;
  if (path.empty())
    throw std::runtime_error(
        "this program came without a text of its own, since it was built where Debian's common licences are "
        "missing: name a file, by --text FILE on the command line");
  const std::string bytes = read_file(path, max_text);
  TextSource source{file, XXH3_64bits(bytes.data(), bytes.size()), nullptr};
  try {
    source.corpus = corpus_of(bytes, path);
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

std::string text_name(const TextSource& source) { return source.file.empty() ? shipped_name : source.file; }

}  // namespace attoscope
