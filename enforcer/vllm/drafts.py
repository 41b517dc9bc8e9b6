"""Draft tokens by the grammar, for vLLM's speculative decoding.

vLLM asks a proposer for draft tokens, and lets each request's grammar cut them to what is legal.
`Proposer` has none for anybody. In their place the wrapper of `validate_tokens` returns those of
the request's matcher (`Matcher.propose`), so that requests without our grammar have none.

It is sound where the scheduler's draft tokens are those that the workers verify: in V1's model
runner with synchronous scheduling. Elsewhere the workers verify what a drafter left on the device,
and nothing is proposed here.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from enforcer.errors import ConfigurationError
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metric_defs, metrics
from enforcer.vllm.observe.metric_defs import Drafted

logger = logging.getLogger("vllm.enforcer")

PROPOSER = f"{__name__}.Proposer"
# Positions that take as long as all else of a step, on a CPU: nine take 1.46 times as long as one.
_POSITIONS = 17
_LEARNING = 0.05  # of the share of accepted tokens, with each proposal
_HOPE = 0.002  # by which the share grows where nothing is proposed, so that it is tried again
_ALWAYS = 0.9  # a share from which on a token is proposed however many requests there are


class Proposer:
    """A proposer of vLLM's method `custom_class`, which proposes nothing; see the module.

    Args:
        vllm_config: vLLM's.

    Raises:
        ConfigurationError: the plugin is not loaded, which proposes in its place.

    """

    def __init__(self, vllm_config: Any) -> None:  # noqa: ARG002 - vLLM's signature
        from vllm.v1.structured_output import StructuredOutputManager

        from enforcer.vllm.config.names import PATCHED

        if not hasattr(StructuredOutputManager.validate_tokens, PATCHED):
            raise ConfigurationError(
                f"{PROPOSER} needs the plugin `enforcer`, and ENFORCER_SHADOW=off: without them "
                "leave --speculative-config out"
            )

    def load_model(self, *_: Any, **__: Any) -> None:
        """Load nothing."""

    def propose(self, sampled_token_ids: list[list[int]], *_: Any, **__: Any) -> list[list[int]]:
        """Return no draft tokens for any request."""
        return [[] for _ in sampled_token_ids]


class DraftLength:
    """How many tokens are proposed at once: learned from those that were accepted.

    A token at some distance is proposed if its kind was accepted so often lately that verifying it
    pays. That depends on how many requests are in flight, since with many of them a position costs
    as much as another request's.

    Args:
        most: how many tokens a server verifies at once.

    """

    def __init__(self, most: int) -> None:
        self._shares = [1.0] * most

    def limit(self, in_flight: int) -> int:
        """Return how many tokens to propose, with so many requests in flight."""
        least = min(in_flight / (in_flight + _POSITIONS), _ALWAYS)
        for at, share in enumerate(self._shares):
            if share < least:
                self._shares[at] += _HOPE * (1 - share)
                return at
        return len(self._shares)

    def learn(self, proposed: int, accepted: int) -> None:
        """Note how many tokens of a proposal were accepted."""
        for at in range(min(accepted + 1, proposed)):
            self._shares[at] += _LEARNING * ((at < accepted) - self._shares[at])


class Proposed(NamedTuple):
    """What was proposed for a turn last.

    Attributes:
        tokens: how many.
        at: how many tokens the turn had before.
        in_call: whether it stood in a call.

    """

    tokens: int
    at: int
    in_call: bool


class Drafting:
    """The proposals of one engine.

    Args:
        most: how many tokens a server verifies at once.
        likely: the policy; see `Matcher.propose`.

    """

    def __init__(self, most: int, *, likely: bool) -> None:
        self._length = DraftLength(most)
        self._likely = likely

    def propose(self, turn: Any, in_flight: int) -> list[int]:
        """Return the tokens to propose for a turn.

        Args:
            turn: its `EnforcedGrammar`; what was proposed last is noted there.
            in_flight: how many enforced requests there are.

        """
        matcher, before = turn.matcher, turn.proposed
        at = matcher.accepted
        if at > before.at:
            self._note(before, at - before.at)
        limit = self._length.limit(in_flight)
        try:
            found = matcher.propose(limit, likely=self._likely) if limit else []
        except Exception:  # a fault of ours: without proposals the turn is as right
            logger.exception("enforcer: a turn gets no more draft tokens")
            turn.proposed = None
            return []
        in_call = bool(matcher.tool) or matcher.position.header is not None
        turn.proposed = Proposed(len(found), at, in_call)
        return found

    def _note(self, before: Proposed, came: int) -> None:
        """Note what became of a proposal: the model adds a token to those that it accepts."""
        accepted = min(came - 1, before.tokens)
        if before.tokens:
            self._length.learn(before.tokens, accepted)
            metrics.count(metric_defs.DRAFTS, Drafted.ACCEPTED, number=accepted)
            metrics.count(metric_defs.DRAFTS, Drafted.REJECTED, number=before.tokens - accepted)
        if before.in_call or before.tokens:
            metrics.count(metric_defs.CALL_PASSES)


def drafting(config: Any) -> Drafting | None:
    """Return the proposals of an engine by its `VllmConfig`, and log what it can do; None for none.

    Raises:
        ConfigurationError: it asks for ours, where they would be unsound.

    """
    asked = config.speculative_config
    if asked is None:
        return None
    if asked.method != "custom_class" or asked.model != PROPOSER:
        logger.info("enforcer: draft tokens are those of %s, not of the grammar", asked.method)
        return None
    if config.scheduler_config.async_scheduling or config.use_v2_model_runner:
        raise ConfigurationError(
            "draft tokens by the grammar need V1's model runner and synchronous scheduling: leave "
            "VLLM_USE_V2_MODEL_RUNNER and --async-scheduling out"
        )
    most, policy = asked.num_speculative_tokens, settings.current().drafts
    logger.info("enforcer: the grammar proposes up to %d draft tokens in calls (%s)", most, policy)
    return Drafting(most, likely=policy == "likely")
