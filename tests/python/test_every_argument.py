# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every argument of every public function: what it must not be is refused in one line that names it.

The functions are those of commsched.__all__ and the methods of its classes, the arguments those of inspect.signature. The
tables say of what kind an argument is, from which follows what is no value for it; that one is of no use without another is
said in COMBINATIONS."""
import inspect
import os

import numpy as np
import pytest

import commsched
from argument_sweep import (ANYTHING, ANY_INTEGER, CHOICE, COUNT, INDEX, INF, LINE, NAN, NO_NUMBER, NO_TEXT, NUMBER, PATH, POSITIVE, SWITCH,
                            TEXT, Integers, Numbers, check_tables, integers, job_of_one, methods_of, parameters_of, refusals, refused, required)

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
jax = pytest.importorskip("jax")

DENSITY = required(Numbers([*NO_NUMBER, 0, 1.5, 2]))
STRATEGY = dict(schedule=CHOICE, bucket_bytes=COUNT, first_bucket_bytes=COUNT, effort=COUNT, reorder=SWITCH, memory_limit=INDEX,
                message_bytes=COUNT, copies=CHOICE, staging_bytes=COUNT, assign_devices=SWITCH,
                sparse=Numbers([*NO_NUMBER, 0, 2.0]))
SOURCE = required([1, 2.5, True, object(), iter([1]), {1}, NAN])
COUNTS = [1, "x", True, [], [1, 2, 3], [-1], [0.5], [True], ["1"], [None], [NAN], object(), {}, [1 << 70]]  # of one rank
METRICS = required([1, "x", True, [], ["x"], {1: 2.0}, {"x": "y"}, {"x": True}, {"x": None}, {"x": 1j}, {"x": np.zeros(2)}])
# By function: of each argument, what it must not be.
ARGUMENTS = {
    "transpile": dict(step=required([1, "x", [], object()]), example_arguments=ANYTHING,
                      cluster=[0, -1, 1 << 70, 2.5, True, "2", [], {}, NAN, object()], params=required([7, -9, 0.5, True, "0", [], NAN, {}]),
                      batch=required([7, -9, 0.5, True, "1", [0.5], [True], NAN, object(), 0]),
                      constant=required([7, 0.5, True, "1", [0.5], [True], object(), [0]]),
                      functions=[1, "x", [], True, {"f": 1}, {1: (abs, 1)}, object()], location_root=PATH,
                      strategy=required([1, "all-reduce", True, {}, commsched.AllReduce]),
                      profile=[*PATH[:4], "/nonexistent", ["/nonexistent"], object()],
                      calibration=[*PATH[:4], "/nonexistent", ["/nonexistent"], object()], calibrate=required(SWITCH), device=CHOICE),
    "Cluster": dict(nodes=required(COUNT), devices=required(COUNT), gflops=required(COUNT), gb_per_s=required(COUNT),
                    mbit_per_s=required(COUNT), latency_ns=required(integers(0, most=3600 * 10**9)), intra_mbit_per_s=required(COUNT),
                    intra_latency_ns=required(integers(0, most=3600 * 10**9)), kind=required(CHOICE), name=required([*TEXT, "a b", "1", "é", "a\n"]),
                    machine_ranks=required(COUNT)),
    "AllReduce": dict(STRATEGY, algorithm=CHOICE, spread_sums=required(SWITCH), combine=SWITCH, parts=SWITCH, exclusive=SWITCH, hierarchical=SWITCH,
                      nccl=SWITCH),
    "ParameterServers": dict(STRATEGY, servers=COUNT, mode=CHOICE, merge=COUNT, min_block_elements=COUNT, max_block_elements=COUNT,
                             slice=SWITCH, placement=CHOICE, fuse_blocks=SWITCH, by_block=SWITCH, cut_as=CHOICE,
                             row_sparse=required([1, True, 0.5, [1], [""], object(), {"a": 1}])),
    "Sparse": dict(density=DENSITY, method=required(CHOICE), min_elements=required(INDEX),
                   rules=required([1, "w", ["w"], True, {"w": 2}, {"w": True}, {"w": NAN}, {"": 0.1}, {"a b": 0.1}, {1: 0.1}, {"w": (0.1, "x")},
                                   {"w": (0.1,)}, {"w": "x"}]),
                   warm_up=required([1, "x", True, 0.5, [1], [(0.1,)], [(0.1, 0)], [(0.1, True)], [(0.1, 1.5)], [(2, 1)], [(True, 1)], {}]),
                   feedback=required(SWITCH), momentum=required(Numbers([*NUMBER, 1, 2, 1e-300])), mask=required(SWITCH),
                   second_moment=required(Numbers([*NUMBER, 1, 2, 1e-300])), epsilon=required(Numbers([*POSITIVE, 1e-300, 1e300])), squares=required(CHOICE),
                   clip=required(Numbers([*NUMBER, 1e-300, 1e300])), select=required(CHOICE), fuse_bytes=INDEX,
                   exact_every=required(integers(1, most=1 << 24)), values=required(CHOICE), unsent_rate=required(Numbers([*NUMBER, 1e-300, 1e300])),
                   mstopk_samples=required(integers(1, most=100)), mstopk_early_stop=required(SWITCH), mstopk_seed=required(ANY_INTEGER)),
    "Replan": dict(every=COUNT, when_off=POSITIVE, window=COUNT, deadline=required(POSITIVE), folder=PATH,
                   calibration=[*PATH, "/nonexistent"], schedule=[*CHOICE, "tuned"]),
    "Tune": dict(schedules=required([1, "fifo", (), [], ["nothing"], [1], True, {}, ["tuned"], object()]), steps=COUNT),
    "DataCache": dict(source=SOURCE, memory=required(INDEX), disk=required(INDEX), folder=PATH, name=required(NO_TEXT),
                      version=required([0.5, True, [], {}, object()]), disk_holds=required(CHOICE), retries=required(INDEX)),
    "Loader": dict(source=SOURCE, batch_size=required(Integers([*COUNT, 99])), seed=required(INDEX), shuffle=required(SWITCH),
                   drop_last=required(SWITCH), threads=integers(0, most=1024), prefetch=required(COUNT), ranks=required(COUNT), rank=Integers([*INDEX, 1]),
                   stay=required(SWITCH), transform=[1, "x", True, []], collate=[1, "x", True, []]),
    "Loader.epoch": dict(epoch=required(INDEX), batch=required(Integers([*INDEX, 9]))),
    "Loader.epochs": dict(count=INDEX, first=required(INDEX), batch=required(Integers([*INDEX, 9]))),
    "Loader.order": dict(epoch=required(INDEX)),
    "Loader.resume": dict(position=required([1, "x", [], {}, True, {"epoch": 1}, {"epoch": True, "batch": 0}]), epochs=INDEX),
    "DataCache.__getitem__": dict(index=required([0.5, True, np.True_, "0", "", [], (0,), slice(0, 1), np.zeros(1), NAN, 1j, object(), 1 << 70])),
    "JsonLines": dict(path=required(PATH)),
    "TensorBoard": dict(folder=required(PATH)),
    "JsonLines.write": dict(step=required(INDEX), metrics=METRICS),
    "TensorBoard.write": dict(step=required(INDEX), metrics=METRICS),
    "simulate": dict(plan=required([1, 2.5, True, [], {}, object()]), steps=COUNT, bandwidth=required(POSITIVE), latency=required(POSITIVE),
                     compute=required(POSITIVE), workers=COUNT, algorithm=CHOICE,
                     stragglers=[1, "x", [1], True, {"x": 1}, {0: "x"}, {0: NAN}, {0: 0}, {0: True}, {True: 1}, {-1: 2}, {99: 2.0}],
                     links=[1, "x", [1], True, {"x": 1}, {0: "x"}, {0: NAN}, {0: 0}, {0: (1, 2, 3)}, {0: (1, "x")}, {99: 2.0}],
                     latency_ns=INDEX, overhead_ns=INDEX, engine_ns=INDEX, burst_bytes=INDEX, queue_ns=INDEX,
                     profile=[*PATH, "/nonexistent"], calibration=[*PATH, "/nonexistent"], nccl_tests=[*PATH, "/nonexistent"],
                     every_rank=required(SWITCH), jitter=required(Numbers([*NUMBER, 1, 1.5])), jitter_seed=required(INDEX), in_order=required(SWITCH),
                     trace=[*PATH, "/nonexistent/trace"]),
    "init": dict(rank=integers(0, most=4095), size=integers(1, most=4096), transport=CHOICE, peers=[1, "x", "a,b", True, [], [1], [""], {}, ["a,b"]],
                 master=TEXT, port=integers(1, most=65535), token=TEXT, token_file=PATH, tls_ca=PATH, tls_cert=PATH, tls_key=PATH,
                 tls_server_name=TEXT, insecure=required(SWITCH), listen_any=required(SWITCH), membership=integers(0, most=(1 << 31) - 1),
                 deadline=Numbers([*POSITIVE, 1e8]), servers=required(integers(0, most=4095))),
    "Program.run": dict(batches=required([1, True, 0.5, object()]), workers=COUNT, replan=[1, "x", [], 2.5, object()],
                        log=[1, "x", True, [1], object()], progress=required(SWITCH)),
    "Program.stream": dict(batches=required([1, True, 0.5, object()]), workers=COUNT, replan=[1, "x", [], 2.5, object()]),
    "Program.check": dict(batches=required([1, True, 0.5, object(), []]), workers=COUNT),
    "Program.call": dict(function=required(TEXT), batches=required([1, True, 0.5])),
    "Program.mlir": dict(level=required(integers(0, 0.0, 1.0, most=2)), workers=COUNT, cluster=required(SWITCH)),
    "Program.trace": dict(path=PATH),
    "Program.save": dict(path=required(PATH)),
    "Program.restore": dict(path=required(PATH)),
    "Program.set_slots": dict(values=required([1, "x", [], True, {"nothing": 1}, {"w": 1}, {1: 1}])),
    "Program.step": dict(batch=ANYTHING),  # of the step's arguments: test_errors.py
    "Program.close": {},
    "Posts": dict(job=required([1, "x", object()]), deadline=POSITIVE),
    "Posts.post": dict(key=required(LINE), tensor=required([1, "x", True, [1.0], object(), np.zeros((4, 4)).T[1:]]), kind=required(CHOICE),
                       combine=required(CHOICE), output=[1, "x", [1.0], object()], peer=required(integers(0, 1)),
                       priority=required(integers(-(1 << 31), most=(1 << 31) - 1)), send_counts=COUNTS, receive_counts=COUNTS),
    "Posts.wait": dict(posted=required([1, "x", [], object()])),
    "Posts.barrier": dict(key=required(LINE)),
    "Posts.cancel": dict(why=required([*NO_TEXT, "", " \n"])),
    "Posts.wait_any": dict(posted=required([1, "x", [], [1], object()]), seconds=NUMBER),
    "Posted.wait": dict(seconds=NUMBER),
}
# Not for users to make, or of another library's arguments: what they are and why.
ELSEWHERE = {
    "Program": "transpile() makes it", "Job": "init() returns it; its methods: test_job_arguments.py", "Posted": "post() returns it",
    "Checked": "a result", "LinkUse": "a result", "RankUse": "a result", "Simulation": "a result",
    "grad": "jax.grad's arguments", "value_and_grad": "jax.value_and_grad's arguments", "mark_gradients": "pytrees", "worker_key": "a key of JAX",
    "worker_index": "no arguments", "Posted.done": "no arguments", "DataCache.load": "called by a Loader",
    "DataCache.count": "called by a Loader", "DataCache.describe": "a number", "Cluster.of": "called by transpile()",
    "AllReduce.at": "called by a Program", "ParameterServers.at": "called by a Program", "Sparse.at": "called by a strategy",
    "AllReduce.pipeline": "called by a Program", "ParameterServers.pipeline": "called by a Program", "Sparse.options": "called by a strategy",
    "Sparse.of": "called by a strategy", "Replan.of": "called by run()", "Replan.command": "called by run()", "Tune.strategies": "called by run()",
    "Program.slots": "no arguments",
}


def public_functions():
    """By name, classes and their methods among them: the parameters."""
    found = {}
    for name in commsched.__all__:
        of = getattr(commsched, name)
        if inspect.isclass(of) and issubclass(of, BaseException):
            continue
        found[name] = parameters_of(of)
        if inspect.isclass(of):
            found.update((f"{name}.{method}", parameters) for method, parameters in methods_of(of).items())
    return found


def test_the_tables_have_all_functions_and_arguments():
    check_tables(public_functions(), ARGUMENTS, ELSEWHERE)


class Alone:
    """A job of one rank, and what is made of everything."""

    def __init__(self, folder, workers=2):
        def step(params, x):
            loss, grads = jax.value_and_grad(lambda p: (x @ p["w"]).mean())(params)
            return {"w": params["w"] - 0.1 * grads["w"]}, loss
        self.step, self.arguments = step, ({"w": np.ones(4, np.float32)}, np.ones((4, 4), np.float32))
        self.program = commsched.transpile(step, *self.arguments, cluster=workers, functions={"f": (lambda p, x: (x @ p["w"]).mean(), *self.arguments)})
        self.plan, self.folder = self.program.plan, folder
        self.loader = commsched.Loader([np.zeros(2)] * 8, 2)
        self.batches = [self.arguments[1]]
        self.lines, self.board = commsched.JsonLines(folder / "metrics"), commsched.TensorBoard(folder / "events")

    def call(self, function, /, **given):
        """With these arguments, and such as must be given."""
        base = {"transpile": {}, "Cluster": {"nodes": 2}, "Replan": {"every": 5}, "DataCache": {"source": [1, 2]},
                "Loader": {"source": [np.zeros(2)] * 8, "batch_size": 2}, "Loader.epoch": {"epoch": 0}, "Loader.order": {"epoch": 0},
                "Loader.resume": {"position": self.loader.epoch(0).position}, "simulate": {"plan": self.plan}, "JsonLines": {"path": self.folder / "lines"},
                "TensorBoard": {"folder": self.folder / "board"}}.get(function, {})
        if function.startswith("Program.") and function.split(".")[1] in ("run", "stream", "check", "call"):
            base = {"batches": self.batches, **({"function": "f"} if function == "Program.call" else {})}
        if function == "Posts":
            base = {"job": self.job}
        if function == "Posts.post":
            base = {"key": "k", "tensor": np.ones(4)}
        if function == "Posts.wait_any":
            base = {"posted": [self.posted]}
        if function == "Posts.wait":
            return self.posts.wait(given["posted"])
        if "counts" in "".join(given):
            base = {"key": "k", "tensor": np.ones(4), "kind": "all_to_all", "output": np.ones(4)}
        if function.endswith(".write"):
            base = {"step": 1, "metrics": {"loss": 1.0}}
        base = {**base, **given}
        if function == "transpile":
            step, arguments = base.pop("step", self.step), base.pop("example_arguments", self.arguments)
            return commsched.transpile(step, *arguments, **base)
        name, _, method = function.partition(".")
        of = getattr(commsched, name)
        if not method:
            return of(**base)
        return getattr({"Program": self.program, "Loader": self.loader, "Posts": self.posts, "Posted": self.posted, "JsonLines": self.lines,
                        "TensorBoard": self.board, "DataCache": self.loader.cache}.get(name, of), method)(**base)

    job = posts = posted = None


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return Alone(tmp_path_factory.mktemp("arguments"))


# Names by which messages call an argument.
NAMED = {("Program.check", "batches"): ["batch"], ("Program.run", "workers"): ["workers"], ("Program.step", "batch"): ["batch"], ("Program.restore", "path"): ["path"],
         ("Program.set_slots", "values"): ["slots", "parameter", "'w'"], ("simulate", "plan"): ["plan"], ("Sparse", "density"): ["density"],
         ("transpile", "functions"): ["function"], ("transpile", "constant"): ["constant"], ("transpile", "batch"): ["batch"],
         ("simulate", "stragglers"): ["straggler"], ("simulate", "links"): ["link"], ("simulate", "trace"): ["trace", "/nonexistent"],
         ("simulate", "profile"): ["profile", "/nonexistent"], ("simulate", "calibration"): ["calibration", "/nonexistent"],
         ("simulate", "nccl_tests"): ["nccl", "/nonexistent"], ("Program.call", "function"): ["function"], ("init", "rank"): ["rank"],
         ("Posts.post", "peer"): ["peer", "rank"], ("Posts.post", "tensor"): ["all_reduce", "tensor"], ("Posts.post", "output"): ["all_reduce"], ("Posts.wait_any", "posted"): ["post"]}
# What else than FrontEndError docs/python.md promises of it.
ERRORS = {"init": commsched.JobError, "Posts": commsched.RuntimeFailure, "Posted": commsched.RuntimeFailure, "simulate": commsched.RuntimeFailure}
NEEDS_JOB = ("Posts", "Posts.post", "Posts.wait", "Posts.barrier", "Posts.cancel", "Posts.wait_any", "Posted.wait")


def wrong_of(alone, function):
    return refusals(ARGUMENTS, alone.call, function, NAMED, ERRORS.get(function.split(".")[0], commsched.FrontEndError))


@pytest.mark.parametrize("function", [name for name in ARGUMENTS if name not in NEEDS_JOB])
def test_what_makes_no_sense_is_refused(alone, function):
    wrong = wrong_of(alone, function)
    assert not wrong, "\n".join(wrong)


def test_posts_of_a_job(alone):
    with job_of_one() as job:
        with commsched.Posts(job) as posts:
            alone.job, alone.posts, alone.posted = job, posts, posts.post("a", np.ones(2))
            wrong = [line for function in NEEDS_JOB for line in wrong_of(alone, function)]
            wrong += [f"post({given}) {why}" for given, name in POSTS
                      if (why := refused(lambda: alone.call("Posts.post", **given), name))]
    assert not wrong, "\n".join(wrong)


POSTS = [(dict(kind="broadcast", combine="max"), "combine"), (dict(kind="all_gather", combine="mean"), "combine"),
         (dict(kind="all_reduce", send_counts=[4]), "send_counts"), (dict(kind="broadcast", receive_counts=[4]), "receive_counts"),
         (dict(kind="barrier"), "tensor"), (dict(kind="barrier", tensor=None, output=np.ones(4)), "output")]
S, A, P = commsched.Sparse, commsched.AllReduce, commsched.ParameterServers
# (function, arguments, the one that is of no use, or of which two exclude each other)
COMBINATIONS = [
    *((S, {name: value}, name) for name, value in dict(
        method="allgather", min_elements=1, feedback=False, clip=1.0, select="sampled", fuse_bytes=0, exact_every=3, values="f16",
        unsent_rate=0.1).items()),
    (S, dict(rules={"w": 1.0}, clip=1.0), "clip"), (S, dict(momentum=0.5, second_moment=0.5, squares="own"), "squares"),
    (S, dict(density=0.1, mask=False), "mask"), (S, dict(density=0.1, momentum=0.5, second_moment=0.5, mask=False), "mask"),
    (S, dict(density=0.1, epsilon=0.1), "epsilon"), (S, dict(density=0.1, momentum=0.5, squares="own"), "squares"),
    (S, dict(density=0.1, mstopk_seed=1), "mstopk_seed"), (S, dict(density=0.1, exact_every=2, feedback=False), "exact_every"),
    (S, dict(density=0.1, unsent_rate=0.5, feedback=False), "unsent_rate"),
    (P, dict(sparse=S(0.1, fuse_bytes=64)), "fuse_bytes"), (P, dict(sparse=S(0.1, "allgather")), "method"),
    (P, dict(sparse=S(0.1, second_moment=0.5)), "second_moment"), (P, dict(sparse=0.1, mode="async"), "sparse"),
    (P, dict(merge=2), "merge"), (P, dict(slice=False, min_block_elements=1), "min_block_elements"),
    (P, dict(max_block_elements=1), "max_block_elements"), (P, dict(algorithm="ring"), "algorithm"), (P, dict(parts=True), "parts"),
    (P, dict(combine=False), "combine"), (A, dict(by_block=True), "by_block"), (A, dict(servers=2), "servers"), (A, dict(cut_as="p3"), "cut_as"),
    (A, dict(bucket_bytes=1), "bucket_bytes"), (A, dict(schedule="fifo", effort=1), "effort"), (A, dict(schedule="fifo", reorder=True), "reorder"),
    (A, dict(memory_limit=1), "memory_limit"), (A, dict(schedule="priority", message_bytes=1), "message_bytes"),
    (A, dict(staging_bytes=1), "staging_bytes"), (A, dict(parts=True, nccl=True), "parts"), (A, dict(exclusive=False, schedule="fifo"), "exclusive"), (A, dict(exclusive=False, nccl=True), "exclusive"), (A, dict(parts=True, schedule="priority"), "parts"),
    (commsched.Cluster, dict(nodes=2, machine_ranks=2), "machine_ranks"), (commsched.Replan, {}, "every"), (commsched.Replan, dict(every=5, window=6), "window"),
    (commsched.DataCache, dict(source=[1], disk=1), "folder"), (commsched.DataCache, dict(source=[1], folder="x"), "disk"),
    (commsched.DataCache, dict(source=[1], disk_holds="rest"), "disk_holds"), (commsched.DataCache, dict(source=[1], version=2), "version"),
    (commsched.Loader, dict(source=[1] * 4, batch_size=2, ranks=2, drop_last=False), "drop_last"),
    (commsched.Loader, dict(source=[1] * 4, batch_size=3, ranks=2), "batch_size")]


def test_what_is_of_no_use_is_refused(alone, tmp_path):
    wrong = [f"{function.__name__}({given}) {why}" for function, given, name in COMBINATIONS
             if (why := refused(lambda: function(**given), name, error=(commsched.CommSchedError, TypeError)))]  # Python's, of one that it has not
    if why := refused(lambda: alone.call("simulate", jitter_seed=1), "jitter_seed"):
        wrong.append(f"simulate(jitter_seed=1) {why}")
    if why := refused(lambda: alone.program.mlir(1, cluster=False), "cluster"):
        wrong.append(f"mlir(1, cluster=False) {why}")
    assert not wrong, "\n".join(wrong)
