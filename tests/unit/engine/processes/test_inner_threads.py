import pytest

from headrace.engine.processes.inner_threads import THREAD_VARIABLES, thread_variables


def test_each_library_is_told():
    assert thread_variables(3, {}) == dict.fromkeys(THREAD_VARIABLES, "3")


@pytest.mark.parametrize(
    ("said", "expected"), [("1", "1"), ("8", "3"), ("2,4", "2"), ("", "3"), ("0", "3"), ("x", "3")]
)
def test_who_has_said_less_gets_less(said, expected):
    told = thread_variables(3, {"OPENCV_FOR_THREADS_NUM": said, "HOME": "/"})
    assert told == dict.fromkeys(THREAD_VARIABLES, "3") | {"OPENCV_FOR_THREADS_NUM": expected}
