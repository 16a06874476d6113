#include "kernels/experiment/stored_bytes.h"

#include <array>
#include <cstdio>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/traffic.h"

namespace attoscope {

double stored_bytes(const Experiment& e, ScaledTensor t) {
  const Scaling& s = e.a.scaling[t];
  const Problem& p = e.problem;
  const int rows = t == ScaledTensor::Q ? p.n : key_count(p), columns = t == ScaledTensor::V ? value_columns(p) : p.d;
  return s.is_on() ? bits_per_element(s, t, rows, columns) / 8 : element_bytes(e.format);
}

std::string stored_bytes_text(const Experiment& e) {
  std::string text;
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V}) {
    if (!e.a.scaling[t].is_on()) continue;
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), " %.4g", stored_bytes(e, t));
    text.append(text.empty() ? "" : ", ").append(scaled_tensor_names[static_cast<std::size_t>(t)]).append(number.data());
  }
  return text;
}

}  // namespace attoscope
