"""`python -m headrace` is the command `headrace`."""

from headrace.cli import main

if __name__ == "__main__":
    main()
