/// The tensors of an answer, each of which can be viewed as if it were the output.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

struct Result;

/// O: output of the forward pass. dO: input of the backward pass. dQ, dK, dV: its gradients.
enum class AnswerTensor : std::uint8_t { O, dO, dQ, dK, dV };
inline constexpr EnumArray<AnswerTensor> answer_tensor_names{"O", "dO", "dQ", "dK", "dV"};
constexpr std::string_view name(AnswerTensor t) { return answer_tensor_names[t]; }

/// The gradients, in the order of arrays that have an element for each.
inline constexpr std::array gradient_tensors{AnswerTensor::dQ, AnswerTensor::dK, AnswerTensor::dV};
/// Index of a gradient in `gradient_tensors`; gradient_tensors.size() for O and dO.
constexpr std::size_t gradient_place(AnswerTensor t) {
  return static_cast<std::size_t>(std::ranges::find(gradient_tensors, t) - gradient_tensors.begin());
}
constexpr bool is_gradient(AnswerTensor t) { return gradient_place(t) < gradient_tensors.size(); }
static_assert(2 + gradient_tensors.size() == answer_tensor_names.size(), "all but O and dO are gradients");

/// True if the rows of the tensor are keys.
constexpr bool has_keys_as_rows(AnswerTensor t) { return t == AnswerTensor::dK || t == AnswerTensor::dV; }

/// Returns the answer as if `tensor` were its output: rows, golden, a, b, deviations, golden's RMS, the digests, and the
/// problem's n and d_v are the tensor's (n is the number of keys for dK and dV). dO has the rows of O, with a and b equal to
/// golden. A tensor whose a was read from a file has a loaded output as its a. Parts of O alone are empty, all others stay.
/// Returns the answer itself for O; null for another tensor without a backward pass. Copies matrices: call it only when the
/// answer or the tensor changes.
std::shared_ptr<const Result> seen_as(const std::shared_ptr<const Result>& answer, AnswerTensor tensor);

}  // namespace attoscope
