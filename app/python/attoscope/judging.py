"""Is an attention kernel's output rounded, or wrong? `attoscope judge` from Python."""
from __future__ import annotations

import math
import os
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional

from .errors import BadOption, BadTensor, CouldNotRun, DeadLink, in_one_frame
from .program import is_file_name, json_of, options_of, run_program, temporary_folder
from .progress import in_notebook
from .tensors import Tensor, check_attention, integers_of, remove, save_safetensors, tensor_of
from .verdict import Verdict
from .words import OF_HEADS, PROBLEM, heads_last, in_words

WRONG = 3  #: exit code of `attoscope judge`


@in_one_frame
def judge(
    o: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    do: Any = None,
    dq: Any = None,
    dk: Any = None,
    dv: Any = None,
    lse: Any = None,
    dlse: Any = None,
    dsink: Any = None,
    mask: Any = None,
    mask_file: "os.PathLike[str] | str | None" = None,
    document_ids: Any = None,
    scale: Any = None,
    softcap: Any = None,
    alibi: Any = None,
    sink: Any = None,
    empty_rows: Optional[str] = None,
    format: Any = None,
    policy: Optional[str] = None,
    like: Optional[str] = None,
    head: Optional[int] = None,
    layout: Optional[str] = None,
    scales: Optional[Mapping[str, Any]] = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    leftpad_k: Any = None,
    block_table: Any = None,
    cache_seqlens: Any = None,
    page_layout: Optional[str] = None,
    kv: Any = None,
    kv_indptr: Any = None,
    kv_indices: Any = None,
    kv_last_page_len: Any = None,
    threads: Optional[int] = None,
    save: "os.PathLike[str] | str | None" = None,
    report: "os.PathLike[str] | str | bool | None" = None,
) -> Verdict:
    """Judges a kernel's output `o` on `q`, `k`, `v`, all heads at once.

    The tolerance is derived from the errors of correct kernels of the same kind on the same tensors.

    Shapes are [n, d], [heads, n, d] or [batch, heads, n, d]; with `layout="nhd"` or "bnhd" heads come after tokens. O may have
    its heads before or after tokens. K and V may have fewer heads and other numbers of tokens.

    With `do`, the gradient of O, also judges any of the gradients `dq`, `dk` and `dv` of your kernel's backward pass. dK and dV have the
    heads of K and V (sums over the group), or those of Q. `dlse` is the gradient of the log-sum-exp, `dsink` the gradient of the sink,
    one number for each head.

    `lse` is your kernel's log-sum-exp, [batch, heads, n] or with tokens before heads, natural or in base 2; judged as well.

    `mask` is "causal", "window:W" (a query and the W - 1 keys before it), "padding:W" (causal without the first W keys), None, or a
    tensor [..., n, n_k]: booleans or integers (True or 1: seen), or numbers that are added to the scores. `mask_file` names a file with
    such a tensor, to which the rule of `mask` is added. `document_ids`, [n_k] or [batch, n_k], are whole numbers or a file's name: a query
    sees only keys of its own document. `empty_rows` is the output of queries that see no key, "zeros" or "nan". `scale`, `softcap`,
    `alibi` (a slope) and `sink` (a logit in every denominator) are numbers, or lists or tensors of one for each head, or the name of
    a file of them. `format` is the format of P in the kernel: torch.bfloat16, "bfloat16" or "bf16"; by default the type of Q.
    `policy` or `like` name your kernel's rounding policy or kind of kernel (`attoscope presets` lists them).

    `scales` are the factors of stored tensors, such as {"k": k_scale, "v": 0.02}: numbers, tensors or names of files, one for
    all, or one for each head, token, channel or block, as the shape tells.

    Each sequence of packed and paged calls is judged as a call of its own; heads come after tokens unless `layout` says otherwise.
    `cu_seqlens_q` and `cu_seqlens_k` (by default that of Q) are the bounds of sequences, `leftpad_k` the padding before their keys,
    `cache_seqlens` their numbers of keys, `block_table` their pages [sequences, pages], or in FlashInfer's form `kv_indptr`,
    `kv_indices` and `kv_last_page_len`. Pages are [page, heads, d], with `page_layout="HND"` [heads, page, d]; `kv` holds K and V in one
    tensor; `k` and `v` are then None. A tensor `mask` is that of each sequence; all have as many tokens.

    `save` keeps the tensors in that .safetensors file, so that the command of the verdict can be run again. `report` writes an HTML
    page into that file; True keeps it only in the verdict (the default in a notebook); False makes none.

    Raises BadTensor, BadOption, ProgramMissing, OtherVersion or CouldNotRun, all subclasses of AttoscopeError.
    """
    typed = locals()
    given = {name: typed[name] for name in "qkvo" if name in "qo" or kv is None or typed[name] is not None}
    call, gradients = dict(given), {name: typed[name] for name in _GRADIENTS if typed[name] is not None}
    given.update(gradients)
    integers = {name: typed[name] if is_file_name(typed[name]) else integers_of(typed[name], name)
                for name in (*_TABLES, "document_ids") if typed[name] is not None}
    tables = [name for name in _TABLES if name in integers]
    multipliers = {**_scales_of(scales or {}), **integers, **({} if kv is None else {"kv": kv})}
    in_memory = {name: tensor_of(value, name) for name, value in {**given, **multipliers}.items() if not is_file_name(value)}
    options = in_words({name: typed[name] for name in (*PROBLEM, "mask_file", "empty_rows", "policy", "like", "head", "threads", "page_layout")},
                       in_memory, packed=bool(tables))
    if isinstance(options["mask"], Tensor):
        if options.pop("mask_file") is not None:
            raise BadOption("mask is a tensor and mask_file names another, expected one of them")
        multipliers["mask"] = in_memory["mask"] = options.pop("mask")
    if not tables:
        check_attention({name: in_memory[name] for name in call if name in in_memory}, heads_last(options["layout"]))
    if options["layout"] is None and "q" in in_memory and not tables:
        options["layout"] = "bhnd"[4 - max(3, len(in_memory["q"].shape)):]  # the meaning of these shapes here, even if they fit
                                                                            # other layouts
    if save is not None and not _path(save).endswith(".safetensors"):
        raise BadOption(f"save is {_path(save)!r}, expected the name of a .safetensors file")
    asked = in_notebook() if report is None else report
    own_file = _case_file() if save is None and in_memory and report is None and asked else None
    save = own_file or save
    with temporary_folder(bool(in_memory and save is None) or asked is True) as folder:
        tensors_file = _path(save) if save is not None else os.path.join(folder, "tensors.safetensors") if folder else ""
        page = os.path.join(folder, "report.html") if asked is True else _path(asked) if asked else None
        if in_memory:
            save_safetensors(tensors_file, {name: value for name, value in {**given, **multipliers}.items() if name in in_memory})
        kept = not in_memory or save is not None
        places = {_option_of(name): f"{tensors_file}:{name}" if name in in_memory else _path(value)
                  for name, value in {**given, **multipliers}.items()}
        found = _answer(places, options, page, kept)
        verdict = Verdict(found, _text_of(page) if page else None, lambda: _view(found, {**call, **multipliers}, gradients, options, kept),
                          (own_file or "") if kept else None)
        if own_file:
            weakref.finalize(verdict, remove, own_file)
        return verdict


_TABLES = ("cu_seqlens_q", "cu_seqlens_k", "leftpad_k", "block_table", "cache_seqlens", "kv_indptr", "kv_indices", "kv_last_page_len")
_GRADIENTS = ("do", "dq", "dk", "dv", "lse", "dlse", "dsink")


def _answer(places: Dict[str, str], options: Dict[str, Any], page: Optional[str], kept: bool) -> Dict[str, Any]:
    """The program's verdict on tensors in these files."""
    numbers = {name: ",".join(map(str, options[name])) for name in OF_HEADS if isinstance(options[name], list)}
    answer = run_program(["judge", "--json=-", *options_of({**places, **options, **numbers, "report": page, "unsaved": not kept})],
                         good=(0, WRONG), watched=True)
    found = json_of(answer)
    _check(found, answer.code)
    return found if kept else {**found, "command": "", "link": ""}


def _ratio(row: Mapping[str, Any]) -> float:
    ratio = float("inf" if row["ratio"] is None else row["ratio"])
    return ratio if ratio == ratio else float("inf")


def _scales_of(scales: Mapping[str, Any]) -> Dict[str, Any]:
    """{"k": 0.5} as {"k_scale": [0.5]}."""
    for name in scales:
        if name not in ("q", "k", "v", "o"):
            raise BadOption(f"scales has {name!r}, expected q, k, v or o")
    return {f"{name}_scale": [value] if isinstance(value, (int, float)) else value for name, value in scales.items()}


def _option_of(name: str) -> str:
    """Option of a tensor: k_scale is --scale-k, a mask tensor --mask-file."""
    if name == "mask":
        return "mask_file"
    return "scale_" + name[0] if name.endswith("_scale") else name


def _case_file() -> str:
    """A file for the tensors of a notebook's verdict, so that its link shows them in the window. Removes the previous file."""
    import atexit
    import shutil
    import tempfile

    if not _cases:
        _cases.append(tempfile.mkdtemp(prefix="attoscope-"))
        atexit.register(shutil.rmtree, _cases[0], True)
    for name in os.listdir(_cases[0]):
        remove(os.path.join(_cases[0], name))
    _cases.append(os.path.join(_cases[0], f"case-{len(_cases)}.safetensors"))
    return _cases[-1]


_cases: List[str] = []  #: the folder, and all files made in it


def _view(found: Dict[str, Any], given: Dict[str, Any], gradients: Dict[str, Any], options: Dict[str, Any], kept: bool) -> str:
    """Shows the judged tensors in the window."""
    if len(given) > 4 and not kept:
        raise BadOption("the window cannot show tensors whose scales or sequences are in no file: give judge a file for save")
    if len(given) > 4 or any(is_file_name(value) for value in given.values()):
        if not found.get("link"):
            raise BadOption("the window cannot show these files: call attoscope.view with the tensors")
        run_program(["open", str(found["link"])], failure=DeadLink)
        return str(found["link"])
    from .window import view

    beside = _beside(found, gradients)
    head = int(max(found["gradients" if "do" in beside else "table"], key=_ratio)["head"])
    problem = {**{key: options[key] for key in PROBLEM}, "format": found["format"]}
    return view(given["q"], given["k"], given["v"], given["o"], head=head, **beside, **problem)


def _beside(found: Dict[str, Any], gradients: Dict[str, Any]) -> Dict[str, Any]:
    """The log-sum-exp, and the gradients of a rounded output: the window shows them instead of the verdict on it, if there are one dK
    and one dV for each head of Q."""
    shown = {name: tensor_of(value, name) for name, value in gradients.items() if not is_file_name(value)}
    computed = [name for name in ("dq", "dk", "dv") if name in gradients]
    rows = {name: found["heads"] * found["n" if name == "dq" else "n_k"] for name in computed}
    forward = [*found["table"], *filter(None, [found.get("lse")])]
    backward = computed and "do" in shown and "dlse" not in gradients and all(row["verdict"] == "rounded" for row in forward) and \
        all(name in shown and math.prod(shown[name].shape[:-1]) == rows[name] for name in computed)
    return {name: t for name, t in shown.items() if name == "lse" or backward and name in ("do", *computed)}


def _path(value: Any) -> str:
    return os.path.abspath(os.fspath(value)) if hasattr(value, "__fspath__") else str(value)


def _text_of(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as page:
            return page.read()
    except OSError as error:
        raise CouldNotRun(f"{file} cannot be read: {error.strerror or error}") from error


def _check(found: Dict[str, Any], code: int) -> None:
    """Raises CouldNotRun if a verdict is incomplete or contradicts its exit code."""
    expected = {"ok": bool, "verdict": str, "sentences": list, "table": list}
    for key, kind in expected.items():
        if not isinstance(found.get(key), kind):
            raise CouldNotRun(f"the program's verdict has no {key}, so that nothing follows from it")
    if found["ok"] != (code == 0) or not found["sentences"]:
        raise CouldNotRun(f"the program's verdict says ok: {found['ok']} and its exit code is {code}")


@in_one_frame
def assert_attention_close(o: Any, q: Any, k: Any, v: Any, **options: Any) -> Verdict:
    """Raises AssertionError if `judge` finds the output wrong; else returns the verdict.

    The error's text: three sentences (conclusion, evidence, what to try), the assumed D, and the places of tensors and report, or
    how to get them. Takes the keyword arguments of `judge`. With `report="kernel.html"` the report is always written.
    """
    __tracebackhide__ = True
    found = judge(o, q, k, v, **options)
    if not found.ok:
        raise AssertionError("\n".join([*found.sentences, *found.derivation[:1], _where_to_look(options)]))
    return found


@in_one_frame
def check(function: Callable[..., Any], q: Any, k: Any, v: Any, do: Any = None, seed: int = 1, **options: Any) -> Verdict:
    """Runs `function(q, k, v)`, a kernel of torch with a backward pass, and judges its output and its gradients.

    q, k and v are torch's tensors [batch, heads, n, d] (or of fewer axes). `do` is the gradient of the output; without it N(0, 1) is drawn
    from `seed`. The function may return O, or O and others. A gradient that autograd does not return counts as 0. Takes the keyword
    arguments of `judge`. A wrong kernel raises no exception: look at the verdict.
    """
    if not all(hasattr(x, "requires_grad_") for x in (q, k, v)):
        raise BadTensor("check takes tensors of torch: q, k and v, through which it calls the function")
    import importlib

    torch = importlib.import_module("torch")
    inputs = [x.detach().clone().requires_grad_(True) for x in (q, k, v)]
    made = function(*inputs)
    o = made[0] if isinstance(made, (tuple, list)) and made else made
    if not hasattr(o, "detach"):
        raise BadTensor(f"the function returned {type(o).__name__}, expected a tensor of torch, or a tuple that begins with one")
    if do is None:
        drawn = torch.randn(tuple(o.shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float32)
        do = drawn.to(o.dtype).to(o.device)
    found = torch.autograd.grad(o, inputs, do, allow_unused=True) if getattr(o, "requires_grad", True) else (None, None, None)
    dq, dk, dv = (torch.zeros_like(x) if grad is None else grad for x, grad in zip(inputs, found))
    return judge(o.detach(), *(x.detach() for x in inputs), do=do, dq=dq, dk=dk, dv=dv, **options)


def _where_to_look(options: Mapping[str, Any]) -> str:
    """Sentence on where tensors and report are, or on how to get them."""
    save, report = options.get("save"), options.get("report")
    tensors = f"The tensors are in {_path(save)}" if save else 'save="case.safetensors" keeps the tensors'
    page = f"the report is {_path(report)}" if report and report is not True else 'report="report.html" shows where the errors lie'
    return f"{tensors}, {page}."
