#include "app/web/far/far.h"

#include <emscripten.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "app/tensors/tensors.h"
#include "kernels/experiment/all_heads.h"

namespace attoscope::app {
namespace {

using Kinds = std::map<std::string, const FarWork*>;
Kinds& kinds() {
  static Kinds all;
  return all;
}

/// Messages of the Web Worker to the page.
enum class Message : std::uint8_t { share, first, last, failed, stopped, no_memory };

void tell(Message what, const std::string& bytes) {
  EM_ASM({ Module.tell($0, HEAPU8.slice($1, $1 + $2)); }, static_cast<int>(what), bytes.data(), bytes.size());
}

/// Sends the share at most 20 times a second, and whenever work begins.
class ShareTeller {
 public:
  void operator()(double share) {
    if (share != 0 && (share < told_ + 0.002 || Clock::now() < at_ + std::chrono::milliseconds(50))) return;
    told_ = share;
    at_ = Clock::now();
    tell(Message::share, {reinterpret_cast<const char*>(&share), sizeof share});
  }

 private:
  using Clock = std::chrono::steady_clock;

  double told_ = 0;
  Clock::time_point at_ = Clock::now();
};

std::exception_ptr error_of(Message what, const std::string& sentence) {
  if (what == Message::stopped) return std::make_exception_ptr(Stopped());
  if (what == Message::no_memory) return std::make_exception_ptr(std::bad_alloc());
  return std::make_exception_ptr(std::runtime_error(sentence));
}

}  // namespace

FarWork::FarWork(std::string kind, Calls all) : calls(std::move(all)), kind_(std::move(kind)) { kinds()[kind_] = this; }
FarWork::~FarWork() {
  if (of(kind_) == this) kinds().erase(kind_);
}

const FarWork* FarWork::of(const std::string& kind) {
  const auto found = kinds().find(kind);
  return found == kinds().end() ? nullptr : found->second;
}

void FarWork::ask(std::uint64_t number, const std::string& question, std::chrono::milliseconds patience) const {
  const double most = patience == endless ? std::numeric_limits<double>::infinity() : static_cast<double>(patience.count());
  EM_ASM(
      { Module.ask(UTF8ToString($0), $1, HEAPU8.slice($2, $2 + $3), $4); }, kind_.c_str(), static_cast<double>(number),
      question.data(), question.size(), most);
}

void FarWork::drop() const {
  EM_ASM({ Module.drop(UTF8ToString($0)); }, kind_.c_str());
}

double largest_of_file(const std::string& file, int head, ScaledTensor t, const StopSign& stop) {
  Input input{.kind = InputKind::tensors, .file = file, .index = head};
  load_tensors(input);
  return input.tensors->all_heads ? input.tensors->all_heads->largest(t, stop) : 0;
}

}  // namespace attoscope::app

/// In a Web Worker: answers a question of a kind by Module.tell.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_answer(const char* kind, const char* question, std::size_t size) {
  using namespace attoscope::app;
  try {
    const FarWork* const work = FarWork::of(kind);
    if (work == nullptr) throw std::runtime_error("nothing in this page answers this question");
    const auto first = [](const std::string& answer) { tell(Message::first, answer); };
    tell(Message::last, work->calls.answer({question, size}, first, ShareTeller()));
  } catch (const attoscope::Stopped&) {
    tell(Message::stopped, "");
  } catch (const std::bad_alloc&) {
    tell(Message::no_memory, "");
  } catch (const std::exception& error) {
    tell(Message::failed, error.what());
  }
}

/// In the page: takes a Web Worker's message about a question.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_told(const char* kind, double number, int what, const char* bytes,
                                                    std::size_t size) {
  using namespace attoscope::app;
  const FarWork* const work = FarWork::of(kind);
  if (work == nullptr) return;
  const auto told = static_cast<Message>(what);
  const auto question = static_cast<std::uint64_t>(number);
  if (told == Message::share) {
    double share = 0;
    std::memcpy(&share, bytes, std::min(size, sizeof share));
    work->calls.share(share);
  } else if (told <= Message::last) {
    work->calls.told(question, {bytes, size}, told == Message::last);
  } else {
    work->calls.failed(question, error_of(told, {bytes, size}));
  }
}
