/// Version of the program's arithmetic: results kept on disk are valid under one version alone.
#pragma once

namespace attoscope {

/// Raise it by one whenever a changed rule or a corrected error changes the numbers of an experiment; every kept point is then
/// recomputed. tests/kernels/arithmetic_version_test.cpp fails until that is done.
inline constexpr int arithmetic_version = 3;

}  // namespace attoscope
