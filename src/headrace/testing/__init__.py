"""Contract suites and fakes that users' own engines and datasets can be tested with. Needs no test framework."""
