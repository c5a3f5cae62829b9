"""One baseline in a process of its own: sessions come in as lines of JSON, answers and times go out.

    python -m benchmarks.baselines.worker torch

The clock runs from the first line of a session to the last without a gap: each line's time ends where the next begins,
so their sum is the session's time. Loading the baseline's library and one tiny session come before the first clock.
"""

import gc
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.baselines import OPEN, Baseline, Inexpressible, load

Line = dict[str, Any]
TINY: list[Line] = [
    {"op": "symbol", "name": "n", "hint": 4, "lo": 1, "hi": None},
    {"op": "assume", "prop": "n % 2 == 0"},
    {"op": "ask", "prop": "n*n >= 1"},
]


def replay(
    make: Callable[[], Baseline],
    lines: Sequence[Line],
    seconds: float,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Line:
    """The answers to a session's questions and the microseconds of each line, for at most about `seconds`.

    A question that the baseline cannot express, or fails on, is unknown; `notes` counts these. `said` has results of
    lines that are neither facts nor questions: None, with the error in `notes`, where the baseline lacks the operation.
    """
    notes: Counter[str] = Counter()
    answers: list[Any] = []
    said: list[Any] = []
    micros: list[float] = []
    begin = stamp = clock()
    end = begin + int(seconds * 1e9)
    baseline = make()
    for line in lines:
        if stamp > end:
            notes["lines left out"] += 1
            if line["op"] == "ask":
                answers.append(OPEN)
            continue
        op = line["op"]
        answer, value = OPEN, None
        try:
            if op == "ask":
                answer = baseline.ask(line["prop"])
            elif op == "assume":
                baseline.assume(line["prop"])
            elif op == "symbol":
                baseline.symbol(line["name"], line["hint"], line["lo"], line["hi"])
            elif op == "simplify":
                value = baseline.simplify(line["prop"])  # type: ignore[attr-defined]
            else:
                value = getattr(baseline, op)()
        except (Inexpressible, KeyError):
            notes[f"{op} not expressible"] += 1
        except Exception as error:
            notes[f"{op} error"] += 1
            notes[f"{op} error: {type(error).__name__}"] += 1
        if op == "ask":
            answers.append(answer)
        elif op not in ("symbol", "assume"):
            said.append(value)
        now = clock()
        micros.append((now - stamp) / 1000)
        stamp = now
    baseline.close()
    seconds_in_all = (clock() - begin) / 1e9
    return {"answers": answers, "said": said, "micros": micros, "seconds": seconds_in_all, "notes": notes}


def main() -> None:
    answers_out = os.fdopen(os.dup(1), "w")  # a library that prints must not end up among the answers
    os.dup2(2, 1)
    sys.set_int_max_str_digits(0)  # witnesses may be as long as the numbers that were asked about
    make = load(sys.argv[1])
    replay(make, TINY, 60)
    gc.collect()
    print("ready", file=answers_out, flush=True)
    for text in sys.stdin:
        request = json.loads(text)
        result = replay(make, request["lines"], request["seconds"])
        print(json.dumps(result), file=answers_out, flush=True)
        del result
        gc.collect()


if __name__ == "__main__":
    main()
