"""`attoscope run` and `attoscope sweep` with options as keyword arguments."""
from __future__ import annotations

import contextlib
import os
from typing import Any, Dict, Iterator, List, Mapping, Sequence

from .errors import BadOption, in_one_frame
from .program import is_file_name, json_of, options_of, run_program, temporary_folder
from .tensors import check_attention, save_safetensors, tensor_of


@in_one_frame
def run(**options: Any) -> Dict[str, Any]:
    """One experiment: errors of methods a and b from the exact result, as in the JSON of `attoscope run --json`.

    Options are those of `attoscope run --help`, with underscores: `block_k=32`. `set` takes a mapping or a list, `attribute=True` is
    a flag, `input` also takes the tensors (q, k, v).

    >>> result = run(input="normal", n=64, d=16, format="bf16", policy="hw")
    >>> result["rows"], result["a"]["max_abs"] < result["b"]["max_abs"]
    (64, True)
    """
    with _inputs(options) as words:
        return json_of(run_program(["run", *words, "--json=-"]))


@in_one_frame
def sweep(vary: "Mapping[str, Any] | str | Sequence[str]", **options: Any) -> List[Dict[str, Any]]:
    """Experiments with one or two parameters varied, over seeds: a list of rows {parameter: value, ..., mean, std, min, max, seeds}.

    `vary` is {"format": ["bf16", "fp16"], "n": "128:2048:x2"}, or as on the command line. The other options are those of
    `attoscope sweep --help`, with underscores; `measure` names what the numbers are.

    >>> [(row["block_k"], row["seeds"]) for row in sweep({"block_k": [16, 32]}, n=64, d=16, seeds=2)]
    [('16', 2), ('32', 2)]
    """
    axes = vary if isinstance(vary, (str, Mapping)) else list(vary)
    with _inputs(options) as words:
        found = json_of(run_program(["sweep", *options_of({"vary": axes}), *words, "--json=-"], watched=True))
    keys = [text.partition("=")[0] for text in found["vary"]]
    return [{**dict(zip(keys, row["values"])), **{name: value for name, value in row.items() if name != "values"}} for row in found["rows"]]


@contextlib.contextmanager
def _inputs(options: Mapping[str, Any]) -> Iterator[List[str]]:
    """The options as words of a command line; tensors among them are in a temporary file meanwhile."""
    taken = [name for name in ("json", "csv", "markdown", "latex", "quiet") if name in options]
    if taken:
        raise BadOption(f"{taken[0]} is no option here: the numbers come back as Python's own")
    given = options.get("input")
    if given is None or is_file_name(given):
        yield options_of(options)
        return
    tensors = _tensors(given)
    with temporary_folder() as folder:
        file = os.path.join(folder, "inputs.safetensors")
        save_safetensors(file, tensors)
        yield options_of({**options, "input": file})


def _tensors(given: Any) -> Dict[str, Any]:
    if not isinstance(given, (list, tuple)) or len(given) != 3:
        raise BadOption("input is neither a text nor the three tensors (q, k, v)")
    if all(is_file_name(value) for value in given):
        raise BadOption("input names three files: as on the command line they are one text, 'q.npy,k.npy,v.npy'")
    tensors = {name: tensor_of(value, name) for name, value in zip("qkv", given)}
    check_attention(tensors)
    return tensors
