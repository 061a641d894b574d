# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on a machine with a device, each with a time limit: what it has printed, and its last lines where it fails. Needs nothing but
Python; PACK/bin has the programs, PACK/lib their libraries, and wheels of NVIDIA those of CUDA."""
import glob
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

LINES = 12  # of an error


def library_folders(pack):
    """Those of the programs, then NVIDIA's of this Python's wheels, then those that the environment has."""
    wheels = [folder for path in sys.path for folder in sorted(glob.glob(os.path.join(path, "nvidia", "**", "lib"), recursive=True))]
    own = [str(pack / "lib")] if (pack / "lib").is_dir() else []
    return own + wheels + [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def tail(text):
    return [line[:400] for line in text.strip().splitlines()[-LINES:]]


class Run:
    """A process, whose lines of output come with the time at which they came. `limit` seconds after its start it is killed."""

    def __init__(self, command, limit, environment=None):
        self.lines, self.errors, self.timed_out, self._done = [], [], False, threading.Event()
        self.begin, self.command = time.monotonic(), [str(word) for word in command]
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                        env=environment, start_new_session=True)
        self._threads = [threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True),
                         threading.Thread(target=self._read, args=(self.process.stderr, self.errors), daemon=True),
                         threading.Thread(target=self._watch, args=(limit,), daemon=True)]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(pipe, lines):
        for line in pipe:
            lines.append((time.monotonic(), line.rstrip("\n")))

    def _watch(self, limit):
        if not self._done.wait(limit):
            self.timed_out = True
            self.kill()

    def kill(self):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass

    def wait(self):
        """Itself, ended."""
        self.process.wait()
        self._done.set()
        for thread in self._threads:
            thread.join(5)
        self.seconds = time.monotonic() - self.begin
        return self

    @property
    def text(self):
        return "\n".join(line for _, line in self.lines)

    def failure(self):
        """None, or what is to be learned from it."""
        if self.process.returncode == 0 and not self.timed_out:
            return None
        return {"command": " ".join(self.command)[-600:], "status": self.process.returncode, "timed_out": self.timed_out,
                "seconds": round(self.seconds, 2), "stderr": tail("\n".join(line for _, line in self.errors)), "stdout": tail(self.text)}


class Machine:
    """PACK's programs."""

    def __init__(self, pack):
        self.pack = pathlib.Path(pack).resolve()
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(library_folders(self.pack))}

    def start(self, program, *arguments, limit, **environment):
        return Run([self.pack / "bin" / program, *arguments], limit, {**self.environment, **environment})

    def run(self, program, *arguments, limit, **environment):
        return self.start(program, *arguments, limit=limit, **environment).wait()
