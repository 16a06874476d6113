#!/usr/bin/env python3
"""Judges the calls of a folder through the package, for tests/app/one_verdict_test.cpp.

  ATTOSCOPE=PROGRAM tests/python/one_verdict.py FOLDER     reads FOLDER/asked.json, writes FOLDER/answers.json
"""
import json
import pathlib
import struct
import sys
from typing import Any, List

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent.parent / "app" / "python"), str(pathlib.Path(__file__).resolve().parent)]

import attoscope  # noqa: E402
from support import read_safetensors  # noqa: E402


def nested(values: List[float], shape: List[int]) -> Any:
    if len(shape) == 1:
        return values
    size = len(values) // shape[0]
    return [nested(values[i * size:(i + 1) * size], shape[1:]) for i in range(shape[0])]


def table(file: str, mask: str) -> List[Any]:
    held, _ = read_safetensors(file)
    tensors = {name: nested(list(struct.unpack(f"<{len(data) // 4}f", data)), shape) for name, (_, shape, data) in held.items()}
    return attoscope.judge(tensors["o"], tensors["q"], tensors["k"], tensors["v"], mask=mask).json["table"]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    asked = json.loads((folder / "asked.json").read_text())
    (folder / "answers.json").write_text(json.dumps([table(call["file"], call["mask"]) for call in asked]))


main()
