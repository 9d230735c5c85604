"""The ledger as the proxy uses it: asked from one event loop, written by one thread.

Operations that come while a transaction runs go into the next one together. Who gives up waiting leaves nothing behind:
a hold that nobody waits for any more is released, and what must not be lost (settlements, releases) is tried again
until the store takes it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from sandbox_components.errors import NotFound
from sandbox_components.ledger import limit_table, report, transaction
from sandbox_components.ledger.database import Database, is_of_the_data
from sandbox_components.ledger.migrating import migrate
from sandbox_components.ledger.model import (
    Call,
    Cost,
    Discrepancy,
    Hold,
    Limit,
    LimitMissing,
    Refusal,
    Scope,
    Standing,
    StoreDown,
    Usage,
)
from sandbox_components.ledger.operation import Admission, Answer, Expiry, Operation, Release, Renewal, Settlement
from sandbox_components.ledger.report import By
from sandbox_components.ledger.schema import to_column
from sandbox_components.spec.period import DEFAULT_ZONE

T = TypeVar("T")

PATIENCE_SECONDS = 8.0
"""How long an operation may take before it counts as failed; longer than one transaction may."""
OPEN_SECONDS = 60.0
"""How long opening may take, which brings the schema up to date: nobody's call waits for it."""
REPORT_SECONDS = 25.0
"""How long one may take that reads the calls of a whole period; a command waits 30 s for its answer."""
_FIRST_RETRY_SECONDS = 0.5
_LAST_RETRY_SECONDS = 8.0
_MOST_AT_ONCE = 256
_RENEWED_AT_ONCE = 64

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    operation: Operation
    future: asyncio.Future[Answer]


class Ledger:
    """Holds, costs and limits in one data base. Every method may raise StoreDown; use it from one event loop.

    Use `Ledger.open`, and `close` at the end.
    """

    def __init__(self, database: Database, *, source: str = "", patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._database = database
        self._source = source
        self._patience_seconds = patience_seconds
        self._writer = ThreadPoolExecutor(1, "ledger-writer")
        self._readers = ThreadPoolExecutor(2, "ledger-reader")
        self._reporters = ThreadPoolExecutor(2, "ledger-reporter")
        self._queue: deque[_Waiting] = deque()
        self._draining: asyncio.Task[None] | None = None
        self._owed: dict[str, Settlement | Release] = {}
        self._retry: asyncio.TimerHandle | None = None
        self._retry_seconds = _FIRST_RETRY_SECONDS

    @classmethod
    async def open(cls, url: str, *, source: str = "", patience_seconds: float = PATIENCE_SECONDS) -> Ledger:
        """Open a ledger and bring its schema up to date.

        Args:
            url: `sqlite:////folder/file`, or `postgresql://user:password@host/name`.
            source: where its limits come from, the same for all replicas of a proxy; empty if only one proxy can be.
            patience_seconds: how long an operation may take.

        Raises:
            InvalidInput: the URL is none.
            NewerSchema: a newer release has written the data base.
            StoreDown: it can't be reached.
        """
        ledger = cls(Database(url), source=source, patience_seconds=patience_seconds)
        try:
            await ledger._in_thread(ledger._writer, partial(ledger._database.write, migrate), OPEN_SECONDS)
        except BaseException:
            await ledger.close()
            raise
        return ledger

    async def close(self) -> None:
        """Finish what waits, try once more what is owed, and close the data base."""
        for _ in range(2):
            if self._retry is not None:
                self._retry.cancel()
                self._pay()
            while self._draining is not None and not self._draining.done():
                await asyncio.wait([self._draining])
        if self._retry is not None:
            self._retry.cancel()
        if self._owed:
            _log.error(
                "the ledger closes and owes %d settlements: their leases' ends will charge them", len(self._owed)
            )
        for executor in (self._writer, self._readers, self._reporters):
            await asyncio.to_thread(executor.shutdown, cancel_futures=executor is not self._writer)
        self._database.close()

    async def hold(self, call: Call, now: datetime) -> Hold | Refusal:
        """Hold a call's worst case in all its scopes, or say which limit has no room for it.

        Raises:
            LimitMissing: the call requires a limit and there is none.
        """
        hold_id = f"{to_column(now):014x}{secrets.token_hex(9)}"
        answer = await self._ask(Admission(hold_id, call, now))
        assert isinstance(answer, Hold | Refusal)
        return answer

    async def renew(self, hold_ids: Iterable[str], now: datetime) -> None:
        """Let holds live on for a lease from now. Those that have ended meanwhile stay ended."""
        ids = list(hold_ids)
        for first in range(0, len(ids), _RENEWED_AT_ONCE):
            await self._ask(Renewal(tuple(ids[first : first + _RENEWED_AT_ONCE]), now))

    async def settle(self, hold_id: str, cost: Cost, now: datetime) -> None:
        """Turn a hold into its cost. Of several settlements of a hold the first counts; an expired one is corrected.

        After StoreDown it needn't be repeated: it stays owed, and is tried again until the store answers.

        Raises:
            NotFound: there was never such a hold, or it was released.
        """
        await self._ask(Settlement(hold_id, cost, now))

    async def release(self, hold_id: str, now: datetime) -> None:
        """Let a hold go, as nothing was sent. After StoreDown it stays owed, as a settlement does."""
        await self._ask(Release(hold_id, now))

    async def expire(self, now: datetime) -> int:
        """Charge every hold whose lease has ended in full, as estimated; return how many there were."""
        count = await self._ask(Expiry(now))
        assert isinstance(count, int)
        return count

    async def replace_limits(self, limits: Sequence[Limit], now: datetime) -> bool:
        """Put the full set of limits in force; whether anything changed. New ones count what their period has cost yet.

        Args:
            limits: all there are.
            now: when the list was begun. A list that another replica has overtaken changes nothing.

        Raises:
            OtherSource: the ledger is another proxy's.
        """
        work = partial(limit_table.replace, wanted=tuple(limits), listed_at=now, source=self._source)
        return await self._in_thread(self._writer, partial(self._database.write, work))

    async def standings(self, now: datetime, scopes: Sequence[Scope] | None = None) -> list[Standing]:
        """Return how far limits are used now: all of them, or those of some scopes; by the limits' ids."""
        return await self._read(partial(report.standings, scopes=scopes, at=now))

    async def usage(
        self,
        scope: Scope | None,
        begins_at: datetime,
        ends_at: datetime,
        by: By = "total",
        time_zone: str = DEFAULT_ZONE,
    ) -> list[Usage]:
        """Return what the calls of a scope (None: of all) cost whose hold began between two instants.

        Args:
            scope: who paid.
            begins_at: the first instant.
            ends_at: the first instant after.
            by: `total`: always one row; `model`, or `day` of `time_zone`: those that have calls.
            time_zone: an IANA name.
        """
        work = partial(report.usage, scope=scope, begins_at=begins_at, ends_at=ends_at, by=by, time_zone=time_zone)
        return await self._report(work)

    async def audit(self, since: datetime | None = None) -> list[Discrepancy]:
        """Return the counters that aren't the sums of their rows; of periods that end after `since`, or of all.

        One after the other, so that none waits long for what it reads.
        """
        keys = await self._report(partial(report.counter_keys, since=since))
        found = [await self._report(partial(report.discrepancy, key=key)) for key in keys]
        return [one for one in found if one is not None]

    async def check(self) -> None:
        """Read a row, to see that the store answers."""
        await self._read(limit_table.list_began)

    async def _report(self, work: Callable[[Connection], T]) -> T:
        """Read much, in threads of its own: what is short must not wait for it."""
        read = partial(self._database.read, work, seconds=REPORT_SECONDS)
        return await self._in_thread(self._reporters, read, REPORT_SECONDS)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await self._in_thread(self._readers, partial(self._database.read, work))

    async def _in_thread(
        self, executor: ThreadPoolExecutor, work: Callable[[], T], patience_seconds: float | None = None
    ) -> T:
        seconds = self._patience_seconds if patience_seconds is None else patience_seconds
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(executor, work)
        except TimeoutError:
            raise self._too_slow(seconds) from None

    async def _ask(self, operation: Operation) -> Answer:
        waiting = self._put(operation)
        try:
            async with asyncio.timeout(self._patience_seconds):
                answer = await waiting.future
        except TimeoutError:
            raise self._too_slow(self._patience_seconds) from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _too_slow(self, seconds: float) -> StoreDown:
        return StoreDown(f"the ledger at {self._database.name} has not answered for {seconds:g} s")

    def _put(self, operation: Operation) -> _Waiting:
        waiting = _Waiting(operation, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain())
        return waiting

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next_batch():
            operations = [waiting.operation for waiting in batch]
            try:
                answers = await loop.run_in_executor(self._writer, self._write, operations)
            except Exception as fault:
                for waiting in batch:
                    self._fail(waiting, fault)
            else:
                for waiting, answer in zip(batch, answers, strict=True):
                    self._finish(waiting, answer)

    def _next_batch(self) -> list[_Waiting]:
        """What waits, without the holds that nobody waits for any more."""
        batch: list[_Waiting] = []
        while self._queue and len(batch) < _MOST_AT_ONCE:
            waiting = self._queue.popleft()
            if not (waiting.future.cancelled() and isinstance(waiting.operation, Admission)):
                batch.append(waiting)
        return batch

    def _write(self, operations: list[Operation]) -> list[Answer | Exception]:
        """Run in the writer's thread. What the store refuses as wrong must not take others with it."""
        try:
            return list(self._database.write(partial(transaction.apply, operations=operations)))
        except Exception as fault:
            if len(operations) == 1 or (isinstance(fault, StoreDown) and not is_of_the_data(fault)):
                raise
        return [self._write_alone(operation) for operation in operations]

    def _write_alone(self, operation: Operation) -> Answer | Exception:
        try:
            return self._write([operation])[0]
        except Exception as fault:
            return fault

    def _finish(self, waiting: _Waiting, answer: Answer | Exception) -> None:
        if isinstance(answer, Exception) and not isinstance(answer, LimitMissing | NotFound):
            self._fail(waiting, answer)
            return
        self._retry_seconds = _FIRST_RETRY_SECONDS
        operation = waiting.operation
        if isinstance(operation, Settlement | Release):
            self._owed.pop(operation.hold_id, None)
        if not waiting.future.cancelled():
            waiting.future.set_result(answer)
        elif isinstance(answer, Hold):
            self._put(Release(answer.id, datetime.now(UTC)))

    def _fail(self, waiting: _Waiting, fault: Exception) -> None:
        """Tell who waits. An admission that may have been committed all the same is owed its release."""
        operation = waiting.operation
        if isinstance(operation, Admission) and isinstance(fault, StoreDown) and fault.may_be_done:
            self._owe(Release(operation.hold_id, operation.at), fault)
        elif isinstance(operation, Settlement | Release):
            self._owe(operation, fault)
        if not waiting.future.cancelled():
            waiting.future.set_exception(fault)
            waiting.future.exception()

    def _owe(self, operation: Settlement | Release, fault: Exception) -> None:
        self._owed[operation.hold_id] = operation
        if self._retry is None:
            self._retry = asyncio.get_running_loop().call_later(self._retry_seconds, self._pay)
            _log.warning(
                "%s; %d settlements are owed, next attempt in %g s", fault, len(self._owed), self._retry_seconds
            )
            self._retry_seconds = min(2 * self._retry_seconds, _LAST_RETRY_SECONDS)

    def _pay(self) -> None:
        """Try again what is owed, but for what waits already: a store that is slow to fail would let it pile up."""
        self._retry = None
        waiting = {id(one.operation) for one in self._queue}
        for operation in self._owed.values():
            if id(operation) not in waiting:
                self._put(operation)
