"""The running proxy: its parts put together from the settings, its background work, and its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox_components.errors import SandboxError
from sandbox_components.ledger.ledger import Ledger
from sandbox_components.proxy import own_prices
from sandbox_components.proxy.admin import Admin
from sandbox_components.proxy.app import Proxy
from sandbox_components.proxy.directory import Directory
from sandbox_components.proxy.fault import Unpriced
from sandbox_components.proxy.incoming import Desk
from sandbox_components.proxy.leases import Leases
from sandbox_components.proxy.log import Handler, Log
from sandbox_components.proxy.metrics import Metrics
from sandbox_components.proxy.prices import Prices
from sandbox_components.proxy.serving import listen, serve_all, server
from sandbox_components.proxy.settings import Bounds, Settings, SourceSettings, Timeouts
from sandbox_components.proxy.source import LIST_SECONDS, FileSource, Source
from sandbox_components.proxy.upstream import Upstream
from sandbox_components.spec.inference_key import signing_key

if TYPE_CHECKING:
    from sandbox_components.proxy.alerts import Alerts

_AGAIN_SECONDS = 1.0
_AUDIT_SECONDS = 600.0
_FIRST_MODELS = (("openai", "gpt-4o"), ("anthropic", "claude-sonnet-4-5"))
_LAST_SECONDS = 5.0
"""For calls that were cut off at the end to tell the ledger so."""


async def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        InvalidInput: a setting is wrong, or a secret can't be read.
        StoreDown: the ledger can't be opened.
    """
    log, metrics = Log(), Metrics()

    def complain(error: Exception) -> None:
        metrics.fault(getattr(error, "code", type(error).__name__))
        log.fault(error)

    key = signing_key(settings.signing_key.read("signingKey"), "signingKey")
    upstreams = [
        Upstream(one, one.key.read(f"upstreams[{at}].key"), settings.timeouts, settings.upstream_connections)
        for at, one in enumerate(settings.upstreams)
    ]
    prices = Prices(own_prices.read_own_prices(settings.prices))
    for api, model in _FIRST_MODELS:  # the price list is slow only once
        with contextlib.suppress(Unpriced):
            prices.of(api, model, datetime.now(UTC))
    sockets = listen(settings.listen, "listen"), listen(settings.admin, "admin")
    source = f"namespace {settings.source.namespace}" if settings.source.namespace else ""
    ledger = await Ledger.open(settings.database.read("database"), source=source)
    directory = Directory(source_of(settings.source), ledger, complain)
    alerts = alerts_of(settings.source, complain)
    leases = Leases(ledger, complain, metrics.expired)
    desk = Desk(settings.limits, settings.timeouts.request)
    proxy = Proxy(key, directory, leases, desk, upstreams, prices, settings.limits, settings.timeouts, metrics, log)
    admin = Admin(ledger, directory, metrics, key)
    metrics.watch("calls_in_flight", "Calls being answered now.", lambda: desk.in_flight)
    metrics.watch("holds", "Calls that hold something now.", lambda: leases.held)
    metrics.watch("buffered_bytes", "Requests in memory now.", lambda: desk.buffered)
    metrics.watch("sandboxes", "Sandboxes known.", lambda: len(directory))

    async def tell_limits() -> None:
        while True:
            standings = await ledger.standings(datetime.now(UTC))
            metrics.limits(standings)
            if alerts is not None:
                await alerts.tell(standings)
            await asyncio.sleep(LIST_SECONDS)

    async def audit() -> None:
        while True:
            try:
                wrong = await ledger.audit(datetime.now(UTC))
            except SandboxError as error:  # not again at once, for it reads much
                complain(error)
            else:
                metrics.discrepancies(len(wrong))
                for one in wrong[:10]:
                    log.line("discrepancy", actor=one.scope.actor_type, period=one.period_key, counted=one.counted)
            await asyncio.sleep(_AUDIT_SECONDS)

    def ending() -> None:
        admin.is_ending = True
        log.line("ending", in_flight=desk.in_flight)

    work = [_supervised(one, complain) for one in (directory.follow, leases.keep, tell_limits, audit)]
    tasks = [asyncio.create_task(one) for one in work]
    front = server(proxy, settings.limits, settings.timeouts)
    back = server(admin.app(), Bounds(connections=256, connections_per_address=256), Timeouts(shutdown=1))
    addresses = ["{}:{}".format(*one.getsockname()[:2]) for one in sockets]
    log.line("serving", listen=addresses[0], admin=addresses[1], upstreams=[one.name for one in upstreams])
    try:
        await serve_all([(front, sockets[0]), (back, sockets[1])], ending, Handler(log))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while desk.in_flight:
                    await asyncio.sleep(0.02)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for upstream in upstreams:
            await upstream.close()
        await ledger.close()
        log.line("ended")


def source_of(settings: SourceSettings) -> Source:
    """Return the source that the settings name."""
    if settings.file is not None:
        return FileSource(Path(settings.file))
    from sandbox_components.kube.client import Cluster
    from sandbox_components.proxy.cluster_source import ClusterSource

    return ClusterSource(Cluster.connect, str(settings.namespace))


def alerts_of(settings: SourceSettings, complain: Callable[[Exception], None]) -> Alerts | None:
    """Return what makes Events of limits; None for a proxy without a cluster."""
    if settings.namespace is None:
        return None
    from sandbox_components.kube.client import Cluster
    from sandbox_components.proxy.alerts import Alerts

    return Alerts(Cluster.connect, settings.namespace, complain)


async def _supervised(work: Callable[[], Awaitable[None]], complain: Callable[[Exception], None]) -> None:
    """Keep background work going: a fault in it is told, and it begins anew."""
    while True:
        try:
            await work()
        except Exception as error:
            complain(error)
        await asyncio.sleep(_AGAIN_SECONDS)
