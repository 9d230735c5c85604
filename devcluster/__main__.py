"""`python -m devcluster VERB`: the local cluster from the command line."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable

from devcluster import cluster
from devcluster.errors import ClusterError

DEFAULT_NAME = "demo"
INTERRUPTED = 130


def up(arguments: argparse.Namespace) -> int:
    """Start a cluster and print the path of its kubeconfig."""
    print(cluster.start(arguments.name or DEFAULT_NAME).kubeconfig)
    return 0


def down(arguments: argparse.Namespace) -> int:
    """End a cluster, or all, and delete what it held."""
    names = [arguments.name] if arguments.name else sorted(cluster.known())
    for folder in [] if arguments.name else cluster.strangers():
        print(f"{folder} is no cluster's folder: left as it is", file=sys.stderr)
    for name in names:
        cluster.stop(name, delete=not arguments.keep)
        print(f"cluster {name} is gone" if not arguments.keep else f"cluster {name} is stopped")
    if not names:
        print("there is no cluster")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Show every cluster and its components; exit code 1 if one isn't healthy."""
    healthy = True
    names = [arguments.name] if arguments.name else sorted(cluster.known())
    print(f"{'CLUSTER':<20}   {'COMPONENT':<24}   {'RESTARTS':<8}   PROBLEM")
    for name in names:
        states = cluster.status(name)
        if states is None:
            print(f"{name:<20}   {'-':<24}   {'-':<8}   not running")
            healthy = False
            continue
        for state in states.values():
            print(f"{name:<20}   {state.name:<24}   {state.restarts:<8}   {state.problem or '-'}")
            healthy = healthy and not state.problem
    return 0 if healthy else 1


def environment(arguments: argparse.Namespace) -> int:
    """Do what is missing for a shell to work with the cluster, and print `export` lines."""
    return _main_of("devcluster.environment", arguments)


def demo(arguments: argparse.Namespace) -> int:
    """Show the main job: create, pause, resume, go on."""
    return _main_of("devcluster.demo", arguments)


def _main_of(module: str, arguments: argparse.Namespace) -> int:
    """Load what only some verbs need when such a verb is run."""
    return int(importlib.import_module(module).main(arguments.name or DEFAULT_NAME))


def image(arguments: argparse.Namespace) -> int:
    """Put the image of the proxy, made of the checkout, into a running cluster's registry; print what pods call it."""
    from devcluster.images import dockerfile

    name = arguments.name or DEFAULT_NAME
    running = cluster.find(name)
    if running is None:
        raise ClusterError(f"cluster {name} isn't running; to start it: make cluster CLUSTER={name}")
    print(dockerfile.publish(dockerfile.package(), running.registry))
    return 0


def build(arguments: argparse.Namespace) -> int:
    """Build programs of the cluster, and print their folder."""
    return int(importlib.import_module("devcluster.build").main(arguments.tools))


# A verb more is a function above and a line here.
VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "build": build,
    "up": up,
    "down": down,
    "status": status,
    "env": environment,
    "demo": demo,
    "image": image,
}


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    root = argparse.ArgumentParser(prog="python -m devcluster", description=__doc__)
    verbs = root.add_subparsers(dest="verb", required=True)
    for verb, function in VERBS.items():
        one = verbs.add_parser(verb, help=function.__doc__, description=function.__doc__)
        if verb == "build":
            one.add_argument("tools", nargs="*", metavar="TOOL", help="a program or module; default: all")
            continue
        one.add_argument("name", nargs="?", metavar="NAME", help="the cluster's name")
        if verb == "down":
            one.add_argument("--keep", action="store_true", help="keep its data for the next `up`")
    return root


def main() -> int:
    """Run the verb; errors that a person can act on are printed without a traceback."""
    arguments = parser().parse_args()
    try:
        return VERBS[arguments.verb](arguments)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
