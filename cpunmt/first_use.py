"""The lock under which things are made on first use: the compiled program, tables, threads, late imports.

A fork copies the memory of all threads, but only the thread that forks lives on: a lock that another one holds is
never released in the child, which then waits for ever. So all that is made late is made under this one lock, and a
fork waits until nobody holds it.
"""

import os
import threading

LOCK = threading.RLock()

os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
