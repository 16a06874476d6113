/// The C library's, and a macro that glibc has there.
#pragma once

#include_next <unistd.h>

/// A call's answer, once no signal interrupts it: none does in a browser.
#define TEMP_FAILURE_RETRY(call) (call)
