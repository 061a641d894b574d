# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bag-of-words model: a table of word vectors with row-sparse gradients, and a
dense layer. Level 0 with an optimizer of choice, and the same in NumPy.
embedding.mlir is the program with Adam."""
import numpy as np

WORDS, WIDTH, SAMPLES, LENGTH = 1000, 16, 8, 4  # SAMPLES: of one trainer
RATE, MOMENTUM, BETA1, BETA2, EPSILON = 0.05, 0.9, 0.9, 0.999, 1e-8
STATE = {"sgd": [], "momentum": ["m"], "adagrad": ["a"], "adam": ["m", "v"]}

_ROWS = SAMPLES * LENGTH

_MODEL = """// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A bag-of-words model: the mean of {length} word vectors, a dense layer, squared
// loss. Trained with {optimizer}. Made by embedding.py.
func.func @step({arguments})
    -> ({results})
    attributes {{cs.step}} {{
  %zero = arith.constant 0.0 : f32
  %ids = tensor.collapse_shape %words [[0, 1]] : tensor<{n}x{length}xi32> into tensor<{rows}xi32>
  %e = cs.lookup %table, %ids : (tensor<{vocabulary}x{width}xf32>, tensor<{rows}xi32>) -> tensor<{rows}x{width}xf32>
  %e3 = tensor.expand_shape %e [[0, 1], [2]] output_shape [{n}, {length}, {width}]
      : tensor<{rows}x{width}xf32> into tensor<{n}x{length}x{width}xf32>
  %b0 = tensor.empty() : tensor<{n}x{width}xf32>
  %b1 = linalg.fill ins(%zero : f32) outs(%b0 : tensor<{n}x{width}xf32>) -> tensor<{n}x{width}xf32>
  %sum = linalg.reduce ins(%e3 : tensor<{n}x{length}x{width}xf32>) outs(%b1 : tensor<{n}x{width}xf32>) dimensions = [1]
      (%a: f32, %b: f32) {{ %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }}
  %share = arith.constant dense<{share}> : tensor<{n}x{width}xf32>
  %bag = arith.mulf %sum, %share : tensor<{n}x{width}xf32>
  %p0 = tensor.empty() : tensor<{n}xf32>
  %p1 = linalg.fill ins(%zero : f32) outs(%p0 : tensor<{n}xf32>) -> tensor<{n}xf32>
  %p = linalg.matvec ins(%bag, %w : tensor<{n}x{width}xf32>, tensor<{width}xf32>) outs(%p1 : tensor<{n}xf32>) -> tensor<{n}xf32>
  %d = arith.subf %p, %y : tensor<{n}xf32>
  %dd = arith.mulf %d, %d : tensor<{n}xf32>
  %l0 = tensor.empty() : tensor<f32>
  %l1 = linalg.fill ins(%zero : f32) outs(%l0 : tensor<f32>) -> tensor<f32>
  %l2 = linalg.reduce ins(%dd : tensor<{n}xf32>) outs(%l1 : tensor<f32>) dimensions = [0]
      (%a: f32, %b: f32) {{ %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }}
  %half = arith.constant dense<{half}> : tensor<f32>
  %loss = arith.mulf %l2, %half : tensor<f32>
  %mean = arith.constant dense<{mean}> : tensor<{n}xf32>
  %dp = arith.mulf %d, %mean : tensor<{n}xf32>
  %g0 = tensor.empty() : tensor<{width}xf32>
  %g1 = linalg.fill ins(%zero : f32) outs(%g0 : tensor<{width}xf32>) -> tensor<{width}xf32>
  %dw = linalg.vecmat ins(%dp, %bag : tensor<{n}xf32>, tensor<{n}x{width}xf32>) outs(%g1 : tensor<{width}xf32>) -> tensor<{width}xf32>
  %gw = cs.gradient %dw of "w" : tensor<{width}xf32>
  %part = arith.constant {share} : f32
  %de0 = tensor.empty() : tensor<{n}x{length}x{width}xf32>
  %de3 = linalg.generic {{indexing_maps = [affine_map<(i, k, j) -> (i)>, affine_map<(i, k, j) -> (j)>, affine_map<(i, k, j) -> (i, k, j)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%dp, %w : tensor<{n}xf32>, tensor<{width}xf32>) outs(%de0 : tensor<{n}x{length}x{width}xf32>) {{
  ^bb0(%x: f32, %q: f32, %o: f32):
    %xq = arith.mulf %x, %q : f32
    %r = arith.mulf %xq, %part : f32
    linalg.yield %r : f32
  }} -> tensor<{n}x{length}x{width}xf32>
  %de = tensor.collapse_shape %de3 [[0, 1], [2]] : tensor<{n}x{length}x{width}xf32> into tensor<{rows}x{width}xf32>
  %dtable = cs.segment_sum %ids, %de : (tensor<{rows}xi32>, tensor<{rows}x{width}xf32>) -> tensor<{vocabulary}x{width}xf32>
  %gtable = cs.gradient %dtable of "table" : tensor<{vocabulary}x{width}xf32>
{update}  return {returned} : {types}
}}
"""


def _update(optimizer, name, type_):
    """Ops of the update of a parameter; its gradient is %g<name>."""
    lines, count = [], 0

    def op(text, result=None):
        nonlocal count
        count += 1
        result = result or f"%{name}_{count}"
        lines.append(f"  {result} = {text} : {type_}")
        return result

    def constant(value):
        return op(f"arith.constant dense<{value:.8e}>")

    def schedule(scalar):
        empty = op("tensor.empty()")
        lines.append(f"  %{name}_{scalar} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ()>, affine_map<({dims}) -> ({dims})>],\n"
                     f"      iterator_types = [{loops}]}} ins(%{scalar} : tensor<f32>) outs({empty} : {type_}) {{\n"
                     f"  ^bb0(%a: f32, %o: f32):\n    linalg.yield %a : f32\n  }} -> {type_}")
        return f"%{name}_{scalar}"

    rank = type_.count("x")
    dims = ", ".join(f"d{i}" for i in range(rank))
    loops = ", ".join(['"parallel"'] * rank)
    g, rate = f"%g{name}", constant(RATE)
    if optimizer == "sgd":
        step = op(f"arith.mulf {g}, {rate}")
    elif optimizer == "momentum":
        m = op(f"arith.mulf %{name}.m, {constant(MOMENTUM)}")
        m = op(f"arith.addf {m}, {g}", f"%{name}.m.new")
        step = op(f"arith.mulf {m}, {rate}")
    elif optimizer == "adagrad":
        a = op(f"arith.addf %{name}.a, {op(f'arith.mulf {g}, {g}')}", f"%{name}.a.new")
        scale = op(f"arith.addf {op(f'math.sqrt {a}')}, {constant(EPSILON)}")
        step = op(f"arith.divf {op(f'arith.mulf {g}, {rate}')}, {scale}")
    else:
        m = op(f"arith.addf {op(f'arith.mulf %{name}.m, {constant(BETA1)}')}, {op(f'arith.mulf {g}, {constant(1 - BETA1)}')}",
               f"%{name}.m.new")
        gg = op(f"arith.mulf {g}, {g}")
        v = op(f"arith.addf {op(f'arith.mulf %{name}.v, {constant(BETA2)}')}, {op(f'arith.mulf {gg}, {constant(1 - BETA2)}')}",
               f"%{name}.v.new")
        mean, variance = op(f"arith.divf {m}, {schedule('c1')}"), op(f"arith.divf {v}, {schedule('c2')}")
        scale = op(f"arith.addf {op(f'math.sqrt {variance}')}, {constant(EPSILON)}")
        step = op(f"arith.divf {op(f'arith.mulf {mean}, {rate}')}, {scale}")
    op(f"arith.subf %{name}, {step}", f"%{name}.new")
    return lines


_ADAM_SCHEDULE = f"""  %one = arith.constant dense<1.0> : tensor<f32>
  %count.new = arith.addf %count, %one : tensor<f32>
  %beta1 = arith.constant dense<{BETA1}> : tensor<f32>
  %beta2 = arith.constant dense<{BETA2}> : tensor<f32>
  %beta1t = math.powf %beta1, %count.new : tensor<f32>
  %beta2t = math.powf %beta2, %count.new : tensor<f32>
  %c1 = arith.subf %one, %beta1t : tensor<f32>
  %c2 = arith.subf %one, %beta2t : tensor<f32>
"""


def source(optimizer="adam", row_sparse=True):
    """The program of one trainer."""
    types = {"table": f"tensor<{WORDS}x{WIDTH}xf32>", "w": f"tensor<{WIDTH}xf32>"}
    mark = ", cs.row_sparse" if row_sparse else ""
    arguments = [f'%table: {types["table"]} {{cs.param = "table"{mark}}}', f'%w: {types["w"]} {{cs.param = "w"}}']
    results, returned, out = [], [], []
    for name in types:
        results.append(f'{types[name]} {{cs.updates = "{name}"}}')
        returned.append(f"%{name}.new")
        out.append(types[name])
    for name in types:
        for state in STATE[optimizer]:
            arguments.append(f'%{name}.{state}: {types[name]} {{cs.state = "{name}.{state}"}}')
            results.append(f'{types[name]} {{cs.updates = "{name}.{state}"}}')
            returned.append(f"%{name}.{state}.new")
            out.append(types[name])
    if optimizer == "adam":
        arguments.append('%count: tensor<f32> {cs.state = "count"}')
        results.append('tensor<f32> {cs.updates = "count"}')
        returned.append("%count.new")
        out.append("tensor<f32>")
    arguments += [f'%words: tensor<{SAMPLES}x{LENGTH}xi32> {{cs.batch = "words"}}',
                  f'%y: tensor<{SAMPLES}xf32> {{cs.batch = "y"}}']
    results.append('tensor<f32> {cs.metric = "loss"}')
    update = _ADAM_SCHEDULE if optimizer == "adam" else ""
    update += "\n".join(line for name in types for line in _update(optimizer, name, types[name])) + "\n"
    return _MODEL.format(arguments=",\n                ".join(arguments), results=",\n        ".join(results),
                         returned=", ".join([*returned, "%loss"]), types=", ".join([*out, "tensor<f32>"]),
                         optimizer=optimizer, n=SAMPLES, length=LENGTH, width=WIDTH, rows=_ROWS, vocabulary=WORDS,
                         share=1 / LENGTH, half=0.5 / SAMPLES, mean=1 / SAMPLES, update=update)


def initial(optimizer, seed=0):
    random = np.random.default_rng(seed)
    slots = {"table": random.standard_normal((WORDS, WIDTH), np.float32), "w": random.standard_normal(WIDTH, np.float32)}
    for name in ("table", "w"):
        for state in STATE[optimizer]:
            slots[f"{name}.{state}"] = np.full_like(slots[name], 0.1 if state == "a" else 0)
    if optimizer == "adam":
        slots["count"] = np.zeros((), np.float32)
    return slots


def data(steps, trainers, seed=1, words=40):
    """Global batches one behind the other. Few words, so that they repeat in a batch,
    between trainers and between steps, and most of the table is never read."""
    random = np.random.default_rng(seed)
    used = random.choice(WORDS, words, replace=False)
    ids = used[random.integers(0, words, (steps * trainers * SAMPLES, LENGTH))]
    return {"words": ids.astype(np.int32), "y": random.standard_normal(steps * trainers * SAMPLES, np.float32)}


def train(optimizer, slots, batches, steps, trainers):
    """In NumPy, in float64. Lazily: rows of the table that no trainer reads in a step stay as they are, with
    their state. Returns the slots and the losses."""
    slots = {name: value.astype(np.float64) for name, value in slots.items()}
    losses, n = [], SAMPLES * trainers
    for step in range(steps):
        words, y = batches["words"][step * n:(step + 1) * n], batches["y"][step * n:(step + 1) * n].astype(np.float64)
        bag = slots["table"][words].mean(axis=1)
        error = bag @ slots["w"] - y
        losses.append(0.5 * np.mean(error ** 2))
        gradient = {"w": error @ bag / n, "table": np.zeros_like(slots["table"])}
        np.add.at(gradient["table"], words, (np.outer(error, slots["w"]) / (n * LENGTH))[:, None, :])
        if optimizer == "adam":
            slots["count"] += 1
        for name in ("table", "w"):
            rows = np.unique(words) if name == "table" else slice(None)
            _apply(optimizer, slots, name, rows, gradient[name][rows])
    return slots, losses


def _apply(optimizer, slots, name, rows, g):
    def change(state, value):
        slots[f"{name}.{state}"][rows] = value
        return value
    if optimizer == "sgd":
        step = g
    elif optimizer == "momentum":
        step = change("m", MOMENTUM * slots[f"{name}.m"][rows] + g)
    elif optimizer == "adagrad":
        step = g / (np.sqrt(change("a", slots[f"{name}.a"][rows] + g * g)) + EPSILON)
    else:
        m = change("m", BETA1 * slots[f"{name}.m"][rows] + (1 - BETA1) * g) / (1 - BETA1 ** slots["count"])
        v = change("v", BETA2 * slots[f"{name}.v"][rows] + (1 - BETA2) * g * g) / (1 - BETA2 ** slots["count"])
        step = m / (np.sqrt(v) + EPSILON)
    slots[name][rows] -= RATE * step
