"""Processes of joblib that are replaced while they work, as it does with those whose memory has grown."""

import subprocess
import sys

REPLACED = """
from joblib.externals.loky import process_executor
from evenhand.jobs import parallel_jobs, run_all
from joblib import delayed

def work(number):
    '''Have the process count as one whose memory has grown: joblib looks at it after every task.'''
    process_executor._MEMORY_LEAK_CHECK_DELAY = 0.0
    process_executor._MAX_MEMORY_LEAK_SIZE = -1
    return number

if __name__ == "__main__":
    print(sorted(run_all(work, ((number,) for number in range(12)), 2)))
    with parallel_jobs(2, "loky") as parallel:
        print(sorted(parallel(delayed(work)(number) for number in range(12))))
"""


def test_a_process_that_is_replaced_ends_nothing_where_warnings_are_errors(tmp_path):
    """The warning of it, raised in the thread that hands out the tasks, let every call wait for ever."""
    script = tmp_path / "script.py"
    script.write_text(REPLACED)
    ended = subprocess.run([sys.executable, "-W", "error::UserWarning", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == 2 * f"{list(range(12))}\n"
    assert "A worker stopped" not in ended.stderr
