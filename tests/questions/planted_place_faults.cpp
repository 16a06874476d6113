// Mistakes in places: heads, rows, columns, fragments, strides, rotary positions.
#include <algorithm>
#include <cmath>

#include "tests/questions/planted_loop.h"

namespace attoscope::planted {
namespace {

using Part = Values Tensors::*;

/// 8 x 8 blocks transposed.
void transpose_blocks(Values& x, int rows, int columns) {
  const Values before = x;
  for (int i = 0; i < rows / 8 * 8; ++i)
    for (int c = 0; c < columns; ++c) x[at(i * columns + c)] = before[at((i / 8 * 8 + c % 8) * columns + c / 8 * 8 + i % 8)];
}

/// Applies rotary positions to all rows, in halves (GPT-NeoX) or interleaved (GPT-J), by position times a column's frequency.
void rotate(Values& x, int rows, int d, bool interleaved, const std::function<double(int row)>& position, double base = 1e4) {
  for (int i = 0; i < rows; ++i)
    for (int pair = 0; pair < d / 2; ++pair) {
      const double angle = position(i) * std::pow(base, -2.0 * pair / d), c = std::cos(angle), s = std::sin(angle);
      double& a = x[at(i * d + (interleaved ? 2 * pair : pair))];
      double& b = x[at(i * d + (interleaved ? 2 * pair + 1 : pair + d / 2))];
      const double before = a;
      a = before * c - b * s, b = b * c + before * s;
    }
}
double own_position(int i) { return i; }

/// A call whose Q and K are rotated by their positions, in halves, and a kernel that rotates them itself, wrongly.
PlantedFault rope(const char* kind, const char* name, const std::function<void(Tensors& unrotated)>& wrongly, int n = 240) {
  const Setting s{.n = n, .mask = causal};
  return {kind, name, "",
          call_of(s,
                  [](Call& call) {
                    Tensors& t = call.heads[0];
                    rotate(t.q, t.n, t.d, false, own_position), rotate(t.k, t.n_k, t.d, false, own_position);
                    for (Values* x : {&t.q, &t.k})
                      for (double& y : *x) y = round(bf16, y);
                  }),
          [s, wrongly](const Call& call) {
            Loop x(call);
            Tensors t = call_of(s)(call.seed).own();
            wrongly(t);
            for (Values* part : {&t.q, &t.k})
              for (double& y : *part) y = round(bf16, y);
            x.t = t;
            return x.run();
          }};
}

}  // namespace

std::vector<PlantedFault> faults_of_places() {
  const auto columns_of_K = [](const std::function<int(int)>& from) {
    return loop([from](Loop& x, const Call& call) {
      for (int j = 0; j < x.t.n_k; ++j)
        for (int c = 0; c < x.t.d; ++c) x.t.k[at(j * x.t.d + c)] = call.own().k[at(j * x.t.d + from(c))];
    });
  };
  const auto shortened = [](int first, int end) {  // q.k leaves these columns out
    return loop([=](Loop& x, const Call&) {
      for (int i = 0; i < x.t.n; ++i)
        for (int c = first; c < end; ++c) x.t.q[at(i * x.t.d + c)] = 0;
    });
  };
  /// Stored n x h x d, read as h x n x d.
  const auto read_otherwise = [](Part part) {
    return loop([part](Loop& x, const Call& call) {
      const int rows = x.t.n, heads = static_cast<int>(call.heads.size()), d = x.t.d;
      for (int i = 0; i < rows; ++i) {
        const int flat = call.head * rows + i;
        for (int c = 0; c < d; ++c) (x.t.*part)[at(i * d + c)] = (call.heads[at(flat % heads)].*part)[at(flat / heads * d + c)];
      }
    });
  };
  const auto of_heads = [](int q, int k, int v) {
    return loop([=](Loop& x, const Call& call) {
      x.t.q = call.heads[at(q)].q, x.t.k = call.heads[at(k)].k, x.t.v = call.heads[at(v)].v;
    });
  };
  return {
      {"kv head collapse", "K and V of head 0", "", call_of(several_heads), of_heads(1, 0, 0)},
      {"GQA order", "interleaved groups|K and V of head 2", "",
       call_of(several_heads,
               [](Call& call) {
                 call.query_heads = 4, call.kv_heads = 2;
                 for (const int h : {1, 3})
                   call.heads[at(h)].k = call.heads[at(h - 1)].k, call.heads[at(h)].v = call.heads[at(h - 1)].v;
               }),
       of_heads(1, 2, 2)},
      {"Q of another head", "Q of head 3", "", call_of(several_heads), of_heads(3, 1, 1)},
      {"V of another head", "V of head 0", "", call_of(several_heads), of_heads(1, 1, 0)},
      {"head written to another's place", "head 2 instead of head 1|of head 2", "", call_of(several_heads), of_heads(2, 2, 2)},
      {"head unwritten", "output that is 0|never written", "", call_of(one_head),
       written([](Values& o, const Call&) { std::ranges::fill(o, 0.0); })},
      {"mean of two heads", "mean of heads? .*2", "", call_of(several_heads), written([](Values& o, const Call& call) {
         const Values other = correct_output(of_head(call, 2));
         for (std::size_t i = 0; i < o.size(); ++i) o[i] = (o[i] + other[i]) / 2;
       })},
      {"overrun into the next head", "K and V of head 0 .*rows 0 to 19", "0 to 19", call_of(several_heads),
       written([of_heads](Values& o, const Call& call) { std::copy_n(of_heads(1, 0, 0)(call).begin(), 20 * 64, o.begin()); })},
      {"int32 wrap", "rows 200 to 239 .*head 0", "200 to 239", call_of(several_heads), written([](Values& o, const Call& call) {
         std::copy_n(correct_output(of_head(call, 0)).begin(), 40 * 64, o.begin() + 200 * 64);
       })},
      {"packed sequence off by one", "rows shifted by 1", "", call_of({.mask = causal, .heads = 2}),
       written([](Values& o, const Call& call) {
         std::copy(o.begin() + 64, o.end(), o.begin());
         std::copy_n(correct_output(of_head(call, 0)).begin(), 64, o.end() - 64);
       })},
      {"rows of the tile before", "rows shifted by 64|rows 128 to 191 .*64 to 127", "128 to 191", call_of(one_head),
       rows_from([](int i) { return i / 64 == 2 ? i - 64 : i; })},
      {"two tiles of rows exchanged", "rows .*(exchanged|swapped|64 to 127)", "0 to 127", call_of(one_head),
       rows_from([](int i) { return i < 128 ? i ^ 64 : i; })},
      {"a row copied", "row 99", "row 100", call_of(one_head), rows_from([](int i) { return i == 100 ? 99 : i; })},
      {"rows of a tile never written", "never written|rows 64 to 95 .*0", "64 to 95", call_of(masked_by(causal)),
       rows_from([](int i) { return i >= 64 && i < 96 ? -1 : i; })},
      {"rows of a tile NaN", "^$|NaN", "64 to 95", call_of(masked_by(causal)),
       written([](Values& o, const Call&) { std::fill(o.begin() + 64 * 64, o.begin() + 96 * 64, std::nan("")); })},
      {"every 8th column unwritten", "every 8th column.*(0|never)", "every 8th column from column 7", call_of(one_head),
       written([](Values& o, const Call&) {
         for (std::size_t i = 7; i < o.size(); i += 8) o[i] = 0;
       })},
      {"columns from the next ones", "columns 32 to 39 .*40 to 47", "columns 32 to 39", call_of(one_head),
       written([](Values& o, const Call&) {
         for (std::size_t i = 0; i < o.size(); ++i)
           if (i % 64 / 8 == 4) o[i] = o[i + 8];
       })},
      {"a flipped bit", "^$|row 57, column 3", "row 57|column 3", call_of(one_head),
       written([](Values& o, const Call&) { o[57 * 64 + 3] *= -2; })},
      {"fragments of V transposed", "V.*8 x 8|8 x 8.*V", "", call_of(one_head),
       loop([](Loop& x, const Call&) { transpose_blocks(x.t.v, x.t.n_k, x.t.d_v); })},
      {"fragments of K transposed", "K.*8 x 8|8 x 8.*K", "", call_of(one_head),
       loop([](Loop& x, const Call&) { transpose_blocks(x.t.k, x.t.n_k, x.t.d); })},
      {"fragments of O transposed", "O.*8 x 8|8 x 8", "", call_of(one_head),
       written([](Values& o, const Call& call) { transpose_blocks(o, call.p.n, 64); })},
      {"lanes of K", "columns of K|K.*columns", "", call_of(one_head), columns_of_K([](int c) { return c ^ 1; })},
      {"halves of K's columns exchanged", "columns of K|K.*columns", "", call_of(masked_by(causal)),
       columns_of_K([](int c) { return c ^ 32; })},
      {"half of d", "columns 32 to 63 .*(0 times|left out)", "", call_of(one_head), shortened(32, 64)},
      {"last 8 columns of 72", "columns 64 to 71 .*(0 times|left out)", "", call_of({.d = 72}), shortened(64, 72)},
      {"MLA's RoPE columns left out", "columns 64 to 95 .*(0 times|left out)", "", call_of({.d = 96, .d_v = 64}),
       shortened(64, 96)},
      {"d padded with what follows", "(8 columns|columns 72 to 79|80) ", "", call_of({.d = 72}), loop([](Loop& x, const Call&) {
         x.S = [&x](int i, int j) {
           double s = x.dot(i, j);
           for (int c = 0; c < 8 && i + 1 < x.t.n && j + 1 < x.t.n_k; ++c)
             s += x.t.q[at((i + 1) * 72 + c)] * x.t.k[at((j + 1) * 72 + c)];
           return s * scale_of(x.p);
         };
       })},
      {"strides of Q", "Q .*(n x heads|heads x n)", "", call_of(several_heads), read_otherwise(&Tensors::q)},
      {"strides of V", "V .*(n x heads|heads x n)", "", call_of(several_heads), read_otherwise(&Tensors::v)},
      {"O written in another layout", "(O|output|rows).*(n x heads|heads x n)", "", call_of(several_heads),
       written([](Values& o, const Call& call) {
         std::vector<Values> all;
         for (int h = 0; h < 4; ++h) all.push_back(correct_output(of_head(call, h)));
         for (int i = 0; i < 240; ++i) {
           const int flat = 240 + i;
           std::copy_n(all[at(flat % 4)].begin() + flat / 4 * 64, 64, o.begin() + i * 64);
         }
       })},
      rope("RoPE of K interleaved", "RoPE.*interleaved",
           [](Tensors& t) { rotate(t.q, t.n, t.d, false, own_position), rotate(t.k, t.n_k, t.d, true, own_position); }),
      rope("RoPE of Q interleaved", "RoPE.*interleaved",
           [](Tensors& t) { rotate(t.q, t.n, t.d, true, own_position), rotate(t.k, t.n_k, t.d, false, own_position); }),
      rope("RoPE of K one position late", "RoPE.*(position|by 1|one)",
           [](Tensors& t) {
             rotate(t.q, t.n, t.d, false, own_position);
             rotate(t.k, t.n_k, t.d, false, [](int i) { return i + 1.0; });
           }),
      rope("RoPE of Q missing", "RoPE.*(missing|no |without|none|never)",
           [](Tensors& t) { rotate(t.k, t.n_k, t.d, false, own_position); }),
      rope("RoPE missing", "RoPE.*(missing|no |without|none|never)", [](Tensors&) {}),
      rope(
          "RoPE positions in bf16", "RoPE.*bf16",
          [](Tensors& t) {
            const auto rounded = [](int i) { return round(bf16, static_cast<double>(i)); };
            rotate(t.q, t.n, t.d, false, rounded), rotate(t.k, t.n_k, t.d, false, rounded);
          },
          400),
  };
}

}  // namespace attoscope::planted
