"""The steps of one iteration that worker processes make: a flight whose fetching and making happen elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator

from headrace.contracts import Step, StepWork
from headrace.engine.events import replay
from headrace.engine.exits import as_error
from headrace.engine.flight import Flight
from headrace.engine.flight_options import FlightOptions
from headrace.engine.passage import Ending, Passage
from headrace.engine.processes.carried_errors import CarriedError, arrived
from headrace.engine.processes.crew import Crew
from headrace.engine.processes.deaths import death_in
from headrace.engine.processes.mailbox import Mailbox
from headrace.engine.processes.member import Member
from headrace.engine.processes.messages import Made, Message, Unready
from headrace.engine.processes.parcels import Parcel, unpack
from headrace.engine.processes.tasks import Laid, Task
from headrace.engine.step_errors import at_step


class ProcessFlight(Flight):
    """One iteration. Steps are pulled and offered by an I/O thread; the consumer reads what workers send."""

    def __init__(self, work: StepWork, steps: Iterator[Step], options: FlightOptions, crew: Crew) -> None:
        super().__init__(work, steps, options)
        self.crew = crew
        self.mailbox = Mailbox(crew, self.hear, self.lose)
        self.arrivals = self.mailbox
        self.sent: dict[int, Passage] = {}
        self.laid: dict[int, Laid] = {}
        self.iteration = crew.attend(self.mailbox)

    def clean_up(self) -> None:
        """Gives everything back, and lets the workers rest."""
        try:
            self.crew.rest(self.mailbox)
        finally:
            super().clean_up()
        self.sent = {}
        while self.laid:  # after the rest: nobody reads them any more
            self.crew.ranges.give(self.laid.popitem()[1].place)

    def fetch(self, passage: Passage) -> None:
        """Offers a step to the workers, who fetch and make it."""
        try:
            laid = self.crew.queue.lay(Task(passage.step, time.perf_counter()))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the consumer
            self.end(passage.position, at_step(passage.step, "order", as_error(error, passage.step)))
            return
        self.laid[passage.position] = laid
        self.sent[passage.position] = passage
        self.crew.queue.offer(self.iteration, passage.position, laid, passage.step.worker or 0)

    # --- the consumer, while he waits

    @property
    def is_starting(self) -> bool:
        """Whether the workers are still importing what they need."""
        return self.crew.is_starting

    def give_up(self) -> Step | None:
        """The same; workers that hang are ended with the iteration, and the next one gets new ones."""
        self.crew.broken = True
        return super().give_up()

    def hear(self, member: Member, message: Message) -> Passage | Ending | None:
        """What a message of a worker means for the order of delivery."""
        if isinstance(message, Unready):
            self.crew.broken = True
            return self.ending(self.mailbox.first_gap(), None, "start", self.rebuilt(member, message.error))
        passage = self.sent.pop(message.position, None) if message.iteration == self.iteration else None
        if passage is None:
            if isinstance(message, Made):
                refuse(member, message.parcel)
            return None
        self.crew.ranges.give(self.laid.pop(passage.position).place)
        replay(message.events, self.recorder)
        if isinstance(message, Made):
            return self.made(member, passage, message)
        return self.ending(passage.position, passage.step, message.stage, self.rebuilt(member, message.error))

    def made(self, member: Member, passage: Passage, message: Made) -> Passage | Ending:
        """A batch, in this process."""
        try:
            passage.batch = unpack(message.parcel, member.slots.lease)
        except BaseException as error:  # noqa: BLE001 - a class that cannot be rebuilt here
            return self.ending(passage.position, passage.step, "deliver", error)
        passage.memory.size_bytes = message.size_bytes
        others_wait = self.scouting
        self.weigh(passage)
        if others_wait:
            self.kick()
        return passage

    def lose(self, member: Member) -> Ending:
        """A worker has ended: at the place of its step, or, where it had none, of the first one that is missing."""
        claim = self.crew.board.claim_of(member.number)
        passage = self.sent.get(claim.position) if claim is not None and claim.iteration == self.iteration else None
        step = passage.step if passage is not None else None
        error = death_in(self.crew, member, step)
        position = passage.position if passage is not None else self.mailbox.first_gap()
        return self.ending(position, step, "run", error)

    def ending(self, position: int, step: Step | None, stage: str, error: BaseException) -> Ending:
        """The end of the iteration at this position; no further step is begun."""
        self.ended = True
        return Ending(position, at_step(step, stage, error))

    def rebuilt(self, member: Member, error: CarriedError) -> BaseException:
        """An error of a worker, in this process."""
        return arrived(error, member.name)


def refuse(member: Member, parcel: Parcel) -> None:
    """Gives the memory of a batch back that nobody wants any more."""
    for sent in parcel.ranges:
        member.slots.lease(sent)
