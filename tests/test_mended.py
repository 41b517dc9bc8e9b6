"""What the first trial by a new user found, row by row, and the test that would find it again.

Owns: the table. Must not know: what any of these tests does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.snippets import PAGES

ROOT = Path(__file__).resolve().parents[1]
# What was seen, and the tests of what should be.
MENDED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "README, one request: its body on the README's own server is a 400",
        (
            "tests/vllm/test_snippets.py::test_the_python_of_a_page_runs",
            "tests/vllm/test_snippets.py::test_the_first_server_and_its_first_request",
            "tests/test_blocks.py::test_every_block_is_held",
        ),
    ),
    (
        "logits-processor route: fails with the flags of the page",
        (
            "tests/vllm/test_snippets.py::test_the_python_of_a_page_runs",
            "tests/vllm/test_commands.py::test_vllm_takes_the_command",
        ),
    ),
    (
        "logits-processor route: `doctor` calls the working server bad",
        ("tests/vllm/test_doctor.py::test_a_server_with_the_logits_processor_is_well",),
    ),
    (
        "logits-processor route: a forgotten `via=` is a bare 500",
        (
            "tests/vllm/logits_processor/test_early.py::test_a_spec_that_vllm_would_drop_is_refused_where_there_is_no_plugin",
        ),
    ),
    (
        "tools of types `namespace` and `web_search` on /v1/responses: 400",
        (
            "tests/vllm/intake/test_client_paths.py::test_codex_tools_are_answered_and_namespaces_enforced",
            "tests/vllm/intake/test_client_paths.py::test_tools_that_vllm_does_not_show_the_model_are_not_declared",
            "tests/vllm/test_clients.py::test_its_tools_are_enforced_as_they_are",
        ),
    ),
    (
        "`uniqueItems` of one tool refuses the whole request",
        (
            "tests/vllm/test_relaxing.py::test_isolating_keeps_the_other_tools_exact",
            (
                "tests/vllm/test_relaxing.py::"
                "test_what_is_not_exact_is_told_once_with_its_tool_and_its_first_request"
            ),
            (
                "tests/vllm/test_relaxing.py::"
                "test_over_http_a_server_that_isolates_takes_every_tool_list"
            ),
        ),
    ),
    (
        "paths in errors are those of Chat Completions on every route",
        (
            "tests/vllm/intake/test_client_paths.py::test_a_refusal_names_the_path_in_the_clients_body",
            "tests/vllm/intake/test_client_paths.py::test_over_http",
        ),
    ),
    (
        "nothing in the server's log says that it enforces",
        (
            "tests/vllm/intake/test_startup.py::test_one_line_says_what_is_enforced_and_what_is_not",
            "tests/vllm/intake/test_startup.py::test_a_server_logs_it_once",
        ),
    ),
    (
        "`verify --model wrong` says the wrong thing, with the wrong status",
        (
            "tests/tools/cli/test_verify_told.py::test_a_model_that_is_not_served_is_told",
            "tests/tools/cli/test_verify_told.py::test_what_cannot_be_run_is_told",
        ),
    ),
    (
        "`verify`: refusals are cut before the path",
        (
            "tests/tools/cli/test_verify_told.py::test_refusals_are_told_whole",
            "tests/tools/cli/test_verify_told.py::test_a_long_value_does_not_hide_the_path",
        ),
    ),
    (
        "`verify`: Ctrl-C loses all",
        ("tests/tools/cli/test_verify_told.py::test_an_interruption_shows_what_was_measured",),
    ),
    (
        "`doctor` with a wrong path in the URL",
        ("tests/tools/doctor/test_server.py::test_a_wrong_path_in_the_url_is_told",),
    ),
    (
        "misspelt `ENFORCER_` variables",
        (
            "tests/vllm/config/test_settings.py::test_a_misspelt_name_is_an_error_that_names_the_nearest",
            "tests/tools/doctor/test_installation.py::test_settings",
        ),
    ),
    (
        "`check | head`",
        ("tests/tools/cli/test_main.py::test_a_reader_that_has_had_enough_is_no_error",),
    ),
    ("`check DIRECTORY`", ("tests/tools/cli/test_check.py::test_a_folder_is_all_its_files",)),
    ("no `--version`", ("tests/tools/cli/test_main.py::test_the_version",)),
    ("no `python -m enforcer`", ("tests/tools/cli/test_main.py::test_as_a_module",)),
    (
        "`while True` in the docs that never ends; `Vocabulary.from_tiktoken` on no page",
        ("tests/vllm/test_snippets.py::test_the_python_of_a_page_runs",),
    ),
    ("two spellings of `Route`", ("tests/test_mended.py::test_a_route_has_one_spelling",)),
    (
        "metrics without `off` and `relax`",
        (
            (
                "tests/vllm/observe/test_metrics.py::"
                "test_a_request_that_is_switched_off_is_counted_and_told_without_a_warning"
            ),
            "tests/vllm/observe/test_metrics.py::test_the_documentation_lists_every_metric",
        ),
    ),
)


@pytest.mark.parametrize(("seen", "tests"), MENDED, ids=[seen for seen, _ in MENDED])
def test_what_was_mended_has_its_tests(seen: str, tests: tuple[str, ...]) -> None:
    assert tests, seen
    for named in tests:
        file, _, name = named.partition("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), named


def test_a_route_has_one_spelling() -> None:
    """What a reader copies begins with what it is imported from."""
    texts = [*PAGES, *(ROOT / "enforcer").rglob("*.py")]
    # A signature in the reference has the default as the code has it.
    copied = [re.sub(r"```pyi\n.*?```", "", path.read_text(), flags=re.DOTALL) for path in texts]
    assert not [text for text in copied if re.search(r"via=Route\.", text)]
