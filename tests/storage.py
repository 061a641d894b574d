# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of storage: every system call of a process, and of what it starts, that touches a file below some folders can be made
to fail, to write only a part, or to be the last one that the process makes.

The kernel asks for each (seccomp's user notifications), so it is of no importance which library calls, or how that is linked."""
import array
import ctypes
import dataclasses
import errno
import fcntl
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading

# Numbers of x86-64. What a call does: "look", "open", "read", "make", "write", "keep" (flush, close), "lock", "rename", "remove".
# Where its paths are: pairs of arguments, of a folder's descriptor (None: the present folder) and of the path.
_CALLS = {
    0: ("read", "read", ()), 1: ("write", "write", ()), 2: ("open", "open", ((None, 0),)), 3: ("close", "keep", ()),
    4: ("stat", "look", ((None, 0),)), 6: ("lstat", "look", ((None, 0),)), 9: ("mmap", "read", ()), 17: ("pread64", "read", ()),
    18: ("pwrite64", "write", ()), 19: ("readv", "read", ()), 20: ("writev", "write", ()), 21: ("access", "look", ((None, 0),)),
    49: ("bind", "make", ()), 73: ("flock", "lock", ()), 74: ("fsync", "keep", ()), 75: ("fdatasync", "keep", ()),
    77: ("ftruncate", "write", ()), 82: ("rename", "rename", ((None, 1), (None, 0))), 83: ("mkdir", "make", ((None, 0),)),
    84: ("rmdir", "remove", ((None, 0),)), 86: ("link", "make", ((None, 1), (None, 0))), 87: ("unlink", "remove", ((None, 0),)),
    88: ("symlink", "make", ((None, 1),)), 89: ("readlink", "look", ((None, 0),)), 90: ("chmod", "write", ((None, 0),)),
    217: ("getdents64", "read", ()), 257: ("openat", "open", ((0, 1),)), 258: ("mkdirat", "make", ((0, 1),)),
    262: ("newfstatat", "look", ((0, 1),)), 263: ("unlinkat", "remove", ((0, 1),)), 264: ("renameat", "rename", ((2, 3), (0, 1))),
    265: ("linkat", "make", ((2, 3), (0, 1))), 267: ("readlinkat", "look", ((0, 1),)), 269: ("faccessat", "look", ((0, 1),)),
    285: ("fallocate", "write", ()), 295: ("preadv", "read", ()), 316: ("renameat2", "rename", ((2, 3), (0, 1))),
    332: ("statx", "look", ((0, 1),)), 439: ("faccessat2", "look", ((0, 1),)),
}
_MMAP, _NEW_LISTENER, _WAIT_KILLABLE = 9, 8, 32
_RECEIVE, _SEND, _CONTINUE = 0xc0502100, 0xc0182101, 1
_NOTICE, _ANSWER = struct.Struct("<QIIiIQ6Q"), struct.Struct("<QqiI")
_PIDFD_OPEN, _PIDFD_GETFD, _SECCOMP = 434, 438, 317
_AT_FDCWD = -100

# With what a call may fail, by what it does.
ERRORS = {
    "look": (errno.EIO, errno.EACCES), "read": (errno.EIO,), "open": (errno.EIO, errno.EACCES, errno.EMFILE, errno.ENFILE),
    "create": (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.EIO), "write": (errno.ENOSPC, errno.EDQUOT, errno.EIO),
    "make": (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EIO), "keep": (errno.EIO, errno.ENOSPC, errno.EDQUOT),
    "lock": (errno.ENOLCK, errno.EIO), "rename": (errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES), "remove": (errno.EIO, errno.EROFS, errno.EACCES),
}
# What fails for good with an error of a whole disk, or of all files.
LASTING = {errno.ENOSPC: ("create", "write", "make", "keep"), errno.EDQUOT: ("create", "write", "make", "keep"),
           errno.EROFS: ("create", "write", "make", "rename", "remove"),
           errno.EIO: ("look", "read", "open", "create", "write", "make", "keep", "rename", "remove"), errno.EMFILE: ("open", "create")}


@dataclasses.dataclass
class Call:
    name: str
    does: str  # as above, and "create" of an open that makes the file, or may write to it
    path: str
    process: int

    def __str__(self):
        return f"{self.name} {self.path}"


class Fault:
    """Comes with the call of this number. what: of the call, as Storage has it. lasting: an error is one of all such calls from then on."""

    def __init__(self, number, what, lasting):
        self.number, self.what, self.lasting, self.count, self.call = number, what, lasting, 0, None

    def __call__(self, call):
        self.count += 1
        if self.call is None and self.count > self.number:
            self.call, self.what = call, self.what(call)
            return self.what
        if self.call is not None and self.lasting and call.does in LASTING.get(self.what, ()):
            return self.what
        return None

    def __str__(self):
        return f"call {self.number}, {self.call}: {errno.errorcode.get(self.what, self.what)}{' from then on' if self.lasting else ''}"


def drawn(random_, count):
    """One of a job that makes so many calls."""
    def what(call):
        if random_.random() < 0.15:
            return "kill"
        if call.does == "write" and random_.random() < 0.3:
            return "short"
        return random_.choice(ERRORS[call.does])
    return Fault(random_.randrange(count), what, random_.random() < 0.5)


class Storage:
    """Processes whose calls below `folders` go through decide(call): None, an error's number, "short", "kill", or an event before
    which the call is not answered.

    calls: all of them that there were, in order."""

    def __init__(self, folders, decide=lambda call: None):
        self.folders, self.decide = [os.path.realpath(folder) for folder in folders], decide
        self.calls, self.broken = [], None
        self._threads = []

    def start(self, command, **options):
        """A process, as subprocess.Popen does it."""
        own, its = socket.socketpair()
        with own:
            with its:
                process = subprocess.Popen([sys.executable, "-ISs", __file__, str(its.fileno()), *map(str, command)], pass_fds=[its.fileno()],
                                           **options)
            _, parts, _, _ = own.recvmsg(1, socket.CMSG_LEN(4))
        if not parts:
            _, error = process.communicate()
            raise OSError(f"system calls cannot be looked at here: {error}")
        (listener,) = array.array("i", parts[0][2])
        thread = threading.Thread(target=self._listen, args=(listener,), daemon=True)
        thread.start()
        self._threads.append(thread)
        return process

    def wait(self):
        """Until all processes have ended."""
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a process is left"
        if self.broken is not None:
            raise self.broken

    def _listen(self, listener):
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        try:
            while True:
                if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
                    return
                notice = bytearray(_NOTICE.size)
                try:
                    fcntl.ioctl(listener, _RECEIVE, notice)
                except (FileNotFoundError, InterruptedError):  # the process is gone
                    continue
                number, process, _, nr, _, _, *arguments = _NOTICE.unpack(notice)
                try:
                    value, error = self._answer(process, nr, arguments)
                except (ProcessLookupError, FileNotFoundError):
                    value, error = None, 0
                except Exception as what:
                    self.broken = self.broken or what
                    value, error = None, 0
                if isinstance(value, threading.Event):
                    threading.Thread(target=self._send_later, args=(os.dup(listener), number, value), daemon=True).start()
                else:
                    _send(listener, number, value, error)
        finally:
            os.close(listener)

    @staticmethod
    def _send_later(listener, number, until):
        until.wait()
        _send(listener, number, None, 0)
        os.close(listener)

    def _answer(self, process, nr, arguments):
        """(value, error); (None, 0): the kernel does it."""
        name, does, places = _CALLS[nr]
        if not places:
            paths = [_socket(process, arguments)] if name == "bind" else [_of_descriptor(process, _signed(arguments[4 if nr == _MMAP else 0]))]
        else:
            paths = [_path(process, None if folder is None else _signed(arguments[folder]), arguments[path]) for folder, path in places]
        path = next((path for path in paths if path is not None and self._below(path)), None)
        if path is None:
            return None, 0
        if name in ("open", "openat"):
            flags = arguments[2 if name == "openat" else 1]
            if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                does = "create"
        if name == "mmap" and arguments[3] & 2 == 0:
            does = "open"  # shared
        if name in ("read", "write") and not _is_file(path) or name == "close" and not _is_written(process, _signed(arguments[0])):
            return None, 0
        call = Call(name, does, path, process)
        self.calls.append(call)
        what = self.decide(call)
        if what is None or isinstance(what, threading.Event):
            return what, 0
        if what == "kill":
            os.kill(_group(process), signal.SIGKILL)
            return 0, 0
        if what == "short":
            if name not in ("write", "pwrite64") or arguments[2] < 2:
                return None, 0
            return _write(process, arguments, arguments[2] // 2, name == "pwrite64"), 0
        return 0, what

    def _below(self, path):
        return any(path == folder or path.startswith(folder + "/") for folder in self.folders)


def _send(listener, number, value, error):
    answer = _ANSWER.pack(number, value or 0, -error, _CONTINUE if value is None and not error else 0)
    try:
        fcntl.ioctl(listener, _SEND, bytearray(answer))
    except (FileNotFoundError, InterruptedError):
        pass


def _signed(argument):
    return ctypes.c_int32(argument & 0xffffffff).value


def _memory(process, address, size):
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), size, address)


def _text(process, address):
    """Not beyond the page, which may be the last one."""
    found = b""
    while b"\0" not in found and len(found) < 8192:
        at = address + len(found)
        found += _memory(process, at, 4096 - at % 4096)
    return os.fsdecode(found.split(b"\0")[0])


def _of_descriptor(process, number):
    if number < 0:
        return None
    try:
        return os.readlink(f"/proc/{process}/fd/{number}").removesuffix(" (deleted)")
    except FileNotFoundError:
        return None


def _path(process, folder, address):
    try:
        path = _text(process, address)
    except OSError:  # no text
        return None
    if not path.startswith("/"):
        base = os.readlink(f"/proc/{process}/cwd") if folder is None or folder == _AT_FDCWD else _of_descriptor(process, folder)
        if base is None:
            return None
        path = os.path.join(base, path) if path else base
    return os.path.normpath(path)


def _socket(process, arguments):
    address = _memory(process, arguments[1], min(arguments[2], 110))
    if struct.unpack_from("<H", address)[0] != socket.AF_UNIX or address[2:3] in (b"", b"\0"):
        return None
    return os.fsdecode(address[2:].split(b"\0")[0])


def _is_file(path):
    try:
        return stat.S_ISREG(os.stat(path).st_mode) or stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:  # it has no name any more
        return True


def _is_written(process, descriptor):
    with open(f"/proc/{process}/fdinfo/{descriptor}") as file:
        flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
    return flags & os.O_ACCMODE != os.O_RDONLY


def _group(thread):
    with open(f"/proc/{thread}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Tgid:"))


def _write(process, arguments, size, at_place):
    libc = ctypes.CDLL(None, use_errno=True)
    pid = libc.syscall(_PIDFD_OPEN, _group(process), 0)
    file = libc.syscall(_PIDFD_GETFD, pid, _signed(arguments[0]), 0)
    assert pid >= 0 and file >= 0, os.strerror(ctypes.get_errno())
    try:
        content = _memory(process, arguments[1], size)
        return os.pwrite(file, content, arguments[3]) if at_place else os.write(file, content)
    finally:
        os.close(file)
        os.close(pid)


# ---- in the process -------------------------------------------------------------------------------
def _install():
    """The descriptor of the notifications; they are of this process and of all that it starts."""
    load, jump_if, give = 0x20, 0x15, 0x06
    numbers = [number for number in _CALLS if number != _MMAP]
    lines = [(load, 0, 0, 4), (jump_if, 1, 0, 0xc000003e), (give, 0, 0, 0x7fff0000), (load, 0, 0, 0)]
    # Of memory without a file (descriptor -1) nobody is asked.
    lines += [(jump_if, 0, 2, _MMAP), (load, 0, 0, 16 + 4 * 8), (jump_if, len(numbers), len(numbers) + 1, 0xffffffff)]
    lines += [(jump_if, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    lines += [(give, 0, 0, 0x7fff0000), (give, 0, 0, 0x7fc00000)]
    code = b"".join(struct.pack("<HBBI", *line) for line in lines)
    text = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(lines), ctypes.addressof(text)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        listener = libc.syscall(_SECCOMP, 1, flags, program)
        if listener >= 0:
            return listener
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _main():
    number, *command = sys.argv[1:]
    with socket.socket(fileno=int(number)) as to:
        try:
            listener = _install()
        except OSError as error:
            sys.exit(str(error))
        to.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
    os.execvp(command[0], command)


if __name__ == "__main__":
    _main()
