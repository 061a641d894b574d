# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This process as one rank of a job of several: init(), and what the ranks tell each other."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import time
import weakref
import zlib
from typing import Any, Callable, Iterator, Optional, Sequence

from . import errors
from .arguments import as_float, check_bytes, check_choice, check_path, check_switch, check_text, is_integer, shown
from .errors import CommSchedError, Interrupted, JobError, RuntimeFailure
from .native import JobOptions, library

_current: Optional["Job"] = None
# Signals within this time of the first are the same one: launchers tell a process and its group.
_SAME_SIGNAL = 1.0
_OURS = ("FrontEndError", "ToolError", "RuntimeFailure", "JobError", "RefusedProgram")  # errors of a text
_FROM_ENVIRONMENT = ("token_file", "tls_ca", "tls_cert", "tls_key", "tls_server_name")


def init(*, rank: Optional[int] = None, size: Optional[int] = None, transport: Optional[str] = None,
         peers: Optional[Sequence[str]] = None, master: Optional[str] = None, port: Optional[int] = None,
         token: Optional[str] = None, token_file: "None | str | os.PathLike" = None, tls_ca: "None | str | os.PathLike" = None,
         tls_cert: "None | str | os.PathLike" = None, tls_key: "None | str | os.PathLike" = None,
         tls_server_name: Optional[str] = None, insecure: bool = False, listen_any: bool = False,
         membership: Optional[int] = None, deadline: Optional[float] = None, servers: int = 0) -> "Job":
    """Makes this process one rank of a job: programs of transpile() run one worker here from then on, and all ranks call
    their functions in the same order. Waits until all ranks have come; a process that no launcher has started is a job
    of one rank.

    Rank, size and where the others are come from the environment of torchrun, mpirun, Slurm, Kubernetes or
    paddle.distributed.launch (docs/transports.md), or are given: rank and size with peers, the addresses of all ranks ("host:port", "unix:path"),
    or with master and port, where rank 0 is met.
    transport: "grpc" or "mpi"; without it, mpi under mpirun and other launchers of MPI jobs, unless there is no MPI, or
    something is given that only grpc knows (addresses, a secret, TLS).
    token, token_file: the secret of the job, itself or a file of it. tls_ca, tls_cert, tls_key: PEM files, without which
    all is on loopback; tls_server_name: the name in the others' certificates. insecure: no token, on loopback only.
    listen_any: listen on all networks. docs/security.md. What of token_file and tls_... is not given is taken from
    COMMSCHED_TOKEN_FILE, COMMSCHED_TLS_CA and so on.
    membership: larger each time that the job is begun again. deadline: seconds for joining, and for a step without progress (default:
    COMMSCHED_DEADLINE, or 30).

    servers: so many of the processes, the last ones by rank, are parameter servers and no ranks: there this function serves the
    others, and ends the process when they have left. docs/python.md. A process that is alone has them as threads.

    From then on an error of the runtime that nobody catches is one line on each rank, and the others hear why a rank ends.
    Raises JobError.
    """
    global _current
    if _current is not None:
        raise JobError("init must be called once in a process")
    _install_hook()
    if not is_integer(servers, 0, 4095):
        raise JobError(f"servers must be a number of 0 to 4095, got: {shown(servers)}")
    if servers and transport == "mpi":
        raise JobError("transport must be grpc for parameter servers, which MPI does not connect, got: mpi")
    transport = "grpc" if servers else transport
    options = job_options(rank=rank, size=size, transport=transport, peers=peers, master=master, port=port, token=token,
                          token_file=token_file, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key, tls_server_name=tls_server_name,
                          insecure=insecure, listen_any=listen_any, membership=membership, deadline=deadline)
    _current = joined(options)
    atexit.register(_leave_current)
    if servers and _current.size > 1:
        from .serving import divided
        _current = divided(_current, servers)
    return _current


def _leave_current() -> None:
    if _current is not None:
        _current._leave()


def job_options(*, rank: Optional[int] = None, size: Optional[int] = None, transport: Optional[str] = None,
                peers: Optional[Sequence[str]] = None, master: Optional[str] = None, port: Optional[int] = None,
                token: Optional[str] = None, insecure: bool = False, listen_any: bool = False,
                membership: Optional[int] = None, deadline: Optional[float] = None, **given: "None | str | os.PathLike") -> JobOptions:
    """What init() is given, checked, as the library takes it. Raises JobError."""
    for name, switch in (("insecure", insecure), ("listen_any", listen_any)):
        check_switch(name, switch, JobError)
    if transport is not None:
        check_choice("transport", transport, ("grpc", "mpi"), JobError)
    for name, text_of in (("master", master), ("token", token), ("tls_server_name", given.get("tls_server_name"))):
        if text_of is not None and (not isinstance(text_of, str) or not text_of or "\0" in text_of):
            raise JobError(f"{name} must be a text, got: {shown(text_of) if name != 'token' else 'another'}")
    for name, path in given.items():
        if path is not None and name != "tls_server_name":
            check_path(name, path, JobError)
    if not insecure and transport != "mpi":
        for name in _FROM_ENVIRONMENT:
            if given.get(name) is None and not (name == "token_file" and token is not None):
                given[name] = os.environ.get(f"COMMSCHED_{name.upper()}") or None
    for name, value, least, most in (("rank", rank, 0, 4095), ("size", size, 1, 4096), ("port", port, 1, 65535),
                                     ("membership", membership, 0, (1 << 31) - 1)):
        if value is not None and not is_integer(value, least, most):
            raise JobError(f"{name} must be a number of {least} to {most}, got: {shown(value)}")
    if (rank is None) != (size is None):
        raise JobError("rank and size go together")
    if deadline is None:
        deadline = _deadline_of_environment()
    seconds = as_float(deadline)
    if seconds is None or not 0 < seconds <= 1e7:
        raise JobError(f"deadline must be a positive number of seconds, got: {shown(deadline)}")
    if peers is not None and (not isinstance(peers, (tuple, list)) or not peers
                              or not all(isinstance(peer, str) and peer and "," not in peer for peer in peers)):
        raise JobError(f"peers must be a list of addresses, got: {shown(peers)}")
    text = {"transport": transport, "peers": ",".join(peers) if peers else None, "master": master, "token": token, **given}
    return JobOptions(struct_size=ctypes.sizeof(JobOptions), rank=-1 if rank is None else rank, size=size or 0,
                      port=port or 0, membership=-1 if membership is None else membership, insecure=bool(insecure),
                      listen_any=bool(listen_any), deadline_seconds=seconds,
                      **{n: os.fsencode(v) for n, v in text.items() if v is not None})


def _deadline_of_environment() -> float:
    text = os.environ.get("COMMSCHED_DEADLINE")
    try:
        return float(text) if text else 30.0
    except ValueError:
        raise JobError(f"environment variable COMMSCHED_DEADLINE must be a number of seconds, got: {text}") from None


def joined(options: JobOptions) -> "Job":
    """A job that this process has joined, beside that of init(). Raises JobError."""
    lib = library()
    return Job(waited(lambda: lib.cs_job_join(ctypes.byref(options)), lambda handle: not handle))


def current() -> Optional["Job"]:
    """What init() has returned, until it is closed."""
    return _current if _current is not None and not _current.closed else None


def waited(call: Callable[[], Any], failed: Callable[[Any], bool]) -> Any:
    """The result of a call of the library that may wait for other ranks for long: here, signals are handled meanwhile."""
    box: list = []

    def work():
        result = call()
        message = library().cs_last_error() if failed(result) else None  # of this thread
        box.append((result, message))
    if threading.current_thread() is threading.main_thread():
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join()
    else:
        work()
    result, message = box[0]
    if message is not None:
        raise JobError(message.decode(errors="replace"))
    return result


class Job:
    """rank, size: which of how many ranks this process is. local_rank: among those of its host, None if the launcher does
    not say it. transport: "grpc" or "mpi", or "none" of a job of one rank. servers: processes beside the ranks that are
    parameter servers."""

    def __init__(self, handle: int, whole: "Optional[Job]" = None):
        self._whole = whole  # of which this one is the first part; the rest are servers
        lib = library()
        self._handle: Optional[int] = handle
        self._lib, self._lock, self._process = lib, threading.RLock(), os.getpid()
        self.rank, self.size = lib.cs_job_rank(handle), lib.cs_job_size(handle)
        local = lib.cs_job_local_rank(handle)
        self.local_rank: Optional[int] = local if local >= 0 else None
        self.transport = lib.cs_job_transport(handle).decode()
        self.servers = whole.size - self.size if whole is not None else 0
        self._sessions: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._signal = 0  # that asks the steps to stop
        self._signalled = 0.0

    def __repr__(self) -> str:
        return f"<commsched.Job: rank {self.rank} of {self.size}, {self.transport}>"

    @property
    def closed(self) -> bool:
        """Whether the job has been left."""
        return not self._handle

    # ---- what all ranks do together ----------------------------------------------------------
    def _alive(self) -> int:
        if self._process != os.getpid():
            raise JobError("a job cannot be used in a forked process, which does not have its threads")
        if not self._handle:
            raise JobError("the job has been left")
        return self._handle

    def broadcast(self, what: str, data: bytes = b"") -> bytes:
        """The bytes of rank 0, on all ranks. what: said in errors, the same on all ranks."""
        size = ctypes.c_size_t()
        said, data = _said(what), check_bytes("data", data, JobError)
        with self._lock:
            handle = self._alive()
            pointer = waited(lambda: self._lib.cs_job_broadcast(handle, said, data, len(data), ctypes.byref(size)),
                              lambda p: p is None)
            return ctypes.string_at(pointer, size.value)

    def gather(self, what: str, data: bytes = b"") -> "Optional[list[bytes]]":
        """On rank 0 the bytes of all ranks, by rank; on others None."""
        sizes = (ctypes.c_uint64 * self.size)()
        said, data = _said(what), check_bytes("data", data, JobError)
        with self._lock:
            handle = self._alive()
            pointer = waited(lambda: self._lib.cs_job_gather(handle, said, data, len(data), sizes),
                              lambda p: p is None)
            if self.rank != 0:
                return None
            parts, at = [], pointer
            for size in sizes:
                parts.append(ctypes.string_at(at, size))
                at += size
            return parts

    def calibrate(self, plan: bytes) -> bytes:
        """All ranks: measures the links between them, compute beside them, and the devices of a plan for CUDA, in some seconds for
        each link. plan: of rank 0. On rank 0 the file of cs-run --calibrate, on others nothing."""
        plan = check_bytes("plan", plan, JobError)
        with self._lock:
            handle = self._alive()
            return waited(lambda: self._lib.cs_job_calibrate(handle, plan, len(plan)), lambda p: p is None)

    def barrier(self, what: str = "waits for all") -> None:
        """Returns when all ranks have called it."""
        self.gather(what)
        self.broadcast(what)

    def _of_rank_0(self, what: str, make: Callable[[], bytes]) -> bytes:
        """What rank 0 makes, on all ranks; its error is that of all."""
        made, error = b"", None
        if self.rank == 0:
            try:
                made = b"+" + make()
            except Exception as own:
                error, made = own, b"-" + _packed(own)
        try:
            got = self.broadcast(what, made)
        except JobError:  # of a rank that has ended with it before all have heard
            if error is None:
                raise
        if error is not None:
            raise error
        if got[:1] == b"-":
            raise _unpacked(got[1:])
        return got[1:]

    def _agree(self, what: str, own: Any, merge: Callable[[list], Any]) -> Any:
        """What rank 0 makes of what all ranks say (what JSON holds), on all of them."""
        said = self.gather(what, json.dumps(own).encode())
        return json.loads(self._of_rank_0(what, lambda: json.dumps(merge([json.loads(part) for part in said or []])).encode()))

    # ---- how it ends -------------------------------------------------------------------------
    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """While steps run, SIGINT and SIGTERM stop all ranks after the same step; a second one is KeyboardInterrupt."""
        self._signal = 0
        if self.size == 1 or threading.current_thread() is not threading.main_thread():
            yield
            return

        def told(number, frame):
            now = time.monotonic()
            if not self._signal:
                self._signal, self._signalled = number, now
            elif now - self._signalled > _SAME_SIGNAL:
                raise KeyboardInterrupt
        before = {}
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                # What the user has set for himself is his.
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    before[number] = signal.signal(number, told)
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def abort(self, why: str) -> None:
        """Tells the other ranks in one line why this one gives up, upon which what they do with it fails."""
        why = one_line("why", why, JobError)
        if self._handle and self._process == os.getpid():
            for session in list(self._sessions):
                with contextlib.suppress(RuntimeFailure):
                    session.cancel(why)
            self._lib.cs_job_abort(self._handle, why.encode())
        if self._whole is not None:
            self._whole.abort(why)

    def close(self) -> None:
        """Leaves the job in good order; programs close their workers first. What runs then is lost."""
        if self._process != os.getpid():
            self._handle = None
            return
        for session in list(self._sessions):
            session.close()
        with self._lock:
            handle, self._handle = self._handle, None
            if handle:
                self._lib.cs_job_leave(handle)
        if self._whole is not None and not self._whole.closed:
            with contextlib.suppress(CommSchedError):  # who has failed has told them
                self._whole.broadcast("serves", b"end")
            self._whole.close()

    def _leave(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.close()


def _said(what: Any) -> bytes:
    """What a call is named by: the ranks compare 31 bytes of it, in which a longer one has a checksum of the rest."""
    said = check_text("what", what, JobError).encode()
    return said if len(said) < 32 else b"%s %08x" % (said[:22].decode(errors="ignore").encode(), zlib.crc32(said))


def one_line(name: str, text: Any, error: "type[RuntimeFailure]") -> str:
    """A reason, which may have been of several lines."""
    if not isinstance(text, str) or not text.strip():
        raise error(f"{name} must be a text, got: {shown(text)}")
    return check_text(name, " ".join(text.replace("\0", " ").split()), error)


def _packed(error: Exception) -> bytes:
    names = [kind.__name__ for kind in type(error).__mro__]
    return json.dumps({"kinds": names, "text": str(error), "errno": getattr(error, "errno", None)}).encode()


def _unpacked(data: bytes) -> Exception:
    """The error of rank 0, as one of the same kind where it is of this package or Python's own, so that all ranks catch what one does."""
    said = json.loads(data)
    text = f"rank 0: {said['text']}"
    error: Exception = JobError(f"rank 0: {said['kinds'][0]}: {said['text']}")
    for name in said["kinds"]:
        kind = getattr(errors, name, None) if name in _OURS else getattr(builtins, name, None)
        if isinstance(kind, type) and (name in _OURS or issubclass(kind, (OSError, ValueError))):
            try:
                error = kind(text)
                break
            except TypeError:  # a UnicodeDecodeError wants more
                continue
    if isinstance(error, OSError):
        error.errno = said["errno"]
    setattr(error, "of_rank_0", True)
    return error


def _install_hook() -> None:
    if getattr(sys.excepthook, "of_commsched", False):
        return
    before = sys.excepthook

    def hook(kind, error, trace):
        job = current()
        where = f"rank {job.rank}: " if job is not None and job.size > 1 else ""
        text = str(error).splitlines()[0] if str(error) else ""
        if isinstance(error, Interrupted):
            if job is None or job.rank == 0:
                _say(f"{where}{error}")
        elif isinstance(error, KeyboardInterrupt):
            if job is None or job.rank == 0:
                _say(f"{where}interrupted")
            _tell(job, f"{where}interrupted")
        elif isinstance(error, RuntimeFailure) or hasattr(error, "of_rank_0"):  # which has shown more of it
            line = text if text.startswith(where) else where + text
            _say(line)
            _tell(job, text if hasattr(error, "of_rank_0") else line)  # which all say
        else:
            before(kind, error, trace)
            _tell(job, f"{where}{kind.__name__}{': ' if text else ''}{text}")
        if job is not None:
            job._leave()
        if isinstance(error, KeyboardInterrupt):
            sys.stdout.flush()
            sys.stderr.flush()
            atexit._run_exitfuncs()
            os._exit(128 + getattr(error, "signal", signal.SIGINT))
    setattr(hook, "of_commsched", True)
    sys.excepthook = hook


def _say(line: str) -> None:
    print(f"commsched: {line}", file=sys.stderr, flush=True)


def _tell(job: Optional[Job], why: str) -> None:
    if job is not None:
        with contextlib.suppress(CommSchedError):
            job.abort(why)
