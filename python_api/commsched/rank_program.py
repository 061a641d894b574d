# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that transpile() returns in a job of several ranks: this process is one of its workers."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import zlib
from typing import Any, Callable, Iterable, Mapping, Optional

import numpy as np

from . import costs
from . import following
from . import saved as saved_file
from . import tools
from .arguments import check_path
from .check import write
from .costs import Costs
from .errors import FrontEndError, Interrupted, JobError, RuntimeFailure
from .job import Job
from .program import Program
from .rank_servers import averaged, collected
from .running import Workers, check_run
from .saved import Saved
from .serving import give_values
from .steps import Steps
from .strategy import AllReduce, Strategy
from .temporary import TemporaryFolder


class RankProgram(Program):
    """A Program of which each rank of the job runs one worker. What all ranks do together, in the same order: making it,
    run, step, call, stream (to the end), save, restore, set_slots. Batches are this rank's rows, of which all have equally
    many; metrics are those of all. params, state, slots, steps and position are read on any rank alone.

    SIGINT and SIGTERM, to any rank, stop run() on all after the same step; all raise Interrupted (a KeyboardInterrupt) then,
    and can still save. An exception of the batches on one rank is an error of all. log and progress are of rank 0.

    Parameter servers are within the ranks, server k in rank k and so on around, for as long as one run, step or call: values
    are those after the last one that ended well, and a run that fails leaves none of its own. There is no stream() then."""

    def __init__(self, *arguments, job: Job, **options):
        self._job, self._parts, self._signal, self._inside = job, job.size, 0, False
        super().__init__(*arguments, **options)
        if self._costs.calibrate:
            self._measure()

    @property
    def workers(self) -> int:
        """One on each rank of the job."""
        return self._job.size

    def _check_step(self) -> None:
        """On rank 0; and whether all ranks have the same step."""
        if self.cluster is not None and self.cluster.nodes != self._job.size:
            raise FrontEndError(f"cluster must match the job's {self._job.size} ranks, got: {self.cluster.nodes}")
        if self._has_servers and self._job.transport == "mpi":
            raise FrontEndError("transport of the job must be grpc for parameter servers, which MPI does not connect, got: mpi")
        if self._job.servers and not self._has_servers:
            raise FrontEndError(f"strategy must be ParameterServers in a job with servers={self._job.servers}, got: {self.strategy!r}")
        if self._costs.calibrate and self._job.size == 1:
            raise FrontEndError("calibrate must be False in a job of one trainer: links are measured between trainers")
        text = self._level0(self.workers, self._cluster(self.workers))
        # Where the sources lie may differ.
        bare = re.sub(r"\bloc\([^\n]*|^#loc.*$", "", text, flags=re.M)
        own = hashlib.sha256("\n".join([bare, *self.strategy.pipeline(2)]).encode()).hexdigest()

        def merge(said):
            for rank, other in enumerate(said):
                if other != said[0]:
                    raise JobError(f"step must match that of rank 0 on all ranks, got: another one on rank {rank}")
            tools.check(text, self.strategy)
        self._job._agree("transpiles a step", own, merge)

    # ---- values ------------------------------------------------------------------------------
    def _agree_values(self, what: str, values: Mapping[str, np.ndarray]) -> None:
        """Whether all ranks have the same ones."""
        own = [[n, zlib.crc32(np.ascontiguousarray(v).reshape(-1).view(np.uint8).data)] for n, v in values.items()]

        def merge(said):
            for rank, other in enumerate(said):
                for mine, (name, checksum) in zip(said[0], other):
                    if mine != [name, checksum]:
                        raise JobError(f"value of '{name}' must match that of rank 0 on all ranks, got: another one on "
                                       f"rank {rank}")
        self._job._agree(what, own, merge)

    @property
    def _has_servers(self) -> bool:
        return not isinstance(self.strategy, AllReduce)

    def slots(self) -> dict[str, np.ndarray]:
        """As Program.slots; with parameter servers, after the last run that has ended well."""
        return {n: v.copy() for n, v in self._saved.values.items()} if self._has_servers else super().slots()

    @property
    def steps(self) -> int:
        """As Program.steps; with parameter servers, of the runs that have ended well."""
        return self._saved.steps if self._has_servers else super().steps

    @property
    def position(self) -> Any:
        """As Program.position; with parameter servers, of the runs that have ended well."""
        return self._saved.position if self._has_servers else super().position

    def _take(self, own: Workers) -> Saved:
        # What servers have is asked for when all ranks have ended a run.
        return self._saved if self._has_servers else super()._take(own)

    def close(self) -> None:
        """As Program.close. Of parameter servers what runs is lost: a run that ends well has none left."""
        own = self._workers_now()
        if own is None or not self._has_servers:
            super().close()
            return
        own.saved = (self._saved, self.replans)
        self._end(own)

    def _start(self, workers: int, replan: Any = None, stays: bool = True) -> Workers:
        # In the middle of a run another density begins: all ranks are behind the same step.
        own = self._workers_now()
        if self._has_servers and own is not None:
            if self.strategy.at(self._saved.steps + own.session.steps())[0] != own.of[1]:
                self._settle()
        return super()._start(workers, replan, stays)

    def _settle(self) -> None:
        """All ranks have ended a run: what the servers have come to is taken, and they end."""
        own = self._workers_now()
        if own is None:
            return
        own.ending, steps, position = True, self._saved.steps + own.session.steps(), super().position
        values = collected(self._job, own.session, self._saved.values)
        own.saved = (Saved(values, steps, position, self._read_own(own) or self._saved.own), self.replans)
        self._end(own)

    def set_slots(self, values: Mapping[str, np.ndarray]) -> None:
        given = self._checked_slots(values)
        self._job._agree("sets values", sorted(given), same("names of values"))
        self._agree_values("sets values", dict(sorted(given.items())))
        super().set_slots(given)

    def save(self, path: "str | os.PathLike") -> None:
        """As Program.save, by rank 0, on all ranks: what each has of its own is in the file too."""
        own = self._workers_now()
        saved = self._saved if own is None else self._take(own)
        self._job._agree("saves", saved.steps, same("steps that are done"))
        # Of a file of other numbers of workers, from which no step was made yet, all ranks have all parts.
        others = len(saved.own) not in (0, self._job.size)
        parts = self._job.gather("saves", saved.own[self._job.rank] if saved.own and not others else b"")

        def write():
            check_path("path", path)
            assert parts is not None  # on rank 0
            everything = saved if others else dataclasses.replace(saved, own=tuple(parts) if any(parts) else ())
            saved_file.write(path, everything)
            return b""
        self._job._of_rank_0("saves", write)

    def restore(self, path: "str | os.PathLike") -> Any:
        """As Program.restore, on all ranks; only rank 0 reads the file."""
        def read():
            content = saved_file.content_of(check_path("path", path))
            saved_file.parse(content, os.fspath(path), self._saved.values)
            return content
        content = self._job._of_rank_0("restores", read)
        return self._go_back(saved_file.parse(content, os.fspath(path), self._saved.values))

    def _write_own(self, session: Any) -> None:
        super()._write_own(session)
        if self._job._whole is not None:
            give_values(self._job._whole, self._saved.values)
        if self._has_servers:  # no trainer asks them before they have what they begin with
            (self._job._whole or self._job).barrier("begins to run")

    def _read_own(self, own: Any) -> "tuple[bytes, ...]":
        if own.of[1].sparse is None:
            return ()
        rank = self._job.rank
        parts = saved_file.read_own(own.session, [rank])
        return tuple(parts[0] if r == rank else b"" for r in range(self._job.size)) if parts else ()

    # ---- running -----------------------------------------------------------------------------
    def _open(self, workers: int, strategy: Strategy, replan: Optional[dict]) -> Any:
        if workers != self._job.size:
            raise FrontEndError(f"workers must match the job's {self._job.size} ranks, got: {workers}")
        self._agree_values("begins to run", self._saved.values)
        self._job._agree("begins to run", [self._saved.steps, bool(replan)], same("steps that are done, and replan,"))

        if replan and "tune" in replan and self._job.rank != 0:
            replan["tune"] = b""  # rank 0 has the plans
        return self._begin(lambda: self._compiled(workers, strategy, replan), replan)

    def _begin(self, compiled: Callable[[], bytes], replan: Optional[dict] = None, profile: bool = False) -> Any:
        """A session of this rank, with the plan that rank 0 compiles."""
        from .native import RankSession
        plan = self._on_rank_0(compiled)
        if self._job._whole is not None:
            self._job._whole.broadcast("serves", b"run")
        return RankSession(self._job, plan, replan, profile)

    def _on_rank_0(self, compiled: Callable[[], bytes]) -> bytes:
        """What rank 0 compiles; on others nothing, or its error."""
        plans = []

        def keep():
            plans.append(compiled())
            return b""
        self._job._of_rank_0("compiles", keep)
        return plans[0] if plans else b""

    # ---- costs -------------------------------------------------------------------------------
    def _measure(self) -> None:
        """All ranks: their links, and what the step takes on each, from the example. All have the same files then."""
        workers, job = self.workers, self._job
        self._agree_values("calibrates", self._saved.values)
        links = job.calibrate(self._on_rank_0(lambda: self._plan_to_measure(workers, costs.Costs())))

        def compiled():
            with TemporaryFolder() as folder:
                write(os.path.join(folder, "calibration.json"), [links])
                return self._plan_to_measure(workers, costs.calibrated(folder))
        session = self._begin(compiled, profile=True)
        try:
            for name, value in self._saved.values.items():
                session.set_slot(name, value)
            self._write_own(session)
            example = self._description(workers).flatten("step", self._example())
            own = {name: np.split(np.asarray(rows), job.size)[job.rank] for name, rows in example.items()}
            costs.trained(session, own)
            if self._has_servers:
                collected(job, session, self._saved.values)
            else:
                session.finish()
            profiles = job.gather("calibrates", session.profile()) or []  # all, on rank 0
        finally:
            session.close()
        texts = job._of_rank_0("calibrates", lambda: json.dumps([costs.merged(profiles), links.decode()]).encode())
        self._measured[workers] = costs.kept(*json.loads(texts))

    def _costs_of(self, workers: int) -> Costs:
        if self._costs.calibrate and workers not in self._measured:
            raise FrontEndError(f"costs are measured for the job's {self.workers} ranks, got: {workers} workers")
        return super()._costs_of(workers)

    def _check_run(self, batches: Any) -> None:
        loader, job = check_run(batches), self._job
        if loader is not None and (loader.ranks, loader.rank) != (job.size, job.rank):
            raise FrontEndError(f"batches must be those of a Loader with ranks={job.size}, rank={job.rank}, got: "
                                f"ranks={loader.ranks}, rank={loader.rank}")

    def stream(self, batches: Iterable[Any], workers: Optional[int] = None, replan: Any = None) -> Steps:
        if self._has_servers and not self._inside:
            raise FrontEndError("steps must be those of run() with parameter servers in a job of ranks, got: stream()")
        return super().stream(batches, workers, replan)

    def _follow(self, begin: Callable[[], Steps], count: Optional[int], log: Any, progress: bool) -> list[dict[str, float]]:
        writers, first = following.check(log, progress), self.steps
        if self._job.rank != 0:
            writers, progress = [], False
        return self._together(begin, "runs steps", stops=True,
                              follow=lambda steps: following.followed(steps, first, writers, progress, count))

    def call(self, function: str, batches: Iterable[Any]) -> list[dict[str, float]]:
        """As Program.call, with the rows of this rank of each global batch, on all ranks."""
        what = f"calls {function}"
        done = self._together(lambda: super(RankProgram, self).call(function, batches), what, stops=False)
        return averaged(self._job, what, done) if self._has_servers else done

    def _together(self, begin: Callable[[], Iterable], what: str, stops: bool, follow: Callable[[Any], Iterable] = iter) -> list:
        steps, self._inside, before = None, True, self._saved
        try:
            with self._job._signals() if stops else contextlib.nullcontext():
                try:
                    steps = begin()
                    done = list(follow(steps))
                finally:
                    if isinstance(steps, Steps):
                        steps.finish()
        except BaseException as error:
            self._abandon(error)
            if self._has_servers:  # of a run that has had several densities, none are left either
                self._saved = before
            raise
        finally:
            self._inside = False
        ended = self._job._agree(what, [len(done), self._job._signal if stops else 0], _ended)
        if self._has_servers:
            self._settle()
        if ended:
            self.close()
            raise Interrupted(ended, self.steps)
        return done

    def _abandon(self, error: BaseException) -> None:
        """Other ranks need not wait for this one's steps."""
        if isinstance(error, RuntimeFailure):
            return
        text = str(error).splitlines()[0] if str(error) else ""
        own = self._workers_now()
        if own is not None and not own.session.closed:
            with contextlib.suppress(RuntimeFailure):
                own.session.cancel(f"rank {self._job.rank}: {type(error).__name__}{': ' if text else ''}{text}")
            own.failed = True
            with contextlib.suppress(RuntimeFailure):
                self.close()

    def trace(self, path: Optional[str]) -> None:
        """As Program.trace; each rank writes a file of its own, with its number behind the name."""
        super().trace(None if path is None else f"{check_path('path', path)}.rank{self._job.rank}")


def same(what: str) -> Callable[[list], None]:
    def merge(said):
        for rank, other in enumerate(said):
            if other != said[0]:
                raise JobError(f"{what} must match {said[0]} of rank 0 on all ranks, got: {other} on rank {rank}")
    return merge


def _ended(said: list) -> int:
    """Of steps and signals of all ranks: the signal that has ended them, or 0."""
    for rank, (steps, _) in enumerate(said):
        if steps != said[0][0]:
            raise JobError(f"batches must be as many on all ranks, got: {said[0][0]} on rank 0, {steps} on rank {rank}")
    return next((number for _, number in said if number), 0)
