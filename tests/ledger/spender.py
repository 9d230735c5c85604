"""A process that spends: `python -m tests.ledger.spender URL CALLERS CALLS`, until it is done or killed.

On standard output it says `held ID NANOS` when a hold was promised, then, as one that has called an upstream,
`served ID NANOS`, then `settled ID` when the settlement was promised; `refused` for a refusal.
"""

from __future__ import annotations

import asyncio
import random
import sys
from datetime import UTC, datetime

from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.model import Cost, Refusal
from tests.ledger.ground import ORG, OTHER, SANDBOX, call


def say(*words: object) -> None:
    """Write one line at once, so that it is out before a kill can come."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def spend(ledger: Ledger, seed: int, calls: int) -> None:
    """Make calls one after the other."""
    random_ = random.Random(seed)
    for _ in range(calls):
        worst = random_.choice([100, 1_000, 10_000])
        answer = await ledger.hold(call(worst, random_.choice([SANDBOX, OTHER]), ORG), datetime.now(UTC))
        if isinstance(answer, Refusal):
            say("refused", answer.kind)
            continue
        say("held", answer.id, worst)
        await asyncio.sleep(random_.random() / 100)
        if random_.random() < 0.1:
            await ledger.release(answer.id, datetime.now(UTC))
            say("released", answer.id)
            continue
        nanos = random_.randint(0, worst)
        say("served", answer.id, nanos)
        await ledger.settle(answer.id, Cost(nanos), datetime.now(UTC))
        say("settled", answer.id, nanos)


async def main(url: str, callers: int, calls: int) -> None:
    """Run all callers at once."""
    ledger = await Ledger.open(url)
    say("open")
    await asyncio.gather(*(spend(ledger, random.randrange(10**9), calls) for _ in range(callers)))
    await ledger.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
