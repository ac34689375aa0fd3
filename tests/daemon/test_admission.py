"""Who is taken in, who gives way, and that every byte and every place is given back."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.daemon.admission import Admission, CallerPlace
from tapgate.errors import FrameError


def enter(admission: Admission, stack: ExitStack) -> CallerPlace:
    return stack.enter_context(admission.place(lambda: None))


def full(admission: Admission, stack: ExitStack, count: int, *, whole: bool) -> list[CallerPlace]:
    places = [enter(admission, stack) for _ in range(count)]
    for place in places if whole else ():
        admission.settle(place)
    return places


def test_a_place_is_free_again_when_its_caller_is_gone() -> None:
    admission = Admission(most_callers=1, most_bytes=10)
    for _ in range(3):
        with admission.place(lambda: None) as place:
            admission.take(place, 10)
            admission.settle(place)
    with admission.place(lambda: None) as place:
        admission.take(place, 10)


def test_who_is_whole_never_gives_way() -> None:
    admission = Admission(most_callers=2, most_bytes=10)
    with ExitStack() as stack:
        first, second = full(admission, stack, 2, whole=True)
        with pytest.raises(FrameError, match="more than 2 callers"):
            enter(admission, stack)
        assert not first.gave_way and not second.gave_way


def test_the_oldest_that_is_not_whole_gives_way_and_only_as_many_as_needed() -> None:
    admission = Admission(most_callers=3, most_bytes=10)
    sent_away: list[int] = []
    with ExitStack() as stack:
        places = [stack.enter_context(admission.place(partial(sent_away.append, number))) for number in range(3)]
        admission.settle(places[0])
        enter(admission, stack)
        assert [place.gave_way for place in places] == [False, True, False]
        assert sent_away == [1]
        with pytest.raises(FrameError, match="its place was needed"):
            admission.settle(places[1])
        with pytest.raises(FrameError, match="its place was needed"):
            admission.take(places[1], 1)


def test_room_for_bytes_is_made_by_those_who_take_some_and_not_by_oneself() -> None:
    admission = Admission(most_callers=5, most_bytes=10)
    with ExitStack() as stack:
        silent, stalling, whole, newest = full(admission, stack, 4, whole=False)
        admission.take(stalling, 6)
        admission.take(whole, 4)
        admission.settle(whole)
        admission.take(newest, 6)
        assert (silent.gave_way, stalling.gave_way, whole.gave_way) == (False, True, False)
        with pytest.raises(FrameError, match="take all the memory"):
            admission.take(newest, 1)
        assert not newest.gave_way


steps = st.lists(
    st.tuples(st.sampled_from(["enter", "take", "settle", "leave"]), st.integers(0, 9), st.integers(0, 8)), max_size=60
)


@given(steps)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_neither_limit_is_ever_exceeded_and_nothing_is_lost(steps: list[tuple[str, int, int]]) -> None:
    """Whatever callers do, those who are in take no more than is allowed, and an empty house has room for all."""
    admission = Admission(most_callers=4, most_bytes=20)
    here: list[tuple[ExitStack, CallerPlace]] = []
    whole: set[CallerPlace] = set()
    for what, which, size in steps:
        try:
            if what == "enter":
                stack = ExitStack()
                here.append((stack, enter(admission, stack)))
            elif here:
                stack, place = here[which % len(here)]
                if what == "take" and place not in whole:
                    admission.take(place, size)
                elif what == "settle" and place not in whole:
                    admission.settle(place)
                    whole.add(place)
                elif what == "leave":
                    here.remove((stack, place))
                    stack.close()
        except FrameError:
            pass
        kept = [place for _, place in here if not place.gave_way]
        assert len(kept) <= 4 and sum(place.size_bytes for place in kept) <= 20
        assert not any(place.gave_way for place in whole)
    for stack, _ in here:
        stack.close()
    with ExitStack() as stack:
        for place in full(admission, stack, 4, whole=False):
            admission.take(place, 5)
            admission.settle(place)
