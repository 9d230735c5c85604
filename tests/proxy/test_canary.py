"""Keys and prompts appear in no log, metric, ledger row, admin answer or error; each of them is a canary here."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.inference_key import make_read_key
from sandbox_components.spec.spending import DeclaredLimit
from tests.proxy.calls import CHAT, EMBEDDINGS, KINDS, MESSAGES, RESPONSES
from tests.proxy.double import KEY
from tests.proxy.place import SANDBOX, SIGNING_KEY, Double, Place, running

pytestmark = pytest.mark.server

PROMPT = "canary-of-a-prompt"
ANSWER = "tok tok"
MODEL = "canary-model"
HEADER = "canary-of-a-header"


def test_nothing_is_told_that_should_not_be(provider: Double, tmp_path: Path) -> None:
    provider.reset()
    place = Place(tmp_path, provider.url, more={"timeouts": {"firstByte": 1, "betweenBytes": 1, "drain": 1}})
    limit = DeclaredLimit("sandbox", SANDBOX, "day", 500)
    place.know([Identity(SANDBOX, org="acme")], [limit])
    errors: list[str] = []
    with running(place), place.client() as client:

        def call(path: str, body: object, **more: object) -> None:
            sent = {"content-type": "application/json", "x-canary": HEADER, **more.pop("headers", {})}  # type: ignore[dict-item]
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            try:
                answer = client.post(path, content=content, headers=sent)
            except httpx2.RemoteProtocolError:
                return
            if answer.status_code != 200:
                errors.append(f"{answer.headers} {answer.text}")

        for kind in KINDS:
            for wish in ({}, {"status": 500}, {"cut": "before"}, {"cut": "middle"}, {"usage": False}, {"error": True}):
                for stream in (False, True):
                    body = kind.body(stream=stream, note=PROMPT, **wish)
                    call(kind.path, body)
        for body in (
            {**CHAT.body(note=PROMPT), "model": MODEL},
            {**CHAT.body(note=PROMPT), "n": PROMPT},
            {**CHAT.body(note=PROMPT), "stream_options": PROMPT},
            {**CHAT.body(note=PROMPT), "service_tier": PROMPT},
            {**CHAT.body(note=PROMPT), "messages": PROMPT},
            {**CHAT.body(note=PROMPT), "messages": [{"role": "user", "content": [{"type": "text", "text": [PROMPT]}]}]},
            {**CHAT.body(note=PROMPT), "max_completion_tokens": PROMPT},
            f'{{"model": "gpt-4o", "messages": {PROMPT}'.encode(),
            PROMPT.encode(),
        ):
            call(CHAT.path, body)
        call(MESSAGES.path, MESSAGES.body(most=10**6, note=PROMPT))
        call(RESPONSES.path, {**RESPONSES.body(note=PROMPT), "previous_response_id": PROMPT})
        call(EMBEDDINGS.path, {**EMBEDDINGS.body(note=PROMPT), "encoding_format": PROMPT})
        for key in (place.key() + "x", KEY, PROMPT):
            call(CHAT.path, CHAT.body(note=PROMPT), headers={"authorization": f"Bearer {key}"})
        for scheme in ("Basic", "Digest", ""):
            call(CHAT.path, CHAT.body(note=PROMPT), headers={"authorization": f"{scheme} {place.key()}".strip()})
        # Where keys are put by mistake.
        call(f"{CHAT.path}?api_key={place.key()}", CHAT.body(note=PROMPT))
        call(f"{CHAT.path}?{place.key()}", CHAT.body(note=PROMPT))
        call(f"/{place.key()}{CHAT.path}", CHAT.body(note=PROMPT))
        call(f"/v1/{KEY}", CHAT.body(note=PROMPT))
        call(CHAT.path, {**CHAT.body(note=PROMPT), "api_key": place.key()})
        place.know([Identity(SANDBOX, org="acme")], [DeclaredLimit("sandbox", SANDBOX, "day", 0)])
        while place.spend()["limits"][0]["limitNanos"]:
            pass
        call(CHAT.path, CHAT.body(note=PROMPT))
        read_key = make_read_key(SIGNING_KEY.encode())
        with httpx2.Client(base_url=place.admin_url, trust_env=False) as admin:
            told = [admin.get(path).text for path in ("/metrics", "/readyz", "/nothing", "/v1/limits")]
            for query in ("", f"?actorType=sandbox&actorId={PROMPT}&by={HEADER}", f"?{HEADER}=1"):
                told.append(admin.get(f"/v1/spend{query}", headers={"x-sandbox-admin-key": read_key + "x"}).text)
            told += [str(place.spend()), str(place.spend(by="model"))]
        place.stop()
    assert len(provider.served()) > 20
    assert len(errors) > 25
    files = [path for path in tmp_path.iterdir() if path.name not in ("source.yaml",)]
    stored = {path.name: path.read_bytes().decode("latin-1") for path in files}
    assert {"log", "ledger.sqlite", "settings.yaml"} <= set(stored)
    places = {**stored, **{f"error {at}": text for at, text in enumerate(errors)}, "admin": "\n".join(told)}
    secrets = [KEY, place.key(), place.key().rpartition(".")[2], SIGNING_KEY, read_key]
    texts = [PROMPT, ANSWER, HEADER]
    for name, text in places.items():
        for canary in [*secrets, *texts]:
            assert canary not in text, f"{canary} in {name}: {text[max(0, text.find(canary) - 200) :][:400]}"
    assert all(MODEL not in text for name, text in places.items() if not name.startswith("error"))
