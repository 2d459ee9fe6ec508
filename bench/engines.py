# SPDX-License-Identifier: Apache-2.0
"""The engines that are compared. Each loader gives (call, facts): `call()` runs the model on the inputs given beforehand and
returns its outputs as NumPy arrays in the model's order. Those that take free dimensions can also be opened without inputs: that gives
(bind, facts), where `bind(inputs)` is such a call, and one model serves inputs of several sizes.

f32 is pinned where an engine would choose by itself. An engine that cannot do what is asked raises Unsupported.
"""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build/bench/compiled"
COMPILE_SECONDS = 600  # after which our compiler is given up on
PLAIN = re.compile(r"kernel `(.+?)` runs as plain loops: (.*)")


class Unsupported(Exception):
    pass


def only_f32(precision):
    if precision != "f32":
        raise Unsupported(f"has no {precision} on this machine")


def bound(open_engine):
    """The loader of an engine that can be opened without inputs."""
    def load(model, inputs, threads, precision):
        bind, facts = open_engine(model, threads, precision)
        return bind(inputs), facts
    return load


def open_tilewright(model, threads, precision, dims={}):
    import tilewright as tw
    path, facts = compiled(model, precision, dims=dims)
    start = time.perf_counter()
    module = tw.load(path, threads=threads)
    facts["load_s"] = time.perf_counter() - start

    def bind(inputs):
        given = [inputs[name] for name, _, _ in module.inputs]
        return lambda: module.run(given)
    return bind, facts


def compiled(model, precision="f32", skip=(), dims={}):
    """The .twm of a model, made by the command line without its cache; kept as long as compiler and model are the same. `dims` are
    values of free dimensions. Its facts name the kernels that run as plain loops, and why."""
    program = ROOT / "build/release/tilewright"
    flags = ["--precision", precision] if precision != "f32" else []
    if flags and "--precision" not in subprocess.run([program, "compile", "--help"], capture_output=True, text=True).stdout:
        raise Unsupported("`tilewright compile` has no --precision")
    for name in skip:
        flags += ["--skip", name]
    for name, value in dims.items():
        flags += ["--dim", f"{name}={value}"]
    stamp = "-".join(f"{int(p.stat().st_mtime):x}" for p in (program, model))
    out = CACHE / f"{model.stem}-{stamp}{''.join(flags).replace('--', '-').replace('/', '_')}.twm"
    said = out.with_name(out.name + ".said")

    def build(part):
        command = [program, "compile", model, "-o", part, "--no-cache", "--no-shipped-records", *flags]
        said.write_text(checked(command, COMPILE_SECONDS).stderr)
    facts = kept(out, build)
    return out, facts | {"plain": PLAIN.findall(said.read_text() if said.exists() else "")}


def kept(out, build):
    """Makes a file once; gives the seconds and the peak memory that it took."""
    note = out.with_name(out.name + ".facts")
    if not (out.exists() and note.exists()):
        out.parent.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        build(out.with_name(out.name + ".part"))
        note.write_text(f"{time.perf_counter() - start} {children_megabytes()}")
        out.with_name(out.name + ".part").rename(out)
    seconds, megabytes = map(float, note.read_text().split())
    return {"compile_s": seconds, "compile_mb": megabytes, "file_mb": out.stat().st_size / 1e6}


def children_megabytes():
    import resource
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def open_onnxruntime(model, threads, precision):
    import onnxruntime as ort
    only_f32(precision)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def bind(inputs):
        given = {i.name: inputs[i.name] for i in session.get_inputs()}
        return lambda: session.run(None, given)
    return bind, {}


def open_openvino(model, threads, precision):
    import openvino as ov
    core = ov.Core()
    if precision != "f32" and precision.upper() not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        raise Unsupported(f"{precision} is not among the CPU plug-in's capabilities")
    compiled_model = core.compile_model(str(model), "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision,
                                                            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
    request = compiled_model.create_infer_request()
    outputs = list(compiled_model.outputs)

    def bind(inputs):
        given = {name: inputs[name] for i in compiled_model.inputs for name in i.names if name in inputs}

        def call():
            results = request.infer(given, share_inputs=True, share_outputs=True)
            return [results[o] for o in outputs]
        return call
    return bind, {}


def torch_compile(model, inputs, threads, precision):
    """Inductor with freezing: weights are constants and packed beforehand."""
    import zoo
    if model.stem not in zoo.TORCH:
        raise Unsupported("comes as ONNX: there is no torch module")
    os.environ["TORCHINDUCTOR_FREEZING"] = "1"
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(CACHE / f"inductor-{threads}-{precision}"))
    import torch
    import torch._inductor.config
    torch._inductor.config.freezing = True
    torch._inductor.config.compile_threads = 1
    torch.set_num_threads(threads)
    module, _, _ = zoo.TORCH[model.stem]()
    run = torch.compile(module.eval(), dynamic=False)
    given = [torch.from_numpy(a) for a in inputs.values()]

    def call():
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            results = run(*given)
        return [t.float().numpy() if t.is_floating_point() else t.numpy()
                for t in (results if isinstance(results, (tuple, list)) else [results])]
    start = time.perf_counter()
    call()
    return call, {"compile_s": time.perf_counter() - start}


def iree(model, inputs, threads, precision):
    only_f32(precision)
    tools = Path(sys.executable).parent

    def build(part):
        text = part.with_suffix(".mlir")
        checked([tools / "iree-import-onnx", model, "--opset-version", "17", "-o", text])
        command = [tools / "iree-compile", text, "-o", part, "--iree-hal-target-device=local", "--iree-opt-level=O3",
                   "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]
        try:
            checked(command)
        except RuntimeError as e:
            if "stack allocation limit" not in str(e):
                raise
            checked([*command, "--iree-llvmcpu-stack-allocation-limit=262144"])
        text.unlink()
    path = CACHE / f"{model.stem}-{int(model.stat().st_mtime):x}.vmfb"
    facts = kept(path, build)
    start = time.perf_counter()
    import iree.runtime as rt
    if threads > 1:
        rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    context = rt.SystemContext(config=rt.Config("local-task" if threads > 1 else "local-sync"))
    context.add_vm_module(rt.VmModule.mmap(context.instance, str(path)))
    module = next(m for name, m in context.modules.items() if name not in ("hal", "io_parameters"))
    name = next(n for n in module.vm_module.function_names if not n.startswith("__") and not n.endswith("$async"))
    given = list(inputs.values())
    facts["load_s"] = time.perf_counter() - start

    def call():
        results = module[name](*given)
        return [r.to_host() for r in (results if isinstance(results, (tuple, list)) else [results])]
    return call, facts


def checked(command, seconds=None):
    try:
        result = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{Path(command[0]).name}: not done after {seconds} s") from None
    if result.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {result.stderr.strip() or f'ended with status {result.returncode}'}")
    return result


def tvm(model, inputs, threads, precision):
    """Relax with its default pipeline, which does not tune."""
    return tvm_module(model, inputs, precision, 0)


def tvm_tuned(model, inputs, threads, precision):
    """Relax after MetaSchedule: at most five minutes, at most 64 trials of each task. Weights stay as they lie: to pack them, it would
    want them as inputs."""
    return tvm_module(model, inputs, precision, 300)


def tvm_module(model, inputs, precision, seconds):
    only_f32(precision)
    import multiprocessing
    import tempfile

    import onnx
    import tvm as t
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.target import codegen

    def tuned(module, target):
        def pipeline(folder, trials):
            return relax.pipeline.static_shape_tuning_pipeline(trials, target, folder, max_trials_per_task=64)(module)
        with tempfile.TemporaryDirectory() as folder:
            search = multiprocessing.get_context("fork").Process(target=pipeline, args=(folder, 100000))
            search.start()
            search.join(seconds)
            ended = search.exitcode
            search.kill()
            search.join()
            records = Path(folder) / "database_tuning_record.json"
            if ended not in (None, 0) or not records.exists() or not records.read_text().strip():
                raise Unsupported(f"MetaSchedule measured nothing (it ended with status {ended})")
            return pipeline(folder, 0)

    def build(part):
        target = t.target.Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu(), "num-cores": os.cpu_count()})
        shapes = {name: list(a.shape) for name, a in inputs.items()}
        library = part.with_suffix(".so")
        module = from_onnx(onnx.load(model), shapes, keep_params_in_input=False)
        t.compile(tuned(module, target) if seconds else module, target).export_library(str(library))
        library.rename(part)
    path = CACHE / f"{model.stem}-{int(model.stat().st_mtime):x}-tvm-{seconds}.so"
    facts = kept(path, build)
    start = time.perf_counter()
    machine = relax.VirtualMachine(t.runtime.load_module(str(path)), t.cpu())
    given = [t.runtime.tensor(a, t.cpu()) for a in inputs.values()]
    facts["load_s"] = time.perf_counter() - start

    def flat(result):
        return [result.numpy()] if hasattr(result, "numpy") else [y for x in result for y in flat(x)]
    return lambda: flat(machine["main"](*given)), facts


IMPORTS = {"tilewright": "tilewright", "onnxruntime": "onnxruntime", "openvino": "openvino", "torch_compile": "torch",
           "iree": "iree.runtime", "tvm": "tvm", "tvm_tuned": "tvm"}
OPEN = {"tilewright": open_tilewright, "onnxruntime": open_onnxruntime, "openvino": open_openvino}
ENGINES = {name: bound(engine) for name, engine in OPEN.items()} | {
    "torch_compile": torch_compile, "iree": iree, "tvm": tvm, "tvm_tuned": tvm_tuned}


def inputs_of(model):
    return arrays_of(model.with_suffix(".npz"))


def arrays_of(path):
    with np.load(path) as file:
        return {name: np.ascontiguousarray(a) if a.ndim else a for name, a in file.items()}


def one_line(text):
    """What an engine says, without the places in its own source that OpenVINO begins with."""
    text = re.sub(r"(Exception from|Check '[^']*' failed at) \S+:\d+:\s", "", str(text))
    return " ".join(text.split())[:300]
