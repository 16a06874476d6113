/// A thread block of the tensor-core kernel on the host: all lanes in step, warps one after the other, copies in flight until
/// they are waited for. It notes every index out of bounds, every race and every bank conflict instead of misbehaving.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tensor_core/hardware_block.h"
#include "kernels/tensor_core/hardware_launch.h"

namespace attoscope::testing {

/// What a run of the model found.
struct HostFindings {
  std::vector<std::string> faults;  ///< indices out of bounds, races, elements written twice: in words, the first few
  std::int64_t fault_count = 0, conflicts = 0, loads = 0, products = 0;
  std::vector<int> written;  ///< how often each element of O was

  void fault(const std::string& what) {
    if (++fault_count <= 8) faults.push_back(what);
  }
};

/// Shared memory by chunks of 16 bytes, with who touched each when. An epoch lasts from one barrier to the next.
class HostShared {
 public:
  HostShared(int bytes, HostFindings& findings)
      : codes_(static_cast<std::size_t>(bytes) / 2, 0xffff),
        chunks_(static_cast<std::size_t>(bytes) / 16),
        findings_(findings) {}

  /// The eight codes at `offset`, which a warp reads now.
  std::array<std::uint16_t, 8> read(int offset) {
    std::array<std::uint16_t, 8> row{};
    Chunk* chunk = at(offset, "ldmatrix");
    if (!chunk) return row;
    if (chunk->in_flight) findings_.fault("read of a chunk that is still being copied, at " + std::to_string(offset));
    if (chunk->arrived == epoch_)
      findings_.fault("read of a copy before the barrier that follows its arrival, at " + std::to_string(offset));
    chunk->read = epoch_;
    std::copy_n(codes_.begin() + offset / 2, 8, row.begin());
    return row;
  }

  void copy(int offset, const std::uint16_t* from) {
    Chunk* chunk = at(offset, "cp.async");
    if (!chunk) return;
    if (chunk->in_flight) findings_.fault("two copies to one place at once, at " + std::to_string(offset));
    if (chunk->read == epoch_) findings_.fault("overwritten while another warp may read it, at " + std::to_string(offset));
    chunk->in_flight = true;
    Pending p{offset, {}};
    if (from) std::copy_n(from, 8, p.codes.begin());
    pending_.push_back(p);
  }

  void arrive() {
    for (const Pending& p : pending_) {
      std::copy(p.codes.begin(), p.codes.end(), codes_.begin() + p.offset / 2);
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
    std::array<std::uint16_t, 8> codes;
  };

  Chunk* at(int offset, const char* who) {
    if (offset % 16 == 0 && offset >= 0 && offset / 16 < static_cast<int>(chunks_.size()))
      return &chunks_[static_cast<std::size_t>(offset) / 16];
    findings_.fault(std::string(who) + " at " + std::to_string(offset) + " of " + std::to_string(codes_.size() * 2) + " bytes");
    return nullptr;
  }

  std::vector<std::uint16_t> codes_;  // NaN until something arrives
  std::vector<Chunk> chunks_;
  std::vector<Pending> pending_;
  HostFindings& findings_;
  int epoch_ = 0;
};

class HostWarp {
 public:
  template <class X>
  using Lanes = std::array<X, 32>;
  using F = Lanes<float>;
  using U = Lanes<std::uint32_t>;

  HostWarp(int index, const Format& format, const std::vector<float>& numbers, HostShared& shared, HostFindings& findings)
      : index_(index), format_(format), numbers_(numbers), shared_(shared), findings_(findings) {}

  int index() const { return index_; }
  Lanes<int> lane() const {
    Lanes<int> all;
    for (int i = 0; i < 32; ++i) all[static_cast<std::size_t>(i)] = i;
    return all;
  }
  F all(float x) const {
    F y;
    y.fill(x);
    return y;
  }
  template <class Fn, class... X>
  auto each(Fn f, const std::array<X, 32>&... x) const {
    Lanes<decltype(f(x[0]...))> y{};
    for (std::size_t i = 0; i < 32; ++i) y[i] = f(x[i]...);
    return y;
  }

  template <bool transposed>
  void load(const Lanes<int>& offset, U (&r)[4]) {
    std::uint16_t matrix[4][8][8];
    int banks[4] = {};
    for (int lane = 0; lane < 32; ++lane) {
      const mma::Cell named = mma::named_row(lane);
      const int at = offset[static_cast<std::size_t>(lane)];
      banks[named.col] |= 1 << (at / 16 % 8);
      const auto codes = shared_.read(at);
      std::copy(codes.begin(), codes.end(), matrix[named.col][named.row]);
    }
    for (const int touched : banks) findings_.conflicts += touched != 255;
    ++findings_.loads;
    for (int j = 0; j < 4; ++j)
      for (int lane = 0; lane < 32; ++lane) {
        const mma::Cell low = mma::received(lane, 0, transposed), high = mma::received(lane, 1, transposed);
        r[j][static_cast<std::size_t>(lane)] = matrix[j][low.row][low.col] | std::uint32_t{matrix[j][high.row][high.col]} << 16;
      }
  }

  void multiply_add(F (&c)[4], const U (&a)[4], const U& b0, const U& b1) {
    float A[16][16], B[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const std::size_t at = static_cast<std::size_t>(lane);
      for (int i = 0; i < 8; ++i) {
        const mma::Cell cell = mma::a_cell(lane, i);
        A[cell.row][cell.col] = half(a[i / 2][at], i % 2);
      }
      for (int i = 0; i < 4; ++i) {
        const mma::Cell cell = mma::b_cell(lane, i);
        B[cell.row][cell.col] = half(i < 2 ? b0[at] : b1[at], i % 2);
      }
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const mma::Cell cell = mma::c_cell(lane, i);
        float& sum = c[i][static_cast<std::size_t>(lane)];
        double exact = static_cast<double>(sum);
        for (int k = 0; k < 16; ++k) exact += static_cast<double>(A[cell.row][k]) * static_cast<double>(B[k][cell.col]);
        sum = static_cast<float>(exact);
      }
    ++findings_.products;
  }

  U packed(const F& low, const F& high) const {
    return each([this](float x, float y) { return code(x) | code(y) << 16; }, low, high);
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
  float half(std::uint32_t pair, int high) const { return numbers_[high ? pair >> 16 : pair & 0xffff]; }
  std::uint32_t code(float x) const { return code_of(format_, round(format_, x)); }

  int index_;
  Format format_;
  const std::vector<float>& numbers_;
  HostShared& shared_;
  HostFindings& findings_;
};

/// One thread block. `backwards`: its warps take turns from the last to the first.
class HostBlock {
 public:
  HostBlock(const HardwareLaunch& launch, const mma::Arguments& x, const std::vector<float>& numbers, int tile, int warps,
            int shared_bytes, bool backwards, HostFindings& findings)
      : x_(x), d_(launch.d), tile_(tile), backwards_(backwards), findings_(findings), shared_(shared_bytes, findings) {
    for (int i = 0; i < warps; ++i) warps_.emplace_back(i, launch.format, numbers, shared_, findings);
  }

  int tile() const { return tile_; }
  template <class F>
  void each_thread(F f) {
    destinations_.assign(warps_.size() * 32, {});
    for (int thread = 0; thread < static_cast<int>(destinations_.size()); ++thread) f(thread);
    count_copy_conflicts();
  }
  template <class Shape>
  auto warp_rows(const mma::Arguments& x, int first_query) {
    std::vector<mma::WarpRows<Shape, HostWarp>> rows;
    rows.reserve(warps_.size());
    for (HostWarp& warp : warps_) rows.emplace_back(warp, x, first_query);
    return rows;
  }
  template <class Rows, class F>
  void each_warp(Rows& rows, F f) {
    for (std::size_t i = 0; i < rows.size(); ++i) f(rows[backwards_ ? rows.size() - 1 - i : i]);
  }
  void copy(int thread, int offset, const std::uint16_t* x, std::int64_t from, bool inside) {
    const std::int64_t rows = x == x_.q ? x_.count : x_.n;
    if (from < 0 || from % 8 != 0 || from + 8 > rows * d_) {
      findings_.fault("copy from element " + std::to_string(from) + " of " + std::to_string(rows * d_));
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
  int d_, tile_;
  bool backwards_;
  HostFindings& findings_;
  HostShared shared_;
  std::vector<HostWarp> warps_;
  std::vector<std::vector<int>> destinations_;  // of each thread's copies
};

/// O of every query of every head, as the kernel's own lines find it; `slice` tiles of queries and `keys` of keys a
/// launch.
inline std::vector<float> host_output(const HardwareLaunch& launch, HostFindings& findings, int slice = 1 << 20,
                                      bool backwards = false, int keys = 1 << 20) {
  std::vector<float> numbers(1 << 16), o(launch.q.size(), -1.0f);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(number_of(launch.format, static_cast<std::uint16_t>(i)));
  const std::size_t q_size = launch.q.size() / static_cast<std::size_t>(launch.heads),
                    kv_size = launch.k.size() / static_cast<std::size_t>(launch.heads);
  mma::with_shape(launch.d, launch.tile.block_q, launch.tile.block_k, [&](auto shape) {
    using S = decltype(shape);
    for (std::size_t head = 0; head < static_cast<std::size_t>(launch.heads); ++head) {
      findings.written.assign(q_size, 0);
      mma::Arguments x{.q = launch.q.data() + head * q_size,
                       .k = launch.k.data() + head * kv_size,
                       .v = launch.v.data() + head * kv_size,
                       .rows = launch.rows.data(),
                       .o = o.data() + head * q_size,
                       .count = static_cast<int>(launch.rows.size()),
                       .n = launch.n,
                       .causal = launch.causal,
                       .c = launch.c};
      const int tiles = (x.count + S::block_q - 1) / S::block_q;
      for (x.first_tile = 0; x.first_tile < tiles; x.first_tile += slice) {
        const int here = std::min(slice, tiles - x.first_tile);
        std::vector<float> state(static_cast<std::size_t>(here) * mma::state_floats<S>,
                                 std::numeric_limits<float>::quiet_NaN());
        x.state = state.data();
        for (x.first_keys = 0; x.first_keys * S::block_k < x.n; x.first_keys = x.end_keys) {
          x.end_keys = x.first_keys + keys;
          for (int i = 0; i < here; ++i) {
            HostBlock block(launch, x, numbers, x.first_tile + i, S::warps, S::shared_bytes, backwards, findings);
            mma::attend<S>(block, x);
          }
        }
      }
      for (const int count : findings.written)
        if (count != 1) findings.fault("an element of O written " + std::to_string(count) + " times");
    }
  });
  return o;
}

}  // namespace attoscope::testing
