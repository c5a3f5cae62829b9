"""Work that several threads do at once."""

import threading
from collections.abc import Callable


def at_once(work: Callable[[int], None], count: int = 4) -> None:
    """Do work in as many threads, each given its number, and wait for all."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
