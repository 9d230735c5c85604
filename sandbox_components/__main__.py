"""`python -m sandbox_components`: the spelling of `sandbox` that no other program on PATH can take."""

from sandbox_components.cli.app import main

if __name__ == "__main__":
    main()
