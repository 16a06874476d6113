#include "kernels/experiment/traffic.h"

#include <algorithm>
#include <utility>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"

namespace attoscope {

VisitedTiles visited_tiles(const Problem& p, int rows, int keys, bool reversed) {
  const int n_k = key_count(p);
  const std::int64_t row_tiles = tile_count(p.n, rows), key_tiles = tile_count(n_k, keys);
  VisitedTiles v;
  v.tiles = row_tiles * key_tiles;
  for (std::int64_t i = 0; i < row_tiles; ++i) {
    const int first_row = static_cast<int>(i * rows), end_row = std::min(p.n, first_row + rows);
    auto [first, end] = keys_of_rows(p, first_row, end_row - 1);
    if (end <= first) continue;
    if (reversed) first = n_k - std::exchange(end, n_k - first);
    const std::int64_t tile0 = first / keys, tile1 = (end + keys - 1) / keys;
    v.visited += tile1 - tile0;
    v.query_rows += static_cast<double>(tile1 - tile0) * (end_row - first_row);
    v.key_rows += static_cast<double>(std::min<std::int64_t>(n_k, tile1 * keys) - tile0 * keys);
  }
  return v;
}

Traffic traffic(const Experiment& e) {
  const Problem& p = e.problem;
  const double n = p.n, n_k = key_count(p), d = p.d, d_v = value_columns(p);
  const int rows = std::min(e.a.block_q, p.n), keys = std::min(e.a.block_k, key_count(p));
  const VisitedTiles v = visited_tiles(p, rows, keys, e.a.reverse_keys);
  Traffic t;
  t.element_bytes = element_bytes(e.format);
  t.on_chip_elements = 1ll * (keys + rows) * (p.d + value_columns(p));
  t.tiles = v.tiles;
  t.skipped_tiles = v.tiles - v.visited;
  const double Q = d * stored_bytes(e, ScaledTensor::Q), other = t.element_bytes,
               KV = d * stored_bytes(e, ScaledTensor::K) + d_v * stored_bytes(e, ScaledTensor::V);  // of a row
  // read Q, K; write S; read S; write P; read P, V; write O
  t.algorithm0 = n * (Q + d_v * other) + n_k * KV + 4 * n * n_k * other;
  // K, V once; for every visited tile read Q, O, l, m and write O, l, m
  t.flash1 = n_k * KV + v.query_rows * (Q + (2 * d_v + 4) * other);
  // Q and O once, the log-sum-exp once; for every visited tile read K, V
  t.flash2 = n * (Q + d_v * other) + n * other + v.key_rows * KV;
  return t;
}

int element_bytes(const Format& f) { return (1 + f.exponent_bits + f.mantissa_bits + 7) / 8; }

double visible_pairs(const Problem& p) {
  if (const MaskView mask = mask_view(p); mask.rows != nullptr) {
    double pairs = 0;
    for (int row = 0; row < p.n; ++row) {
      const Keys keys = visible_keys(p, row);
      for (int key = keys.first; key < keys.end; ++key) pairs += mask.terms == nullptr || !mask.drops(row, key) ? 1 : 0;
    }
    return pairs;
  }
  if (key_count(p) != p.n || p.mask.kind > Mask::Kind::padding || p.mask.right > 0) {
    double pairs = 0;
    for (int row = 0; row < p.n; ++row) pairs += std::max(0, visible_keys(p, row).end - visible_keys(p, row).first);
    return pairs;
  }
  const double n = p.n, triangle = n * (n + 1) / 2;
  const double beyond = std::max(0.0, n - p.mask.window), corner = beyond * (beyond + 1) / 2;
  switch (p.mask.kind) {
    case Mask::Kind::none:
      return n * n;
    case Mask::Kind::causal:
      return triangle;
    case Mask::Kind::window:
      return triangle - corner;
    default:
      return corner;
  }
}

double useful_flops(const Problem& p) { return 2.0 * (p.d + value_columns(p)) * visible_pairs(p); }

OnChip on_chip(const Problem& p, const Method& m) {
  const double rows = std::min(m.block_q, p.n), keys = std::min(m.block_k, key_count(p)), d = p.d, d_v = value_columns(p);
  return {.Q = rows * d, .K = keys * d, .V = keys * d_v, .O = rows * d_v, .S = rows * keys, .m_and_l = 2 * rows};
}

double ridge(const DataSheet& machine) { return 1e3 * machine.tera_flops / machine.giga_bytes; }

double attainable(const DataSheet& machine, double flops_per_byte) {
  return std::min(machine.tera_flops, 1e-3 * machine.giga_bytes * flops_per_byte);
}

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
    text.append(text.empty() ? "" : ", ").append(scaled_tensor_names[t]).append(" " + four_digits(stored_bytes(e, t)));
  }
  return text;
}

}  // namespace attoscope
