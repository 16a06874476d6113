/// The tensors of an answer, each of which can be shown as its output is.
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

/// O of the forward pass; dO, which comes into the backward pass; and the gradients.
enum class AnswerTensor : std::uint8_t { O, dO, dQ, dK, dV };
inline constexpr EnumArray<AnswerTensor> answer_tensor_names{"O", "dO", "dQ", "dK", "dV"};
constexpr std::string_view name(AnswerTensor t) { return answer_tensor_names[t]; }

/// The gradients, in the order of arrays that have an element for each.
inline constexpr std::array gradient_tensors{AnswerTensor::dQ, AnswerTensor::dK, AnswerTensor::dV};
/// A gradient's place there; beyond them: the tensor is none.
constexpr std::size_t gradient_place(AnswerTensor t) {
  return static_cast<std::size_t>(std::ranges::find(gradient_tensors, t) - gradient_tensors.begin());
}
constexpr bool is_gradient(AnswerTensor t) { return gradient_place(t) < gradient_tensors.size(); }
static_assert(2 + gradient_tensors.size() == answer_tensor_names.size(), "others than O and dO are gradients");

/// True if the rows of the tensor are keys.
constexpr bool has_keys_as_rows(AnswerTensor t) { return t == AnswerTensor::dK || t == AnswerTensor::dV; }

/// The answer as if the tensor were its output: rows, golden, a, b, their deviations, golden's RMS and the digests are the
/// tensor's, and the problem's n and d_v its sizes (keys are then n, too). dO has the rows of O; a and b are equal to golden
/// there. Other parts stay, but those of O alone are empty. The answer itself for O, and null for the others where it has no
/// backward pass. Copies matrices: to be called when the answer or the tensor changes.
std::shared_ptr<const Result> seen_as(const std::shared_ptr<const Result>& answer, AnswerTensor tensor);

}  // namespace attoscope
