#include "app/train/trained.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdexcept>

#include "app/files/files.h"
#include "app/words/devices.h"
#include "app/words/numbers.h"
#include "kernels/train/plan/corpus.h"

namespace attoscope::app {

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

std::string text_name(const TextSource& source) { return source.file.empty() ? "the chronicle" : source.file; }

TextSource text_of(const TextSource& asked) {
  return asked.digest == 0 ? read_text(asked.file) : read_same_text(asked, asked.file);
}

std::string training_device(const std::string& spec) {
  const std::string usable = usable_device(spec).spec;
  return usable.substr(0, usable.find(','));
}

Trained trained(TrainPlan plan, const TrainOptions& options) {
  if (!plan.text.corpus) plan.text = text_of(plan.text);
  const TrainDevice device = primitives_on(training_device(options.device), options.threads);
  PairedTraining training(plan, device);
  const int steps = options.steps > 0 ? options.steps : plan.recipe.steps;
  while (training.record().step < steps) {
    if (options.cancelled && options.cancelled()) throw Stopped();
    const int before = training.record().step;
    training.step(options.cancelled);
    if (training.record().step == before) break;  // a or b diverged
    if (options.stepped) options.stepped();
  }
  Trained t{training.record(), {}};
  for (std::size_t run = 0; run < t.record.runs.size(); ++run) t.weights.push_back(training.weights(static_cast<int>(run)));
  return t;
}

std::vector<std::uint64_t> digests_of(const Trained& t) {
  std::vector<std::uint64_t> digests;
  for (const std::vector<float>& weights : t.weights) {
    const std::vector<float> w = with_one_nan(weights);
    digests.push_back(XXH3_64bits(w.data(), w.size() * sizeof(float)));
  }
  return digests;
}

}  // namespace attoscope::app
