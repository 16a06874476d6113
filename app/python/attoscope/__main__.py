"""`attoscope` and `python -m attoscope`: the program itself, in the place of this process."""
from __future__ import annotations

import os
import sys
from typing import NoReturn

from .errors import AttoscopeError
from .program import program


def main() -> NoReturn:
    """Becomes the program, with the same arguments. Says why where it cannot."""
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
