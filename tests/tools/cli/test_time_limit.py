import signal

import pytest

from enforcer.tools.cli.verdicts import TooLong, at_most


def endless() -> None:
    while True:
        pass


def test_what_does_not_end_is_ended_and_the_timer_with_it() -> None:
    before = signal.getsignal(signal.SIGPROF)
    for _ in range(2):
        with pytest.raises(TooLong), at_most(0.01):
            endless()
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGPROF) == before


def test_work_does_not_take_its_end_for_an_error_of_its_own() -> None:
    def tolerant() -> None:
        try:
            endless()
        except Exception:  # noqa: BLE001 - as code around a library does
            pytest.fail("it went on")

    with pytest.raises(TooLong), at_most(0.01):
        tolerant()


def test_what_ends_by_itself_or_fails_leaves_no_timer() -> None:
    with at_most(60):
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    with pytest.raises(ValueError, match="own"), at_most(60):
        raise ValueError("own")
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
