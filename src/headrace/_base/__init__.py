"""Units, clock, hashing, atomic files, machine facts: what every layer stands on."""
