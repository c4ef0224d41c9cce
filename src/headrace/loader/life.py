"""What a loader is behind its face: what was asked for, what is at work, and where it stands."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import replace
from typing import Any

from headrace.engine import Stats
from headrace.errors import OptionError
from headrace.loader.agreement import Agreement
from headrace.loader.composition import Composition, compose
from headrace.loader.epoch_reminder import EpochReminder
from headrace.loader.options import LoaderOptions
from headrace.loader.peers import Peers
from headrace.loader.place import Place
from headrace.loader.process_groups import Membership
from headrace.loader.progress import Progress
from headrace.loader.run import Run
from headrace.loader.steps import StepSource
from headrace.loader.streams.compose import compose_streams
from headrace.loader.topology import detect_topology
from headrace.loader.torch_arguments import TorchArguments
from headrace.order import Topology


class Life:
    """From the arguments to the last batch.

    Args:
        given: What the caller has given.
        options: The same, where it became options; replaced where attributes are set.
        topology: What the caller says of this process.
    """

    def __init__(self, given: TorchArguments, options: LoaderOptions, topology: Topology | Membership | None) -> None:
        self.given = given
        self.options = options
        self.topology = topology
        self.progress = Progress()
        self.unpickled: dict[str, Any] | None = None
        self.set_up()

    def set_up(self) -> None:
        """What a copy has anew."""
        self.agreement = Agreement(Peers(self.topology).rendezvous)
        self.stats = Stats()
        self.reminder = EpochReminder(self.given)
        self.run: Run | None = None

    def running(self) -> Run:
        """The composed loader; at first use this rank is found out and everything is decided."""
        if self.run is None:
            composition = self.composed(detect_topology(self.topology))
            if composition.resolved is not None and composition.resolved.faults:
                self.stats.count("shard_faults", len(composition.resolved.faults))
            self.run = Run(composition, self.progress, self.stats, self.agreement)
        if self.unpickled is not None:
            # A copy starts where its original would have, perhaps on another number of ranks.
            state, self.unpickled = self.unpickled, None
            self.run.restore(state)
        return self.run

    def going(self) -> Run:
        """The loader as the next iterator is to find it: attributes, or the dataset, may have changed meanwhile."""
        run = self.running()
        if run.composition.options != self.options or self.has_other_length(run) or run.notice_change():
            run = self.renew(run)
        self.reminder.look(self.progress.upcoming)
        return run

    def length(self) -> int:
        """Batches of a whole epoch; of the next one's dataset, where no iterator is at work."""
        run = self.running()
        if not run.is_iterating and self.has_other_length(run):
            run = self.renew(run)
        return run.composition.steps.num_steps(self.progress.here.epoch)

    def steps(self) -> StepSource:
        """Where the steps come from."""
        return self.running().composition.steps

    def choose_epoch(self, epoch: int) -> None:
        """The next iterator starts this epoch; so does a sampler of the caller that can be told."""
        before = self.progress.upcoming.epoch
        self.progress.choose(epoch)
        self.reminder.tell(epoch)
        if self.progress.upcoming.epoch != before:
            self.unpickled = None

    def resize(self, batch_size: int) -> None:
        """Batches of another size from the next one on.

        Raises:
            OptionError: There are no batches, or not of ours, or no such size.
            OrderError: The place or the order does not allow it.
        """
        run = self.running()
        if not self.options.is_batched:
            raise OptionError("set_batch_size() finds no batches", got="batch_size=None")
        run.resize(batch_size)
        self.options = replace(self.options, batch_size=batch_size)

    def close(self) -> None:
        """Ends what is at work."""
        if self.run is not None:
            self.run.close()

    def composed(self, topology: Topology) -> Composition:
        """All decisions."""
        if self.given.is_stream:
            return compose_streams(self.given.dataset, self.options, topology)
        return compose(self.given, self.options, topology)

    def renew(self, run: Run) -> Run:
        """Decides anew; the order stays, canonical nodes of a state included, unless there are other samples."""
        run.close()
        before, now = run.composition, self.composed(run.composition.topology)
        is_same = now.streams is None and now.num_samples == before.num_samples  # streams are as many as workers
        if is_same or not self.progress.upcoming.is_beginning:
            now = replace(now, steps=before.steps)
        self.run = Run(now, self.progress, self.stats, self.agreement)
        self.run.notice_change()  # looks at what is there now, which is what counts from here on
        return self.run

    def has_other_length(self, run: Run) -> bool:
        """Whether a dataset that is asked sample by sample has more or fewer of them than it had."""
        dataset, composition = self.given.dataset, run.composition
        asked = composition.resolved is None and composition.streams is None and isinstance(dataset, Sized)
        return asked and len(dataset) != composition.num_samples

    def __getstate__(self) -> dict[str, Any]:
        """What another process or a copy needs: threads, batches in flight and statistics stay here."""
        place = self.progress.upcoming
        state = self.unpickled if place.is_beginning else self.steps().state(place)
        fresh = {"progress": Progress(Place(epoch=place.epoch)), "unpickled": state}
        return {name: getattr(self, name) for name in ("given", "options", "topology")} | fresh

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.set_up()
