/// Training on a GPU: its launches that are compiled apart. Only *.cu include this.
#pragma once

#include "kernels/gpu.h"
#include "kernels/train/head_tasks.h"
#include "kernels/train/product_block.h"

namespace attoscope {

/// Every block and piece of a product, in blocks of LargeTile or SmallTile.
void launch_product(const ProductTask& task, bool large, const Stream& stream);

/// What the warps of a batch need; its rules lie on the host.
HeadRoom gpu_head_room(const HeadBatch<float>& batch);
void launch_attend(const AttendTask& task, const Stream& stream);
void launch_differentiate_rows(const DifferentiateTask& task, const Stream& stream);
void launch_differentiate_keys(const DifferentiateTask& task, const Stream& stream);

}  // namespace attoscope
