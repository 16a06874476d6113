/// Version of the program's arithmetic: results kept on disk are valid under one version alone.
#pragma once

namespace attoscope {

/// Raise it by one whenever an experiment gives other numbers than before, by a changed rule or a corrected error; every point
/// that was kept is then computed again. tests/kernels/arithmetic_version_test.cpp fails until that is done.
inline constexpr int arithmetic_version = 3;

}  // namespace attoscope
