"""Questions with named parts (`t0 == 1 where t0 = ...`) written out, in place: the labelling reads plain expressions.

python expand.py raw/own-*.jsonl.gz
"""

import gzip
import json
import re
import sys

LONGEST = 20_000


def written_out(text):
    body, _, named = text.partition(" where ")
    starts = [match.start() for match in re.finditer(r"(?:^|, )[a-z]\d+ = ", named)]
    parts = {}
    for start, end in zip(starts, [*starts[1:], len(named)], strict=True):
        name, _, part = named[start:end].lstrip(", ").partition(" = ")
        parts[name] = part

    def full(part):
        if len(part) > LONGEST:
            raise OverflowError
        return re.sub(
            r"\b[a-z]\d+\b", lambda found: f"({full(parts[found[0]])})" if found[0] in parts else found[0], part
        )

    return full(body)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with gzip.open(path, "rt") as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            if " where " in line.get("prop", ""):
                line["prop"] = written_out(line["prop"])
        with gzip.open(path, "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
