"""What a run of the checker means: judge.py RESULTS NOT_YET. Prints the cases that fail and were to pass, and the other way round.

NOT_YET has a line `ID reason` for each case that is known to fail; a case that is listed and passes is a line to take out. With `~ID`
the case may do either: what it looks at is decided by a race of its own. The exit status is 1 if a case failed that was to pass, and 2 if
only the list is too long.
"""

import json
import sys

with open(sys.argv[1]) as f:
    results = json.load(f)
with open(sys.argv[2]) as f:
    rows = [line.split(None, 1) for line in f if line.strip() and not line.startswith("#")]
not_yet = {row[0]: row[1].strip() for row in rows if len(row) == 2}
assert len(not_yet) == len(rows), "a line without a reason, or an id twice"
either = {id[1:] for id in not_yet if id.startswith("~")}

cases = {case["id"]: case for case in results["cases"]}
failed = [id for id, case in cases.items() if case["verdict"] == "FAIL" and id not in not_yet and id not in either]
passed = [id for id, case in cases.items() if case["verdict"] == "PASS" and id in not_yet]
for id in failed:
    print("FAIL %s [%s] %s: %s" % (id, cases[id]["cite"], cases[id]["name"], cases[id]["why"]), file=sys.stderr)
for id in passed:
    print("PASS %s stands in the list of those that do not yet" % id, file=sys.stderr)
print(",".join(failed))
sys.exit(1 if failed else 2 if passed else 0)
