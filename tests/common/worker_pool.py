# SPDX-License-Identifier: Apache-2.0
"""Runs tasks in forked processes, so that a crash or a hang fails one task alone."""
import collections
import multiprocessing
import signal
import time
from multiprocessing.connection import wait

FORK = multiprocessing.get_context("fork")


def _serve(work, pipe):
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(work(task))


class _Worker:
    def __init__(self, work):
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=_serve, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self.task = None

    def stop(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run(work, tasks, jobs, timeout):
    """Yields (task, result, None), or (task, None, "crash: …" or "hang: …"), in the order they end."""
    waiting, workers = collections.deque(tasks), []
    while waiting or workers:
        while waiting and len(workers) < jobs:
            workers.append(_Worker(work))
        for worker in workers:
            if worker.task is None and waiting:
                worker.task, worker.deadline = waiting.popleft(), time.monotonic() + timeout
                worker.pipe.send(worker.task)
        workers = [w for w in workers if w.task is not None or w.stop()]
        ready = wait([w.pipe for w in workers], timeout=1)
        for worker in list(workers):
            failure = result = None
            if worker.pipe in ready:
                try:
                    result = worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    code = worker.process.exitcode
                    failure = f"crash: {signal.Signals(-code).name if code < 0 else f'exit {code}'}"
            elif time.monotonic() > worker.deadline:
                failure = f"hang: no end after {timeout:.0f} s"
            else:
                continue
            task, worker.task = worker.task, None
            if failure:
                worker.stop()
                workers.remove(worker)
            yield task, result, failure
