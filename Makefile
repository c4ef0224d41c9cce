PYTHON ?= $(CURDIR)/.venv/bin/python

# The native module, built beside the sources (run Python with PYTHONPATH=src).
.PHONY: native
native:
	cmake -S . -B build/dev -G Ninja -DHEADRACE_INPLACE=ON -DPython_EXECUTABLE=$(PYTHON) >/dev/null
	cmake --build build/dev
