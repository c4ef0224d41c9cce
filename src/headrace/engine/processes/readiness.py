"""How far the start of worker processes has come, for somebody who does not wait for it."""

from __future__ import annotations

from headrace.engine.processes.carried_errors import arrived
from headrace.engine.processes.crew import Crew
from headrace.engine.processes.deaths import death_in
from headrace.engine.processes.member import Member
from headrace.engine.processes.messages import Unready
from headrace.errors import LoaderClosedError


def is_ready(crew: Crew) -> bool:
    """Whether all workers have taken up their work, and are there. Asked before their first iteration.

    Raises:
        LoaderClosedError: They were told to end, have left for want of something to do, or belong to the process that
            this one was forked from.
        WorkerDiedError: One has died.
        Exception: What loading the dataset has raised in one of them.
    """
    with crew.turn:
        if crew.over:
            raise LoaderClosedError("the worker processes have been ended")
        waited_for = [member for member in crew.members if not crew.board.is_ready(member.number)]
        for member in waited_for:
            look_for_a_failure(crew, member)
        if waited_for:
            return False
        for member in crew.members:
            if crew.board.is_leaving(member.number):
                raise LoaderClosedError("the worker processes have left, since there was nothing for them to do")
            if member.has_ended():
                raise death_in(crew, member, None)
    return True


def look_for_a_failure(crew: Crew, member: Member) -> None:
    """Raises what keeps a worker that is not ready from ever being so, if anything does."""
    try:
        for message in member.messages():
            if isinstance(message, Unready):
                raise arrived(message.error, member.name)
    except EOFError:
        member.see_off()
        raise death_in(crew, member, None) from None
