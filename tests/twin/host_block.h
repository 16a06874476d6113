/// A thread block of the tensor-core kernel on the host: all lanes in step, warps one after the other, copies pending until
/// the code waits for them. Records every index out of bounds, race and bank conflict instead of failing.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/tensor_core/hardware.h"
#include "kernels/tensor_core/hardware_block.h"
#include "kernels/tensor_core/product_rules.h"

namespace attoscope::mma {

/// Element i = 0.. of A (16 x step_bytes / element_bytes) in `lane`: a register holds 4 / element_bytes, from its lowest
/// bits up.
template <int element_bytes>
constexpr Cell a_cell(int lane, int i) {
  constexpr int each = 4 / element_bytes;
  return {lane / 4 + 8 * (i / each % 2), lane % 4 * each + i % each + 4 * each * (i / (2 * each))};
}
/// Element i = 0.. of B (step_bytes / element_bytes x 8).
template <int element_bytes>
constexpr Cell b_cell(int lane, int i) {
  constexpr int each = 4 / element_bytes;
  return {lane % 4 * each + i % each + 4 * each * (i / each), lane / 4};
}

/// Index within the step of the key at column `place` of A and row `place` of B.
template <int element_bytes>
constexpr int key_at(int place) {
  return element_bytes == 2 ? place : place / 16 * 16 + place % 4 / 2 * 8 + place % 16 / 4 * 2 + place % 2;
}

/// ldmatrix.x4: `lane` names the address of one row of one of four 8 x 8 matrices.
constexpr Cell named_row(int lane) { return {lane % 8, lane / 8}; }  // col: its matrix
/// The elements that `lane` receives of every matrix: half i = 0, 1 of the register that the matrix fills.
constexpr Cell received(int lane, int i, bool transposed) {
  return transposed ? Cell{lane % 4 * 2 + i, lane / 4} : Cell{lane / 4, lane % 4 * 2 + i};
}

}  // namespace attoscope::mma

namespace attoscope::testing {

/// Findings of a run of the model.
struct HostFindings {
  std::vector<std::string> faults;  ///< the first few indices out of bounds, races and elements written twice, as text
  std::int64_t fault_count = 0, conflicts = 0, loads = 0, products = 0;
  std::vector<int> written;  ///< number of writes to each element of O

  void fault(const std::string& what) {
    if (++fault_count <= 8) faults.push_back(what);
  }
};

/// Shared memory by chunks of 16 bytes, with the latest reader and writer of each. An epoch lasts from one barrier to the next.
class HostShared {
 public:
  HostShared(int bytes, HostFindings& findings)
      : bytes_(static_cast<std::size_t>(bytes), 0xff), chunks_(static_cast<std::size_t>(bytes) / 16), findings_(findings) {}

  using Bytes = std::array<std::uint8_t, 16>;

  /// The chunk at `offset`, read by a warp now.
  Bytes read(int offset) {
    Bytes row{};
    Chunk* chunk = at(offset, "ldmatrix");
    if (!chunk) return row;
    if (chunk->in_flight) findings_.fault("read of a chunk that is still being copied, at " + std::to_string(offset));
    if (chunk->arrived == epoch_)
      findings_.fault("read of a copy before the barrier that follows its arrival, at " + std::to_string(offset));
    chunk->read = epoch_;
    std::copy_n(bytes_.begin() + offset, row.size(), row.begin());
    return row;
  }

  void copy(int offset, const std::uint8_t* from) {
    Chunk* chunk = at(offset, "cp.async");
    if (!chunk) return;
    if (chunk->in_flight) findings_.fault("two copies to one place at once, at " + std::to_string(offset));
    if (chunk->read == epoch_) findings_.fault("overwritten while another warp may read it, at " + std::to_string(offset));
    chunk->in_flight = true;
    Pending p{offset, {}};
    if (from) std::copy_n(from, p.bytes.size(), p.bytes.begin());
    pending_.push_back(p);
  }

  void arrive() {
    for (const Pending& p : pending_) {
      std::copy(p.bytes.begin(), p.bytes.end(), bytes_.begin() + p.offset);
      Chunk& chunk = chunks_[static_cast<std::size_t>(p.offset) / 16];
      chunk.in_flight = false;
      chunk.arrived = epoch_;
    }
    pending_.clear();
  }
  void barrier() { ++epoch_; }

 private:
  struct Chunk {
    bool in_flight = false;
    int read = -1, arrived = -1;
  };
  struct Pending {
    int offset = 0;
    Bytes bytes;
  };

  Chunk* at(int offset, const char* who) {
    if (offset % 16 == 0 && offset >= 0 && offset / 16 < static_cast<int>(chunks_.size()))
      return &chunks_[static_cast<std::size_t>(offset) / 16];
    findings_.fault(std::string(who) + " at " + std::to_string(offset) + " of " + std::to_string(bytes_.size()) + " bytes");
    return nullptr;
  }

  std::vector<std::uint8_t> bytes_;  // NaN until something arrives
  std::vector<Chunk> chunks_;
  std::vector<Pending> pending_;
  HostFindings& findings_;
  int epoch_ = 0;
};

/// The numbers of a format, and the rule of adding their products.
class HostNumbers {
 public:
  /// `rule`: null for exact sums, rounded once.
  HostNumbers(const Format& format, const ProductRule* rule) : format_(format), rule_(rule) {
    for (int code = 0; code < 1 << (8 * bytes()); ++code) numbers_.push_back(static_cast<float>(number_of(format, code)));
  }

  int bytes() const { return format_ == e4m3 ? 1 : 2; }
  float number(std::size_t code) const { return numbers_[code]; }
  std::uint32_t code(float x) const { return factor_code(format_, round(format_, x)); }
  float sum(std::span<const float> a, std::span<const float> b, float c) const {
    if (rule_) return product_sum(*rule_, a, b, c);
    double exact = static_cast<double>(c);
    for (std::size_t k = 0; k < a.size(); ++k) exact += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    return static_cast<float>(exact);
  }

 private:
  Format format_;
  const ProductRule* rule_;
  std::vector<float> numbers_;
};

class HostWarp {
 public:
  template <class X>
  using Lanes = std::array<X, 32>;
  using F = Lanes<float>;
  using U = Lanes<std::uint32_t>;

  HostWarp(int tile, int index, const HostNumbers& numbers, HostShared& shared, HostFindings& findings)
      : tile_(tile), index_(index), numbers_(numbers), shared_(shared), findings_(findings) {}

  int tile(const mma::Arguments&) const { return tile_; }
  int index() const { return index_; }
  Lanes<int> lane() const {
    Lanes<int> all;
    for (int i = 0; i < 32; ++i) all[static_cast<std::size_t>(i)] = i;
    return all;
  }
  bool always(const mma::Arguments&) const { return true; }
  Lanes<int> lane_afresh() const { return lane(); }
  F all(float x) const {
    F y;
    y.fill(x);
    return y;
  }
  float one(const F& x) const { return x[0]; }
  template <class Fn, class... X>
  auto each(Fn f, const std::array<X, 32>&... x) const {
    Lanes<decltype(f(x[0]...))> y{};
    for (std::size_t i = 0; i < 32; ++i) y[i] = f(x[i]...);
    return y;
  }

  template <class X>
  X afresh(const X& x) const {
    return x;
  }

  template <bool transposed>
  void load(const Lanes<int>& offset, U (&r)[4]) {
    std::uint8_t matrix[4][8][16];
    int banks[4] = {};
    for (int lane = 0; lane < 32; ++lane) {
      const mma::Cell named = mma::named_row(lane);
      const int at = offset[static_cast<std::size_t>(lane)];
      banks[named.col] |= 1 << (at / 16 % 8);
      const auto bytes = shared_.read(at);
      std::copy(bytes.begin(), bytes.end(), matrix[named.col][named.row]);
    }
    for (const int touched : banks) findings_.conflicts += touched != 255;
    ++findings_.loads;
    for (int j = 0; j < 4; ++j)
      for (int lane = 0; lane < 32; ++lane) {
        std::uint32_t& word = r[j][static_cast<std::size_t>(lane)];
        word = 0;
        for (int i = 0; i < 4; ++i) {  // pairs of bytes move
          const mma::Cell from = mma::received(lane, i / 2, transposed);
          word |= std::uint32_t{matrix[j][from.row][2 * from.col + i % 2]} << (8 * i);
        }
      }
  }

  void multiply_add(F (&c)[4], const U (&a)[4], const U& b0, const U& b1) {
    if (numbers_.bytes() == 2)
      multiply_add<2>(c, a, b0, b1);
    else
      multiply_add<1>(c, a, b0, b1);
    ++findings_.products;
  }

  U packed(const F& low, const F& high) const {
    return each([this](float x, float y) { return numbers_.code(x) | numbers_.code(y) << 16; }, low, high);
  }
  U packed(const F& x0, const F& x1, const F& x2, const F& x3) const {
    return each(
        [this](float p, float q, float r, float s) {
          return numbers_.code(p) | numbers_.code(q) << 8 | numbers_.code(r) << 16 | numbers_.code(s) << 24;
        },
        x0, x1, x2, x3);
  }
  F exp2(const F& x) const {
    return each([](float y) { return std::exp2(y); }, x);
  }
  F fused(const F& a, const F& b, const F& c) const {
    return each([](float x, float y, float z) { return std::fma(x, y, z); }, a, b, c);
  }
  F divided(const F& a, const F& b) const {
    return each([](float x, float y) { return x / y; }, a, b);
  }
  F max(const F& a, const F& b) const {
    return each([](float x, float y) { return std::fmax(x, y); }, a, b);
  }
  F quad_max(const F& x) const {
    return across_quads(x, [](float a, float b) { return std::fmax(a, b); });
  }
  F quad_sum(const F& x) const {
    return across_quads(x, [](float a, float b) { return a + b; });
  }

  F got(int offset) const { return own_.at(offset); }
  void put(int offset, const F& x) { own_[offset] = x; }

  F kept(const float* state, int place) const {
    F x;
    std::copy_n(state + (place + index_) * 32, 32, x.begin());
    return x;
  }
  void keep(float* state, int place, const F& x) const { std::copy_n(x.begin(), 32, state + (place + index_) * 32); }

  template <int D>
  void store(const mma::Arguments& x, const Lanes<int>& query, const Lanes<int>& column, const F& first, const F& second) {
    for (std::size_t i = 0; i < 32; ++i) {
      if (query[i] >= x.count) continue;
      const std::size_t at = static_cast<std::size_t>(query[i]) * D + static_cast<std::size_t>(column[i]);
      if (query[i] < 0 || column[i] < 0 || column[i] + 1 >= D || column[i] % 2 != 0) {
        findings_.fault("store to query " + std::to_string(query[i]) + ", column " + std::to_string(column[i]));
        continue;
      }
      x.o[at] = first[i];
      x.o[at + 1] = second[i];
      for (std::size_t k = 0; k < 2; ++k)
        if (++findings_.written[at + k] > 1) findings_.fault("element " + std::to_string(at + k) + " written twice");
    }
  }

 private:
  template <class Op>
  static F across_quads(F x, Op op) {
    for (const std::size_t distance : {1u, 2u}) {
      F y;
      for (std::size_t i = 0; i < 32; ++i) y[i] = op(x[i], x[i ^ distance]);
      x = y;
    }
    return x;
  }
  /// Element i of a lane's registers, each of which holds 4 / bytes elements.
  template <int bytes>
  float element(const U& x, std::size_t lane, int i) const {
    return numbers_.number(x[lane] >> (8 * bytes * i) & ((std::uint64_t{1} << (8 * bytes)) - 1));
  }

  template <int bytes>
  void multiply_add(F (&c)[4], const U (&a)[4], const U& b0, const U& b1) {
    constexpr int each = 4 / bytes, width = mma::step_bytes / bytes;
    float A[16][width], B[8][width];
    for (int lane = 0; lane < 32; ++lane) {
      const std::size_t at = static_cast<std::size_t>(lane);
      for (int i = 0; i < 4 * each; ++i) {
        const mma::Cell cell = mma::a_cell<bytes>(lane, i);
        A[cell.row][cell.col] = element<bytes>(a[i / each], at, i % each);
      }
      for (int i = 0; i < 2 * each; ++i) {
        const mma::Cell cell = mma::b_cell<bytes>(lane, i);
        B[cell.col][cell.row] = element<bytes>(i < each ? b0 : b1, at, i % each);
      }
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const mma::Cell cell = mma::c_cell(lane, i);
        float& sum = c[i][static_cast<std::size_t>(lane)];
        sum = numbers_.sum(A[cell.row], B[cell.col], sum);
      }
  }

  int tile_, index_;
  std::map<int, F> own_;  // numbers of its lanes in shared memory, by offset
  const HostNumbers& numbers_;
  HostShared& shared_;
  HostFindings& findings_;
};

/// One thread block. `backwards`: its warps take turns from the last to the first.
class HostBlock {
 public:
  HostBlock(const HardwareLaunch& launch, const mma::Arguments& x, const HostNumbers& numbers, int tile, int warps,
            int shared_bytes, bool backwards, HostFindings& findings)
      : x_(x),
        row_bytes_(launch.d * numbers.bytes()),
        tile_(tile),
        backwards_(backwards),
        findings_(findings),
        shared_(shared_bytes, findings) {
    for (int i = 0; i < warps; ++i) warps_.emplace_back(tile, i, numbers, shared_, findings);
  }

  int tile() const { return tile_; }
  int head() const { return 0; }
  template <class Shape>
  float* state(const mma::Arguments& x) const {
    return x.state + (tile_ - x.first_tile) * mma::state_floats<Shape>;
  }
  template <class F>
  void each_thread(F f) {
    destinations_.assign(warps_.size() * 32, {});
    for (int thread = 0; thread < static_cast<int>(destinations_.size()); ++thread) f(thread);
    count_copy_conflicts();
  }
  template <class Shape>
  auto warp_rows(const mma::Arguments& x) {
    std::vector<mma::WarpRows<Shape, HostWarp>> rows;
    rows.reserve(warps_.size());
    for (HostWarp& warp : warps_) rows.emplace_back(warp, x);
    return rows;
  }
  template <class Rows, class F>
  void each_warp(Rows& rows, F f) {
    for (std::size_t i = 0; i < rows.size(); ++i) f(rows[backwards_ ? rows.size() - 1 - i : i]);
  }
  void copy(int thread, int offset, const std::uint8_t* x, std::int64_t from, bool inside) {
    const std::int64_t rows = x == x_.q ? x_.count : x_.n;
    if (from < 0 || from % 16 != 0 || from + 16 > rows * row_bytes_) {
      findings_.fault("copy from byte " + std::to_string(from) + " of " + std::to_string(rows * row_bytes_));
      return;
    }
    destinations_[static_cast<std::size_t>(thread)].push_back(offset);
    shared_.copy(offset, inside ? x + from : nullptr);
  }
  void wait_for_copies() { shared_.arrive(); }
  void barrier() { shared_.barrier(); }

 private:
  /// Eight threads write 128 bytes at a time.
  void count_copy_conflicts() {
    for (std::size_t first = 0; first < destinations_.size(); first += 8)
      for (std::size_t i = 0; i < destinations_[first].size(); ++i) {
        int banks = 0;
        for (std::size_t t = first; t < first + 8; ++t)
          if (i < destinations_[t].size()) banks |= 1 << (destinations_[t][i] / 16 % 8);
        findings_.conflicts += banks != 255;
      }
  }

  const mma::Arguments& x_;
  int row_bytes_, tile_;
  bool backwards_;
  HostFindings& findings_;
  HostShared shared_;
  std::vector<HostWarp> warps_;
  std::vector<std::vector<int>> destinations_;  // of each thread's copies
};

/// Settings of `host_output`.
struct HostRun {
  int slice = 1 << 20;  ///< tiles of queries a launch
  bool backwards = false;
  int keys = 1 << 20;                 ///< tiles of keys a launch
  const ProductRule* rule = nullptr;  ///< of the sums of products; null: exact, rounded once
};

/// O of every query of every head, by the kernel's own code.
inline std::vector<float> host_output(const HardwareLaunch& launch, HostFindings& findings, const HostRun& run = {}) {
  const HostNumbers numbers(launch.format, run.rule);
  std::vector<float> o(launch.outputs(), -1.0f);
  const auto heads = static_cast<std::size_t>(launch.heads);
  const std::size_t o_size = o.size() / heads, q_size = launch.q.size() / heads, kv_size = launch.k.size() / heads;
  const auto all_heads = [&](auto shape) {
    using S = decltype(shape);
    for (std::size_t head = 0; head < heads; ++head) {
      findings.written.assign(o_size, 0);
      mma::Arguments x{.q = launch.q.data() + head * q_size,
                       .k = launch.k.data() + head * kv_size,
                       .v = launch.v.data() + head * kv_size,
                       .rows = launch.rows.data(),
                       .o = o.data() + head * o_size,
                       .count = static_cast<int>(launch.rows.size()),
                       .n = launch.n,
                       .causal = launch.causal,
                       .c = launch.c,
                       .shift = launch.shift};
      const int tiles = (x.count + S::block_q - 1) / S::block_q;
      for (x.first_tile = 0; x.first_tile < tiles; x.first_tile += run.slice) {
        const int here = std::min(run.slice, tiles - x.first_tile);
        std::vector<float> state(static_cast<std::size_t>(here) * mma::state_floats<S>,
                                 std::numeric_limits<float>::quiet_NaN());
        x.state = state.data();
        for (x.first_keys = 0; x.first_keys * S::block_k < x.n; x.first_keys = x.end_keys) {
          x.end_keys = x.first_keys + run.keys;
          for (int i = 0; i < here; ++i) {
            HostBlock block(launch, x, numbers, x.first_tile + i, S::warps, S::shared_bytes, run.backwards, findings);
            mma::attend<S>(block, x);
          }
        }
      }
      for (const int count : findings.written)
        if (count != 1) findings.fault("an element of O written " + std::to_string(count) + " times");
    }
  };
  if (numbers.bytes() == 2)
    mma::with_shape<2>(launch.d, launch.tile.block_q, launch.tile.block_k, all_heads);
  else
    mma::with_shape<1>(launch.d, launch.tile.block_q, launch.tile.block_k, all_heads);
  return o;
}

}  // namespace attoscope::testing
