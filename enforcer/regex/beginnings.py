"""Beginnings of the members of a language, for whoever wants to find out what it costs to follow.

Owns: which ones lead to much, to all there is, or anywhere. Must not know: who follows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.derivative import readable, successors

if TYPE_CHECKING:
    from random import Random

    from enforcer.regex.syntax import Regex


def demanding(regex: Regex, length: int, texts: int, *, budget: int) -> list[str]:
    """Build beginnings of members after which the most may still follow.

    Args:
        regex: the language.
        length: characters of each at most.
        texts: how many at most, each with another first character.
        budget: sizes of what may follow, summed, after which one ends.

    """
    first = sorted(successors(regex), key=lambda move: -move[1].size)[:texts]
    return [readable(members) + _demanding(after, length - 1, budget) for members, after in first]


def _demanding(regex: Regex, length: int, budget: int) -> str:
    text: list[str] = []
    seen: set[Regex] = set()
    while len(text) < length and budget > 0 and regex not in seen:
        seen.add(regex)
        moves = list(successors(regex))
        budget -= sum(after.size for _, after in moves)
        if not moves:
            break
        members, regex = max(moves, key=lambda move: move[1].size)
        text.append(readable(members))
    return "".join(text)


def leading(regex: Regex, states: int, *, budget: int) -> list[str]:
    """Build beginnings of members that lead through all that may still follow, or the first of it.

    Args:
        regex: the language.
        states: how many different languages may follow, at most.
        budget: the sum of their sizes, each as often as texts lead to it from another.

    Returns:
        Texts of which none begins another.

    """
    texts = {regex: ""}
    within: set[str] = set()  # the texts that others begin with
    queue = [regex]
    for state in queue:
        for members, after in successors(state):
            budget -= after.size
            if after not in texts and len(texts) < states:
                texts[after] = texts[state] + readable(members)
                within.add(texts[state])
                queue.append(after)
        if budget < 0:
            break
    return [text for text in texts.values() if text not in within]


def breadth(regex: Regex, length: int, most: int, *, budget: int) -> int:
    """Count the languages that may follow after so many characters or fewer, up to `most`.

    Args:
        regex: the language.
        length: characters.
        most: how many are enough.
        budget: sizes of what may follow, summed, after which no more are looked for.

    """
    seen = level = {regex}
    for _ in range(length):
        following: set[Regex] = set()
        for state in level:
            found = [after for _, after in successors(state)]
            budget -= sum(after.size for after in found)
            following.update(after for after in found if after not in seen)
            if len(seen) + len(following) >= most:
                return most
            if budget < 0:
                return len(seen) + len(following)
        seen = seen | following
        level = following
    return len(seen)


def wandering(regex: Regex, length: int, random: Random, *, budget: int) -> str:
    """Build a beginning of a member, each time with one of two characters that leave most open.

    Args:
        regex: the language.
        length: characters, or fewer where none may follow.
        random: tells which of the two.
        budget: sizes of what may follow, summed, after which it ends.

    """
    text: list[str] = []
    while len(text) < length and budget > 0 and (moves := list(successors(regex))):
        budget -= sum(after.size for _, after in moves)
        moves.sort(key=lambda move: -move[1].size)
        members, regex = random.choice(moves[:2])
        text.append(readable(members))
    return "".join(text)
