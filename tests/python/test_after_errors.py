# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program has after errors, interrupts, close, save and restore: random calls, beside a model in NumPy."""

import ctypes
import os
import random
import signal
import threading

import numpy as np
import pytest
from cases import cases

import commsched
import commsched.native
import commsched.saved
import session_model
from session_model import Model, batch

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


class Numbered:
    """Batches number first .. first + count - 1, with a position; at `bad` something else."""

    def __init__(self, first, count, bad=None, what=None):
        self.number, self.end, self.bad, self.what = first, first + count, bad, what

    def __iter__(self):
        return self

    def __next__(self):
        if self.number == self.end:
            raise StopIteration
        number, self.number = self.number, self.number + 1
        if number != self.bad:
            return batch(number)
        if self.what == "raise":
            raise KeyError("a source that fails")
        return batch(number)[:-1] if self.what == "short" else batch(number) * np.float32("nan")

    @property
    def position(self):
        return {"next": self.number}


def losses(metrics):
    return [m["loss"] for m in metrics]


def interrupt(seconds, function):
    """KeyboardInterrupt after so many seconds, if the function has not returned."""
    def raised(*_):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGALRM, raised)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)  # once
        function()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    signal.signal(signal.SIGALRM, before)


class Trial:
    """A program and its model. What `made` has is compared after every operation."""

    def __init__(self, seed, made, folder):
        self.random, self.made, self.folder, self.saved = random.Random(seed), made, folder, []
        self.model, self.next, self.position = Model(), 0, None

    def advance(self, count, least=0):
        """After a run of at most `count` batches from the next one on: those that were done have been, and no other."""
        done = self.made.steps - self.model.count
        assert least <= done <= count
        wanted = [self.model.step(batch(i)) for i in range(self.next, self.next + done)]
        assert losses(self.made.metrics) == wanted
        self.next += done
        self.position = {"next": self.next} if done else self.position
        return wanted

    def run(self):
        count = self.random.randrange(1, 14)
        metrics = self.made.run(Numbered(self.next, count))
        assert losses(metrics) == self.advance(count, count)

    def fail(self):
        good, what = self.random.randrange(12), self.random.choice(["nan", "nan", "short", "raise"])
        error = {"nan": commsched.RuntimeFailure, "short": commsched.FrontEndError, "raise": KeyError}[what]
        with pytest.raises(error, match="NaN" if what == "nan" else None):
            self.made.run(Numbered(self.next, good + self.random.randrange(1, 9), self.next + good, what))
        # Steps overlap: with the one that fails, the one or two before it may not be done yet.
        self.advance(good, max(0, good - 2) if what == "nan" else good)

    def interrupted_run(self):
        count, before = self.random.randrange(1, 60), self.made.metrics
        interrupt(self.random.random() * 0.02 + 1e-5, lambda: self.made.run(Numbered(self.next, count)))
        if self.made.steps != self.model.count or self.made.metrics != before:  # it had begun
            self.advance(count)

    def stream(self):
        count, end, found = self.random.randrange(1, 30), self.random.randrange(1, 30), []
        stream = self.made.stream(Numbered(self.next, count))
        for metrics in stream:
            found.append(metrics)
            if len(found) == end:
                break
        if self.random.random() < 0.5:
            stream.finish()
            found += stream
        wanted = self.advance(count, min(count, end))
        assert losses(found) == wanted[:len(found)] and len(found) >= min(count, end)

    def close(self):
        interrupt(self.random.choice([10, self.random.random() * 0.004 + 1e-5]), lambda: self.made.close())

    def interrupted_read(self):
        interrupt(self.random.random() * 0.002 + 1e-5, lambda: (self.made.params, self.made.steps))

    def save(self):
        path = self.folder / str(self.random.randrange(3))
        interrupt(self.random.random() * 0.004 + 1e-5, lambda: self.made.save(path))
        self.made.save(path)
        self.saved = [s for s in self.saved if s[0] != path]
        self.saved.append((path, self.model.copy(), self.next, self.position))

    def restore(self):
        if self.saved:
            path, model, self.next, self.position = self.random.choice(self.saved)
            self.model = model.copy()
            interrupt(self.random.random() * 0.004 + 1e-5, lambda: self.made.restore(path))
            assert self.made.restore(path) == self.position

    def set_slots(self):
        self.model.params["w"] = self.model.params["w"] + np.float32(0.5)
        interrupt(self.random.random() * 0.002 + 1e-5, lambda: self.made.set_slots({"w": self.model.params["w"]}))
        self.made.set_slots({"w": self.model.params["w"]})

    def check(self):
        self.model.check(self.made)
        assert self.made.steps == self.model.count and self.made.position == self.position


OPERATIONS = [Trial.run, Trial.run, Trial.fail, Trial.fail, Trial.interrupted_run, Trial.interrupted_run, Trial.stream, Trial.close,
              Trial.interrupted_read, Trial.save, Trial.restore, Trial.set_slots]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A program, and a file with what it begins with."""
    path = tmp_path_factory.mktemp("begin") / "program"
    made = session_model.program()
    made.save(path)
    return made, path


@pytest.mark.parametrize("seed", cases(6))
def test_random_calls(seed, made, tmp_path):
    program, begin = made
    program.restore(begin)
    trial = Trial(seed, program, tmp_path)
    for _ in range(40):
        operation = trial.random.choice(OPERATIONS)
        try:
            operation(trial)
            trial.check()
        except BaseException as error:
            error.add_note(f"in {operation.__name__}, seed {seed}")
            raise
    program.close()


def test_a_batch_with_nan_ends_nothing_but_its_step():
    made, model = session_model.program(), Model()
    with pytest.raises(commsched.RuntimeFailure, match='"top_k.w".*96 of 96 elements to select from are NaN'):
        made.run(Numbered(0, 20, 9, "nan"))
    for number in range(made.steps):
        model.step(batch(number))
    assert 7 <= made.steps <= 9
    model.check(made)
    made.close()
    model.check(made)
    assert losses(made.run(Numbered(made.steps, 5))) == [model.step(batch(i)) for i in range(made.steps - 5, made.steps)]
    model.check(made)
    made.close()


def test_an_error_that_nobody_has_seen_is_a_warning():
    made = session_model.program()
    made.run(Numbered(0, 2))

    def batches():
        yield batch(2) * np.float32("nan")
        raise KeyboardInterrupt
    for _ in range(100):
        # One worker may fail before the other has been called: then run() has seen it.
        with pytest.raises((KeyboardInterrupt, commsched.RuntimeFailure)) as ended:
            made.run(batches())
        if ended.type is KeyboardInterrupt:
            break
    with pytest.warns(UserWarning, match=r"^steps behind step 2 have failed: .*NaN"):
        made.close()
    assert made.steps == 2


def test_going_on_in_another_program_is_bitwise_the_same(tmp_path):
    whole, first, second = (session_model.program(sparse=commsched.Sparse(
        0.05, "allgather", min_elements=64, exact_every=3, warm_up=[(0.5, 3), (0.2, 4)])) for _ in range(3))
    wanted = whole.run(Numbered(0, 17))
    found = first.run(Numbered(0, 5))
    first.save(tmp_path / "file")
    position = second.restore(tmp_path / "file")
    assert position == {"next": 5} and second.steps == 5
    found += second.run(Numbered(position["next"], 12))
    assert found == wanted and second.steps == whole.steps == 17
    for name, value in whole.slots().items():
        np.testing.assert_array_equal(second.slots()[name], value)
    # The workers too have the same: residuals, thresholds, and the number of the step.
    whole.close(), second.close()
    assert second._saved.own == whole._saved.own and len(whole._saved.own) == 2


def test_files_that_are_not_whole_or_another_program_s(tmp_path):
    made = session_model.program()
    made.run(Numbered(0, 3))
    path, other = tmp_path / "file", tmp_path / "other"
    (tmp_path / "file.part-999999999-00000000").write_bytes(b"of a process that was killed")
    made.save(path)
    assert os.listdir(tmp_path) == ["file"]
    content = path.read_bytes()
    random_ = random.Random(3)
    for _ in range(60):
        place = random_.randrange(len(content))
        other.write_bytes(content[:place] + bytes([content[place] ^ 1 << random_.randrange(8)]) + content[place + 1:])
        with pytest.raises(ValueError, match="is damaged, or no file of Program.save|format must be 1, got: "):
            made.restore(other)
    assert made.steps == 3
    for wrong in (content + b"x", content[:-30], content[:len(content) // 2], b"", b"nonsense" * 100):
        other.write_bytes(wrong)
        with pytest.raises(ValueError, match="is damaged, or no file of Program.save"):
            made.restore(other)
    with pytest.raises(OSError):
        made.restore(tmp_path / "nowhere")
    with pytest.raises(OSError):
        made.save(tmp_path / "nowhere" / "file")
    params = {"w": np.zeros(3, np.float32)}
    smaller = commsched.transpile(lambda p, x: (lambda l, g: ({"w": p["w"] - g["w"]}, l))(
        *commsched.value_and_grad(lambda p: (p["w"] * x).sum())(p)), params, np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"'w' must match float32\[3\] of the program, got: float32\[96\]"):
        smaller.restore(path)
    made.close()


def test_close_while_batches_are_taken():
    made, model = session_model.program(), Model()

    def batches():
        for i in range(4):
            yield batch(i)
        made.close()
        yield batch(4)
    with pytest.raises(commsched.RuntimeFailure, match="^the session is closed$"):
        made.run(batches())
    assert losses(made.metrics) == [model.step(batch(i)) for i in range(4)] and made.steps == 4
    model.check(made)
    stream = made.stream(Numbered(4, 3))
    next(stream)
    made.close()
    for number in (4, 5, 6):
        model.step(batch(number))
    model.check(made)
    assert len(list(stream)) == 2


def test_a_closed_session_refuses():
    made = session_model.program()
    session = commsched.native.Session(made.plan)
    session.close()
    session.close()
    value = np.zeros(8, np.float32)
    for use in (session.steps, session.wait, session.finish, session.replans, lambda: session.get_slot("b", value),
                lambda: session.set_slot("b", value), lambda: session.save_rank_state("/nowhere"),
                lambda: session.load_rank_state("/nowhere", 1), lambda: session.trace("/nowhere"),
                lambda: session.metrics(0, ["loss"]), lambda: session.check_names(["loss"]),
                lambda: session.call(None, {"x": batch(0)}, ctypes.c_uint64())):
        with pytest.raises(commsched.RuntimeFailure, match="^the session is closed$"):
            use()
    # The library itself refuses what is none.
    library = commsched.native.library()
    assert library.cs_session_wait(None) != 0 and b"there is no session" in library.cs_last_error()


def test_threads_may_read_and_close_while_steps_run():
    made, model = session_model.program(), Model()
    ended = threading.Event()

    def read():
        while not ended.is_set():
            made.params, made.steps
    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert losses(made.run(Numbered(0, 60))) == [model.step(batch(i)) for i in range(60)]
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    model.check(made)
    made.close()


def test_a_handler_of_a_signal_may_save(tmp_path):
    made, model, taken = session_model.program(), Model(), []

    def handler(*_):
        made.save(tmp_path / "file")
        taken.append(saved_steps())
        if len(taken) < 3:
            signal.setitimer(signal.ITIMER_REAL, 0.003)

    def saved_steps():
        return commsched.saved.read(tmp_path / "file", made._saved.values).steps
    made.run(Numbered(0, 1))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        while len(taken) < 3:
            made.run(Numbered(made.steps, 20))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    made.restore(tmp_path / "file")
    assert made.steps == taken[-1]
    for number in range(made.steps):
        model.step(batch(number))
    model.check(made)
    made.close()


@pytest.mark.parametrize("end", ["close", "save"])
def test_what_a_trainer_has_merged_is_not_lost(end, tmp_path):
    """Gradients of 1 and a rate of 2: the mean of four pushes, and of the two that are left."""
    def step(params, x):
        loss, grads = commsched.value_and_grad(lambda p: (p["w"] * x.mean(0)).sum())(params)
        return {"w": params["w"] - 2 * grads["w"]}, loss
    made = commsched.transpile(step, {"w": np.zeros(4, np.float32)}, np.ones((2, 4), np.float32), cluster=1,
                               strategy=commsched.ParameterServers(mode="half-async", merge=4))
    made.run([np.ones((2, 4), np.float32)] * 10)
    made.close() if end == "close" else made.save(tmp_path / "file")
    np.testing.assert_array_equal(made.params["w"], np.full(4, -6, np.float32))
    assert made.steps == 10
    made.close()


def test_what_cannot_be_read_does_not_stay(monkeypatch):
    """close() says so, and the program goes on with what it had before these workers."""
    made, model = session_model.program(), Model()
    made.run(Numbered(0, 3))
    made.close()
    made.run(Numbered(3, 2))

    def lost(*_):
        raise commsched.RuntimeFailure("its values are lost")
    with monkeypatch.context() as patch:
        patch.setattr(commsched.native.Session, "get_slot", lost)
        with pytest.raises(commsched.RuntimeFailure, match="its values are lost"):
            made.close()
    for number in range(3):
        model.step(batch(number))
    model.check(made)
    assert made.steps == 3 and losses(made.run(Numbered(3, 2))) == [model.step(batch(i)) for i in (3, 4)]
    made.close()
