/// The C library's unistd.h, and a macro that glibc defines there.
#pragma once

#include_next <unistd.h>

/// The call itself: no signal interrupts it in a browser.
#define TEMP_FAILURE_RETRY(call) (call)
