"""Who makes the batches of a loader: those who do at first, and those who may relieve them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

from headrace.datasets.shared import PackedDataset, pack_attributes
from headrace.engine import Stats
from headrace.errors import OptionError
from headrace.loader.composition import Composition
from headrace.loader.engine_choice import EngineChoice
from headrace.loader.makers import Makers
from headrace.loader.outline import outline_of
from headrace.loader.relief import Relief
from headrace.loader.running import decide_engine, settled
from headrace.loader.streams.duplicates import Claim

GONE = "they have taken over and are gone, as after five minutes without work"


class Staff:
    """The engine that was decided on, and worker processes that take over from it where that pays later.

    Args:
        composition: What was decided.
        stats: What the stages record to.
        claim: Asks the other ranks who was first to see something.
    """

    def __init__(self, composition: Composition, stats: Stats, claim: Claim) -> None:
        self.composition = composition
        self.stats = stats
        self.claim = claim

    @property
    def is_decided(self) -> bool:
        """Whether samples were looked at."""
        return "first" in vars(self)

    @cached_property
    def first(self) -> Makers:
        """Who makes the batches at first; decided when it is first asked for."""
        choice = decide_engine(self.composition)
        return self.makers_of(settled(choice, self.sent) if choice.kind == "processes" else choice)

    @cached_property
    def relief(self) -> Relief | None:
        """Who may take over from them."""
        later = self.first.choice.later
        return Relief(later) if later is not None else None

    @property
    def present(self) -> Makers:
        """Who makes the batches now."""
        relief = self.relief
        in_charge = relief.makers if relief is not None and relief.in_charge else None
        return self.first if in_charge is None else in_charge

    @property
    def choice(self) -> EngineChoice:
        """The present engine, and why."""
        choice = self.present.choice
        return choice if self.relief is None else self.relief.explained(choice)

    @property
    def num_workers(self) -> int:
        """Workers; before samples were looked at, as many as the arguments and the machine say."""
        if not self.is_decided:
            return self.composition.workers.num_workers
        makers = self.present
        return (makers.choice.workers if makers.fitted is None else makers.fitted.workers).num_workers

    @property
    def lists(self) -> str | None:
        """What was packed for worker processes that there are, in words."""
        shared = self.shared if self.present.choice.kind == "processes" else None
        return shared.explain(self.present.fit.workers.num_workers) if shared is not None else None

    @cached_property
    def shared(self) -> PackedDataset | None:
        """The dataset as worker processes would get it, its large lists shared; None where it is not map-style."""
        composition = self.composition
        is_map_style = composition.resolved is None and composition.streams is None
        return pack_attributes(composition.dataset) if is_map_style else None

    @property
    def sent(self) -> Composition:
        """The composition as worker processes would get it."""
        return self.composition if self.shared is None else replace(self.composition, dataset=self.shared.dataset)

    def outline(self) -> str | None:
        """Of the dataset as it is now."""
        return outline_of(self.composition.dataset, self.composition.options.collate_fn)

    def makers_of(self, choice: EngineChoice) -> Makers:
        """Makers who have not begun."""
        composition = self.sent if choice.kind == "processes" else self.composition
        return Makers(composition, choice, self.stats, self.claim)

    # --- relief

    def begin_epoch(self, num_delivered: int) -> None:
        """Starts who may take over, where that pays by now. Those who have taken over and left do not come again.

        Args:
            num_delivered: Samples that the iterator before has delivered.
        """
        relief = self.relief
        if relief is None:
            return
        if self.present.have_left:
            relief.give_up(GONE)
        if relief.given_up is None and relief.is_wanted(num_delivered, self.outline()):
            relief.start(partial(self.hired, relief.later.choice))

    def hired(self, wanted: EngineChoice) -> Makers:
        """Processes to take over.

        Raises:
            OptionError: They cannot be had, or not with this dataset.
        """
        choice = settled(wanted, self.sent)
        if choice.kind != "processes":
            raise OptionError(choice.reason)
        return self.makers_of(choice)

    @property
    def awaits_relief(self) -> bool:
        """Whether somebody is on the way who will take over."""
        return self.relief is not None and self.relief.makers is not None and not self.relief.in_charge

    def can_be_relieved(self) -> bool:
        """Whether those who take over are there, with the dataset as it is now; those who have another one end.

        So the dataset is looked through once in an epoch, not at each batch.
        """
        relief = self.relief
        if relief is None or not relief.are_ready():
            return False
        is_up_to_date = relief.outline == self.outline()
        if not is_up_to_date:
            relief.reset()
        return is_up_to_date

    # --- changes

    def recompose(self, composition: Composition) -> None:
        """Other decisions on which steps there are, and nothing left of what ran under the old ones but processes."""
        self.composition = composition
        for makers in self.all_makers():
            makers.recompose(self.sent if makers.choice.kind == "processes" else composition)

    def close(self) -> None:
        """Ends all of them; those who are first will be it again."""
        if self.is_decided:
            self.first.close()
            if self.relief is not None:
                self.relief.reset()

    def all_makers(self) -> list[Makers]:
        """All that there are."""
        if not self.is_decided:
            return []
        relieving = self.relief.makers if self.relief is not None else None
        return [self.first] if relieving is None else [self.first, relieving]
