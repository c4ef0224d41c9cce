"""The engine of processes: for Python code that holds the interpreter's lock."""

from headrace.engine.processes.engine import ProcessEngine

__all__ = ["ProcessEngine"]
