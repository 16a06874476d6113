"""`attoscope` and `python -m attoscope`: replace this process by the program."""
from __future__ import annotations

import os
import sys
from typing import NoReturn

from .errors import AttoscopeError
from .program import program


def main() -> NoReturn:
    """Replaces this process by the program, with the same arguments. Prints why if it cannot."""
    try:
        path = program()
        os.execv(path, [path, *sys.argv[1:]])
    except AttoscopeError as error:
        sentence = str(error)
    except OSError as error:
        sentence = f"{path} cannot be started: {error.strerror or error}"
    print(f"attoscope: {sentence}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
