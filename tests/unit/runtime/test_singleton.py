"""What a process has one of is made once, whichever threads ask for it."""

from threading import Thread

from relex.runtime.singleton import once


def test_another_thread_waits_for_the_first_result():
    made: list[object] = []
    found: list[object] = []

    @once
    def make() -> object:
        result = object()
        made.append(result)
        if len(made) == 1:
            # It asks in the middle of this, and can have an answer at once only by making another one.
            other.start()
            other.join(timeout=0.2)
        return result

    other = Thread(target=lambda: found.append(make()))
    found.append(make())
    other.join()
    assert len(made) == 1
    assert found == [made[0], made[0]]


def test_it_is_made_again_after_it_was_forgotten():
    make = once(object)
    first = make()
    assert make() is first
    make.cache_clear()
    assert make() is not first
