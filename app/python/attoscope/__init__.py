"""Whether an attention kernel's output is rounded or wrong."""
