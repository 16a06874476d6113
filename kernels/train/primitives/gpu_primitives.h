/// Training on a GPU: launches that have their own .cu files. Only *.cu include this.
#pragma once

#include "kernels/gpu/gpu.h"
#include "kernels/train/head/head_tasks.h"
#include "kernels/train/primitives/product_block.h"

namespace attoscope {

/// Launches every block and piece of a product, in blocks of LargeTile or SmallTile.
void launch_product(const ProductTask& task, bool large, const Stream& stream);

/// Loads the kernels of these files on the current GPU.
void load_products();
void load_heads();

/// Memory of the teams of a batch; the batch's rules are on the host.
HeadLaunchSize gpu_head_launch_size(const HeadBatch<float>& batch);
void launch_attend(const AttendTask& task, const Stream& stream);
void launch_differentiate_rows(const DifferentiateTask& task, const Stream& stream);
void launch_differentiate_keys(const DifferentiateTask& task, const Stream& stream);

}  // namespace attoscope
