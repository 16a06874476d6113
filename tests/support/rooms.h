/// Tests look at several rooms at once: users of `testing` see the names of `app` and `ui`, too.
#pragma once

namespace attoscope {

namespace app {}
namespace ui {}

namespace testing {
using namespace app;
using namespace ui;
}  // namespace testing

}  // namespace attoscope
