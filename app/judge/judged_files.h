/// Q, K, V and O of one call of attention, all heads, from files.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/input.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// The order of the dimensions: batch, heads, tokens, d, as PyTorch has it, or batch, tokens, heads, d, as FlashAttention does.
enum class HeadLayout : std::uint8_t { bhnd, bnhd };
inline constexpr std::array<std::string_view, 2> head_layout_names{"bhnd", "bnhd"};

/// Where the four tensors are: each FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR. What is not named lies in `input`, a
/// .safetensors file, by its usual name.
struct JudgeSources {
  std::string input, q, k, v, o;
  HeadLayout layout = HeadLayout::bhnd;
};

/// The four tensors, opened and found to fit each other; heads are read one by one.
class JudgedFiles {
 public:
  /// Throws std::runtime_error in a sentence that names the file, the tensor, its shape and what was expected.
  explicit JudgedFiles(const JudgeSources& sources);

  /// Heads of Q and O, those of all batches in a row; tokens; d.
  int heads() const { return shape_.batch * shape_.heads; }
  int n() const { return shape_.n; }
  int d() const { return shape_.d; }
  /// Heads of K and V, in one batch.
  int kv_heads() const { return kv_heads_; }
  ElementType type_of_q() const { return parts_[0].tensor.type; }
  ElementType type_of_o() const { return parts_[3].tensor.type; }

  /// Q of this head, and K and V of the one that it shares with its group.
  std::shared_ptr<const Tensors> inputs(int head) const;
  std::shared_ptr<const std::vector<double>> output(int head) const;
  /// What a window would open to show this head: the .safetensors file that holds all four by their usual names, or the four
  /// .npy files; empty where it cannot show them: grouped heads, tokens before heads, other names.
  std::vector<std::string> files_for_window(int head) const;
  /// All heads' inputs, to find out whether the kernel used another.
  OtherHeads other_heads() const;

 private:
  struct Shape {
    int batch = 1, heads = 1, n = 0, d = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  struct Part {
    std::shared_ptr<const InputFile> file;
    StoredTensor tensor;
    HeadLayout layout = HeadLayout::bhnd;
  };
  static Part open_part(const JudgeSources& sources, int role);
  static Shape shape_of(const StoredTensor& tensor, HeadLayout layout);
  void check_shapes();
  std::vector<double> head_of(int part, int head) const;

  std::array<Part, 4> parts_;
  Shape shape_;
  int kv_heads_ = 1;
};

}  // namespace attoscope
