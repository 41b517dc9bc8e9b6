"""Runs all conformance cases and compares them with the committed expectations.

For each source it prints schemas and tests, by verdict. A schema is right if all its tests
are. A test is right if its instance is accepted, or not, in every form as it should be, and
refused with its schema. What is refused because nothing fits it, and has no valid instance,
is counted by itself: then no instance is accepted, as it should be. So is what deviates from
the standard on purpose, by the list in `harness`, and is right with the setting for its letter.

python -m tests.conformance            compare; exit status 1 on a step back
python -m tests.conformance --update   take over what has become better
"""

import argparse
import json
import sys
import time
from collections import Counter

from enforcer.engines import load
from enforcer.vocabulary import Vocabulary
from tests.conformance import harness
from tests.shared_data import shared


def main() -> int:
    """Run, print a summary, and return the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--update", action="store_true")
    options.add_argument("--record", action="store_true")
    options.add_argument("--only", default="", help="part of the identifiers to run")
    arguments = options.parse_args()
    vocabulary = Vocabulary.from_tiktoken(
        shared("kimi", "tiktoken.model"), shared("kimi", "tokenizer_config.json")
    )
    engine = load("machine", vocabulary)
    before = harness.expected()
    counts: dict[str, Counter[str]] = {}
    tests: dict[str, Counter[str]] = {}
    back: list[str] = []
    seconds: list[tuple[float, str]] = []
    after = dict(before)
    for case in harness.all_cases():
        if arguments.only not in case.id:
            continue
        begun = time.perf_counter()
        outcome = harness.judge(case, engine, vocabulary)
        seconds.append((time.perf_counter() - begun, case.id))
        source = case.id.split("/")[0]
        counts.setdefault(source, Counter())[outcome.verdict.value] += 1
        tests.setdefault(source, Counter()).update(_tests(case, outcome))
        if harness.is_step_back(before, case.id, outcome.verdict):
            back.append(f"{case.id}: {outcome.verdict.value}: {outcome.detail}")
        if outcome.verdict is harness.Verdict.RIGHT:
            after.pop(case.id, None)
        else:
            after[case.id] = (outcome.verdict.value, outcome.detail[:200])
    for source, counter in counts.items():
        print(source, "schemas:", _summary(counter))  # noqa: T201
        print(source, "tests:", _summary(tests[source]))  # noqa: T201
    print("slowest:", [(f"{s:.1f} s", name) for s, name in sorted(seconds)[-5:]])  # noqa: T201
    print("\n".join(f"STEP BACK {each}" for each in back))  # noqa: T201
    if arguments.record or (arguments.update and not back):
        harness.EXPECTED.write_text(json.dumps(after, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if back and not arguments.record else 0


def _tests(case: harness.Case, outcome: harness.Outcome) -> dict[str, int]:
    """Count the tests of one case by what became of them."""
    if outcome.verdict in (harness.Verdict.REFUSED, harness.Verdict.UNSATISFIABLE):
        return {outcome.verdict.value: len(case.tests)}
    if outcome.verdict is harness.Verdict.DEVIATION:
        others = len(case.tests) - outcome.right
        return {harness.Verdict.RIGHT.value: outcome.right, harness.Verdict.DEVIATION.value: others}
    return {harness.Verdict.RIGHT.value: outcome.right, "wrong": len(case.tests) - outcome.right}


def _summary(counter: Counter[str]) -> str:
    total = counter.total()
    if not total:
        return "none"
    right = counter[harness.Verdict.RIGHT.value]
    deviating = counter[harness.Verdict.DEVIATION.value]
    both = right + counter[harness.Verdict.UNSATISFIABLE.value]
    return (
        f"{total} {dict(counter)} right: {right / total:.2%}, "
        f"with what nothing fits: {both / total:.2%}, "
        f"and by the letter: {(both + deviating) / total:.2%}"
    )


if __name__ == "__main__":
    sys.exit(main())
