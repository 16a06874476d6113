/// The tensors of an answer, each of which can be shown as its output is.
#pragma once

#include <array>
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

/// True if the rows of the tensor are keys.
constexpr bool has_keys_as_rows(AnswerTensor t) { return t == AnswerTensor::dK || t == AnswerTensor::dV; }

/// The answer as if the tensor were its output: rows, golden, a, b, their deviations, golden's RMS and the digests are the
/// tensor's, and the problem's n and d_v its sizes (keys are then n, too). dO has the rows of O; a and b are equal to golden
/// there. Other parts stay, but those of O alone are empty. The answer itself for O, and null for the others where it has no
/// backward pass. Copies matrices: to be called when the answer or the tensor changes.
std::shared_ptr<const Result> seen_as(const std::shared_ptr<const Result>& answer, AnswerTensor tensor);

}  // namespace attoscope
