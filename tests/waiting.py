"""Waiting for what happens in another thread or process, without saying how long that may take."""

import asyncio
import time


def until(there, pause=0.005):
    """Return what `there()` returns once that is true; a test that waits in vain is ended by its limit of time."""
    while not (found := there()):
        time.sleep(pause)
    return found


async def until_async(there, pause=0.005):
    """Wait as `until` does, while other tasks of the loop go on."""
    while not (found := there()):
        await asyncio.sleep(pause)
    return found
