/// Makes the names of `app` and `ui` visible in `testing`: tests use several rooms.
#pragma once

namespace attoscope {

namespace app {}
namespace ui {}

namespace testing {
using namespace app;
using namespace ui;
}  // namespace testing

}  // namespace attoscope
