"""Whatever loaders do, in whatever order: the budget is kept, nobody starves, nothing is lost."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from headrace.engine.budget import COMMON_SHARE, ByteBudget


class Loader:
    """A loader that has at most one step waiting, as an engine does."""

    def __init__(self, budget, limit_bytes):
        self.held = []
        self.wanted = None
        self.account = budget.open(self.granted, limit_bytes=limit_bytes)

    def granted(self):
        self.held.append(self.wanted)
        self.wanted = None


class Budgets(RuleBasedStateMachine):
    loaders = Bundle("loaders")

    @initialize()
    def begin(self):
        self.budget = ByteBudget(100)
        self.open = []

    @rule(target=loaders, limit_bytes=st.none() | st.integers(5, 100))
    def start(self, limit_bytes):
        self.open.append(Loader(self.budget, limit_bytes))
        return self.open[-1]

    @rule(loader=loaders, size_bytes=st.integers(1, 60))
    def ask(self, loader, size_bytes):
        if loader not in self.open or loader.wanted is not None:
            return
        before = self.budget.used_bytes
        first = not loader.held
        loader.wanted = size_bytes
        if loader.account.admit(size_bytes):
            loader.granted()
            assert first or self.budget.used_bytes <= 100
            assert self.budget.used_bytes == before + size_bytes
        else:
            assert not first

    @rule(loader=loaders, which=st.integers(0, 100))
    def deliver(self, loader, which):
        if loader in self.open and loader.held:
            loader.account.give(loader.held.pop(which % len(loader.held)))

    @rule(loader=loaders)
    def close(self, loader):
        if loader in self.open:
            self.open.remove(loader)
            loader.wanted = None
            loader.held = []
            loader.account.close()

    @invariant()
    def books_are_right(self):
        if not hasattr(self, "open"):
            return
        assert self.budget.used_bytes == sum(sum(loader.held) for loader in self.open)
        for loader in self.open:
            assert loader.account.held_bytes == sum(loader.held)
            assert loader.account.num_steps == len(loader.held)

    @invariant()
    def nobody_waits_without_a_reason(self):
        if not hasattr(self, "open"):
            return
        waiting = [loader for loader in self.open if loader.wanted is not None]
        for loader in waiting:
            assert loader.held, "a loader that holds nothing is always served"
        alone = len(self.open) == 1 and self.open[0].account.limit_bytes is None
        if alone and waiting:
            assert self.budget.used_bytes + waiting[0].wanted > COMMON_SHARE * 100


TestBudgets = Budgets.TestCase
TestBudgets.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
