"""Work in a child process that the system kills when it has used up its CPU time."""

import os
import resource
import signal
import time
import traceback
from collections.abc import Callable


def finishes(work: Callable[[], object], seconds: int = 5) -> bool:
    """Whether the work ends within so many seconds of CPU time."""
    return seconds_of([work], seconds) is not None


def seconds_of(works: list[Callable[[], object]], seconds: int = 5) -> list[float] | None:
    """The CPU time that each of several works takes; None if all of them take more than so many seconds.

    An exception in the child fails the caller's test.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            for work in works:
                began = time.process_time()
                work()
                os.write(writing, f"{time.process_time() - began}\n".encode())
            code = 0
        except BaseException:  # noqa: BLE001 - the child must not go on as a second test process
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answers:
        found = [float(line) for line in answers]
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) != 1, "the work has raised: see above"
    return found if os.waitstatus_to_exitcode(status) == 0 else None
