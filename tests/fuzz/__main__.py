"""`python -m tests.fuzz TARGET… --minutes N`: fuzzes by coverage, so long for each target.

Needs `pip install --group fuzz` (Google's fuzzer for Python, over libFuzzer). It instruments this
package alone, and looks for bytes that lead Hypothesis to draw what reaches new code. What it
has found goes on from run to run in the corpus; bytes that break an invariant are kept as
`crash-*` and told with the example that they draw. Exits with 1 if there are any.
"""

import argparse
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from random import Random

NAMES = ("schema", "matcher", "parser", "http")
_LONGEST = 4096  # bytes of an input
_SEEDS = 24
_PATIENCE = 60  # seconds for one input; a machine that is shared is slow now and then


def main() -> int:
    """Run each target in a process of its own, which libFuzzer ends; see the module."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(NAMES))
    options.add_argument("--minutes", type=float, default=5, help="for each target")
    options.add_argument("--corpus", type=Path, default=Path(".cache/fuzz"))
    options.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.inside:
        fuzz(arguments.inside, arguments.corpus, arguments.minutes)
        return 0
    if unknown := set(arguments.targets) - set(NAMES):
        options.error(f"no target {', '.join(unknown)}; there are {', '.join(NAMES)}")
    failed = False
    for name in arguments.targets or NAMES:
        begun = time.monotonic()
        own = ["--inside", name, "--minutes", str(arguments.minutes)]
        command = [sys.executable, "-m", "tests.fuzz", *own, "--corpus", str(arguments.corpus)]
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
        lines = done.stderr.splitlines()
        last = [line for line in lines if " cov: " in line or "DONE" in line][-1:]
        say(f"{name}: {time.monotonic() - begun:.0f} s, {(last or ['nothing run'])[0]}")
        if done.returncode:
            failed = True
            say("\n".join(lines[-60:]))
    return int(failed)


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fuzz(name: str, corpus: Path, minutes: float) -> None:
    """Fuzz one target in this process; does not return."""
    import atheris

    with atheris.instrument_imports(include=["enforcer"]):
        from tests.fuzz.targets import TARGETS

        if name == "http":  # vLLM takes long to import, which is no example's to answer for
            import_module("enforcer.vllm.intake.settling")
            import_module("enforcer.vllm.replies.tool_parser")
    folder = corpus / name
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(_SEEDS):
        # Fewer bytes than an example needs draw nothing, so do not begin with few.
        (folder / f"seed-{seed}").write_bytes(Random(seed).randbytes(_LONGEST >> seed % 4))
    wanted = (
        *(f"-max_total_time={60 * minutes:.0f}", f"-max_len={_LONGEST}", f"-timeout={_PATIENCE}"),
        *(f"-artifact_prefix={folder}/", "-rss_limit_mb=4096", "-len_control=0"),
    )
    # Hypothesis draws from the bytes; it gives back None where they do not suffice.
    atheris.Setup([sys.argv[0], *wanted, str(folder)], TARGETS[name].hypothesis.fuzz_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
