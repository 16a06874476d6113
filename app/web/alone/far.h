/// Work that another module of the same program does, in a Web Worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/compute.h"
#include "kernels/experiment/scaling.h"

namespace attoscope {

struct StopSign;

/// One kind of questions. In the page it asks, in the Web Worker it answers; there is one object of each kind in either.
class FarWork {
 public:
  /// Gives earlier answers to `first`.
  using Answer = std::function<std::string(std::string_view question, const std::function<void(std::string)>& first)>;
  using Told = std::function<void(std::uint64_t question, std::string_view answer, bool last)>;
  using Failed = std::function<void(std::uint64_t question, std::exception_ptr error)>;

  /// `answer` is called in the Web Worker, the others in the page.
  FarWork(std::string kind, Answer answer, Told told, Failed failed);
  ~FarWork();
  FarWork(const FarWork&) = delete;
  FarWork& operator=(const FarWork&) = delete;

  /// The object of a kind; null: there is none.
  static const FarWork* of(const std::string& kind);
  /// Sends the newest question to the Web Worker. It replaces one that waits, and ends one that runs longer than `patience`.
  void ask(std::uint64_t number, const std::string& question, std::chrono::milliseconds patience) const;
  /// Ends what is asked.
  void drop() const;

  const Answer answer;
  const Told told;
  const Failed failed;

 private:
  const std::string kind_;
};

/// The largest magnitude over all heads of a file.
double largest_of_file(const std::string& file, int head, ScaledTensor t, const StopSign& stop);

}  // namespace attoscope
