"""Errors of a request as vLLM answers them: counted, logged, with paths into the client's body."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus

from vllm.exceptions import GracefulHTTPError, VLLMValidationError

from enforcer.errors import Busy, Problem, RequestError
from enforcer.request import carrier
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metric_defs, metrics, request_context


class _RejectionError(VLLMValidationError):  # type: ignore[misc]
    """A 400 whose `param` is the path into the request; the message has it already."""

    def __init__(self, message: str, path: str = "$") -> None:  # copies are made from `args` alone
        super().__init__(message, parameter=path.removeprefix("$").removeprefix(".") or None)

    def __str__(self) -> str:
        return str(self.args[0])


def rejection(error: RequestError) -> VLLMValidationError:
    """Return the error as vLLM answers it: HTTP 400 with the message, in the client's own paths."""
    of = request_context.told(error.path)
    error = error.at(request_context.current().client_path)
    metrics.refused(error, **of)
    return _RejectionError(f"{type(error).__name__}: {error}", error.path)


def placed(problem: Problem) -> Problem:
    """Return a problem with the path in the client's own body."""
    return replace(problem, path=request_context.current().client_path(problem.path))


def option_rejection(option: str, reason: str) -> VLLMValidationError:
    """Return a 400 for a field of the request that enforcement does not go with."""
    metrics.refused_option(option, request=request_context.told()["request"])
    return VLLMValidationError(reason, parameter=option)


def not_allowed(option: str, what: str) -> VLLMValidationError:
    """Return a 400 for what a request may set only where the operator lets it."""
    here = ", ".join(sorted(settings.current().allow_client)) or "nothing"
    return option_rejection(
        option,
        f"a request may not set {what} here: leave it out ({carrier.ALLOW} allows {here})",
    )


@contextmanager
def answered() -> Iterator[None]:
    """Turn what a check raises into vLLM's answers: 400, or 503 where there was no room for it."""
    try:
        yield
    except RequestError as error:
        raise rejection(error) from error
    except Busy as error:
        metrics.count(metric_defs.CHECKS, metric_defs.CheckOutcome.BUSY)
        whose = "" if error.lacks else "own" if error.own else "of others"
        request = request_context.told()["request"]
        metrics.log("busy", lacks=error.lacks, schemas=whose, request=request)
        raise GracefulHTTPError(str(error), HTTPStatus.SERVICE_UNAVAILABLE) from error
